package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

func httpSuite(o *options, w io.Writer) error {
	var verdicts []verdict
	for _, proto := range o.protos {
		servers, err := httpServers(proto, o.only)
		if err != nil {
			return err
		}
		rs, err := o.interleave("http", grid(proto, o.sizes, o.conns), servers, func(s server, c cell) (sample, error) {
			p, err := s.start(o, "http")
			if err != nil {
				return sample{}, err
			}
			defer p.stop()
			return httpCell(s, p, c, o, nil)
		})
		if err != nil {
			return err
		}
		if err := rs.print(w, "Streamable HTTP "+proto+", tools/call echo", servers[0].name); err != nil {
			return err
		}
		verdicts = append(verdicts, httpGate.judge(proto, rs)...)
	}
	if !o.check {
		return nil
	}
	return report(w, verdicts)
}

// httpCell measures one cell in a fresh process, each connection with a request
// of its own on the way.
func httpCell(s server, p *process, c cell, o *options, ready func() error) (sample, error) {
	conns := make([]*conn, c.Width)
	for i := range conns {
		cn, err := dial(p.addr)
		if err != nil {
			return sample{}, err
		}
		defer cn.close()
		if c.Proto == legacy {
			if err := cn.open(); err != nil {
				return sample{}, err
			}
		}
		conns[i] = cn
	}
	call := newCall(c.Proto, c.Size, s.tool)
	if err := firstCall(s, conns[0], c, call); err != nil {
		return sample{}, err
	}
	var lastID atomic.Int64
	lastID.Store(firstID)
	return measure(p, o, ready, func(d time.Duration) (load, error) {
		end := time.Now().Add(d)
		loads, errs := make([]load, len(conns)), make([]error, len(conns))
		var wg sync.WaitGroup
		for i, cn := range conns {
			wg.Go(func() { loads[i], errs[i] = cn.repeat(cn.call(c.Proto, call), &lastID, end) })
		}
		wg.Wait()
		var all load
		for _, l := range loads {
			all.latencies = append(all.latencies, l.latencies...)
			all.calls += l.calls
			all.errors += l.errors
		}
		return all, errors.Join(errs...)
	})
}

// firstCall checks one answer and the form it comes in.
func firstCall(s server, cn *conn, c cell, call message) error {
	status, body, err := cn.do(cn.call(c.Proto, call).bytes)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("first call: status %d: %.300q", status, body)
	}
	want := "application/json"
	if s.sse {
		want = "text/event-stream"
	}
	if cn.content != want {
		return fmt.Errorf("first call: answered with %q, want %q", cn.content, want)
	}
	return checkAnswer(body, c.Size)
}

// repeat calls again and again until end.
func (c *conn) repeat(call message, lastID *atomic.Int64, end time.Time) (load, error) {
	got := load{latencies: make([]time.Duration, 0, 1<<12)}
	for {
		begin := time.Now()
		if begin.After(end) {
			return got, nil
		}
		id := int(lastID.Add(1))
		call.setID(id)
		status, body, err := c.do(call.bytes)
		if err != nil {
			return got, err
		}
		got.latencies = append(got.latencies, time.Since(begin))
		got.calls++
		if have, ok := answered(body); !ok || have != id || status != http.StatusOK {
			got.errors++
		}
	}
}
