package main

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"
)

// sessionsSuite measures what sessions of the legacy revision cost: memory while
// they are idle, and CPU to open.
func sessionsSuite(o *options, w io.Writer) error {
	only := o.only
	if len(only) == 0 {
		only = names{"bare", "lean", "bossman", "go-sdk", "go-sdk-sse", "mcp-go"}
	}
	servers, err := httpServers(legacy, only)
	if err != nil {
		return err
	}
	costs := make([]sessionCosts, len(servers))
	for range o.rounds {
		for i, s := range servers {
			if err := costs[i].add(s, o); err != nil {
				return err
			}
		}
	}
	p := printer{w: w}
	p.printf("\n### %d idle sessions, %s, median of %d\n\n", o.sessions, legacy, o.rounds)
	p.printf("| server | RSS MiB before | after | after a collection | KiB/session | sessions/s | CPU µs/session |\n")
	p.printf("|---|--:|--:|--:|--:|--:|--:|\n")
	for i, s := range servers {
		c := costs[i]
		p.printf("| %s | %.1f | %.1f | %.1f | %.2f | %.0f | %.0f |\n", s.name, median(c.before)/1024, median(c.after)/1024,
			median(c.collected)/1024, median(c.each), median(c.rate), median(c.cpu))
	}
	if p.err != nil || !o.check {
		return p.err
	}
	return checkSessions(w, servers, costs)
}

// sessionLimit is what an idle session of ours may take, in KiB.
const sessionLimit = 1

func checkSessions(w io.Writer, servers []server, costs []sessionCosts) error {
	p := printer{w: w}
	i := slices.IndexFunc(servers, func(s server) bool { return s.name == ours })
	if i < 0 {
		p.printf("\nMISSED  KiB per idle session: not measured (required < %d)\n", sessionLimit)
		return cmp.Or(p.err, errMissed)
	}
	each, word, err := median(costs[i].each), "ok", error(nil)
	if each >= sessionLimit {
		word, err = "MISSED", errMissed
	}
	p.printf("\n%-6s  KiB per idle session = %.2f (required < %d)\n", word, each, sessionLimit)
	return cmp.Or(p.err, err)
}

// sessionCosts has one value a round. Memory is in KiB.
type sessionCosts struct {
	before, after, collected, each, rate, cpu []float64
}

func (c *sessionCosts) add(s server, o *options) error {
	p, err := s.start(o, "http")
	if err != nil {
		return err
	}
	defer p.stop()
	time.Sleep(200 * time.Millisecond)
	before, err := p.rss()
	if err != nil {
		return err
	}
	cpuBefore, err := p.cpu()
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := openSessions(p.addr, o.sessions); err != nil {
		return err
	}
	elapsed := time.Since(begin)
	cpuAfter, err := p.cpu()
	if err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond)
	after, err := p.rss()
	if err != nil {
		return err
	}
	if err := p.signal(syscall.SIGUSR1); err != nil {
		return err
	}
	time.Sleep(700 * time.Millisecond)
	collected, err := p.rss()
	if err != nil {
		return err
	}
	n := float64(o.sessions)
	c.before, c.after, c.collected = append(c.before, before), append(c.after, after), append(c.collected, collected)
	c.each = append(c.each, (collected-before)/n)
	c.rate = append(c.rate, n/elapsed.Seconds())
	c.cpu = append(c.cpu, micros(cpuAfter-cpuBefore)/n)
	return nil
}

// openSessions opens n sessions over a few connections, which are closed again.
func openSessions(addr string, n int) error {
	const workers = 16
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		share := (n + i) / workers
		wg.Go(func() {
			c, err := dial(addr)
			if err != nil {
				errs[i] = err
				return
			}
			defer c.close()
			for range share {
				if errs[i] = c.open(); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
