package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// A cell is one situation in which servers are compared.
type cell struct {
	Proto string
	Size  int // bytes of text
	Width int // stdio: requests in flight; HTTP: connections
}

func (c cell) String() string {
	return fmt.Sprintf("%s, %d in flight", bytesText(c.Size), c.Width)
}

func bytesText(n int) string {
	if n >= 1024 && n%1024 == 0 {
		return fmt.Sprintf("%d KiB", n/1024)
	}
	return fmt.Sprintf("%d B", n)
}

// A sample is what one server did in one cell in one round. Times are in µs.
type sample struct {
	Suite, Server string
	Cell          cell
	Round         int
	Rate          float64 // calls a second
	P50, P99      float64 // from request to answer
	CPU           float64 // the server's, per call
	RSS           float64 // KiB, at the end
	Allocated     float64 // HTTP: bytes per call, by the server's own account
	Errors        int
}

// A load is what came of calling a server for a while.
type load struct {
	latencies []time.Duration
	calls     int
	errors    int
}

// measure drives the process twice, to warm up and then to count. Between the
// two it calls ready, if there is one.
func measure(p *process, o *options, ready func() error, drive func(time.Duration) (load, error)) (sample, error) {
	if _, err := drive(o.warm); err != nil {
		return sample{}, err
	}
	if ready != nil {
		if err := ready(); err != nil {
			return sample{}, err
		}
	}
	var allocBefore, allocAfter float64
	var err error
	if p.says != nil {
		if allocBefore, err = p.allocated(); err != nil {
			return sample{}, err
		}
	}
	before, err := p.cpu()
	if err != nil {
		return sample{}, err
	}
	begin := time.Now()
	l, err := drive(o.measure)
	if err != nil {
		return sample{}, err
	}
	elapsed := time.Since(begin)
	after, err := p.cpu()
	if err != nil {
		return sample{}, err
	}
	if p.says != nil {
		if allocAfter, err = p.allocated(); err != nil {
			return sample{}, err
		}
	}
	rss, err := p.rss()
	if err != nil {
		return sample{}, err
	}
	if l.calls == 0 {
		return sample{}, errors.New("not one call in the measured time")
	}
	slices.Sort(l.latencies)
	return sample{
		Rate: float64(l.calls) / elapsed.Seconds(),
		P50:  quantile(l.latencies, 0.50), P99: quantile(l.latencies, 0.99),
		CPU: micros(after-before) / float64(l.calls),
		RSS: rss, Allocated: (allocAfter - allocBefore) / float64(l.calls), Errors: l.errors,
	}, nil
}

// save appends the sample to the file of raw measurements, if there is one.
func (s sample) save(name string) error {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(s), f.Close())
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return micros(sorted[int(q*float64(len(sorted)-1))])
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	mid := len(v) / 2
	if len(v)%2 == 0 {
		return (v[mid-1] + v[mid]) / 2
	}
	return v[mid]
}
