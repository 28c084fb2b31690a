package main

import (
	"fmt"
	"io"
	"syscall"
)

// profileSuite measures one cell of one server while the server profiles itself.
// The CPU profile is of the measured time alone; the allocations are all since
// the start.
func profileSuite(o *options, w io.Writer) error {
	if len(o.only) != 1 {
		return fmt.Errorf("profile takes one server, as in -only bossman: %w", errUsage)
	}
	c := cell{Proto: o.protos[0], Size: o.sizes[0], Width: o.inflight[0]}
	servers, err := stdioServers(o.only)
	switch o.suite {
	case "stdio":
	case "http":
		c.Width = o.conns[0]
		servers, err = httpServers(c.Proto, o.only)
	default:
		return fmt.Errorf("-suite %q is neither stdio nor http: %w", o.suite, errUsage)
	}
	if err != nil {
		return err
	}
	s := servers[0]
	p, err := s.start(o, o.suite, "-profile="+o.profile)
	if err != nil {
		return err
	}
	defer p.stop()
	begin := func() error { return p.signal(syscall.SIGUSR2) }
	var got sample
	if o.suite == "stdio" {
		got, err = stdioCell(s, p, c, o, begin)
	} else {
		got, err = httpCell(s, p, c, o, begin)
	}
	if err != nil {
		return err
	}
	if err := p.signal(syscall.SIGUSR2); err != nil {
		return err
	}
	if err := p.wait(); err != nil {
		return fmt.Errorf("%s writing its profiles: %w", s.name, err)
	}
	_, err = fmt.Fprintf(w, "%s, %s %s, %s: %.0f calls/s, CPU %.1f µs/call, %d errors\n%s and %s.allocs written\n",
		s.name, o.suite, c.Proto, c, got.Rate, got.CPU, got.Errors, o.profile, o.profile)
	return err
}
