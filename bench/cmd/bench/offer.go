package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A task takes 20 minutes in life and taskLife here: the calls are the same, and so is
// their number in a second if as many tasks begin in a second. The lease is as much
// shorter, so that the renewal of a laptop writes, as one at half of the lease does.
const (
	taskLife  = 2 * time.Second
	taskLease = 3 * time.Second
	renewAt   = 1600 * time.Millisecond
	slow      = time.Second // a 99th percentile beyond it is too slow
	drainTime = 10 * time.Second
)

// The operations of a task.
const (
	opClaim = iota
	opNote
	opRenew
	opFinish
	ops
)

var opNames = [ops]string{"claim", "note", "renew", "finish"}

// A step is what came of one rate of tasks.
type step struct {
	offered float64 // tasks a second
	took    time.Duration
	lat     [ops][]time.Duration // in order of their length
	errs    []error
	over    bool            // more tasks were under way than there may be
	begun   int             // with the warm-up
	use     [usages]float64 // processors
	wal     float64         // bytes
}

func (s *step) rate(op int) float64 { return float64(len(s.lat[op])) / s.took.Seconds() }

// bad says why a step is beyond the limit; empty if it is not.
func (s *step) bad() string {
	switch {
	case s.over:
		return "tasks pile up"
	case len(s.errs) > 0:
		return fmt.Sprintf("%d errors, such as %.300v", len(s.errs), s.errs[0])
	case s.rate(opFinish) < 0.9*s.offered:
		return fmt.Sprintf("%.1f tasks/s were finished", s.rate(opFinish))
	}
	for op, lat := range s.lat {
		if p99 := quantile(lat, 0.99) / 1e3; p99 > float64(slow.Milliseconds()) {
			return fmt.Sprintf("p99 of a %s is %.0f ms", opNames[op], p99)
		}
	}
	return ""
}

// offer lets rate tasks begin in a second, whatever becomes of those before, and
// measures after a warm-up. Marks are called at the beginning and the end of the
// measured time.
func offer(ctx context.Context, o *options, rate float64, newAgent func(i int) agent, mark func(end bool) error) (*step, error) {
	s := &step{offered: rate, took: o.measure}
	warm := max(o.warm, taskLife)
	begin := time.Now()
	from, to := begin.Add(warm), begin.Add(warm+o.measure)
	var mu sync.Mutex
	var wg sync.WaitGroup
	var under atomic.Int64
	most := int64(rate*taskLife.Seconds()*4) + 64
	done := func(op int, at time.Time, err error) bool {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if now.After(from) && now.Before(to) {
			s.lat[op] = append(s.lat[op], now.Sub(at))
		}
		if err != nil && len(s.errs) < 1000 {
			s.errs = append(s.errs, fmt.Errorf("%s: %w", opNames[op], err))
		}
		return err == nil
	}
	marks := make(chan error, 2)
	for i, at := range []time.Time{from, to} {
		time.AfterFunc(time.Until(at), func() { marks <- mark(i == 1) })
	}
	for i := 0; ; i++ {
		at := begin.Add(time.Duration(float64(i) / rate * float64(time.Second)))
		if at.After(to) {
			break
		}
		time.Sleep(time.Until(at))
		if under.Load() > most {
			s.over = true
			break
		}
		s.begun++
		wg.Go(func() {
			under.Add(1)
			defer under.Add(-1)
			work(ctx, newAgent(i), o, done)
		})
	}
	drained := make(chan struct{})
	go func() {
		wg.Wait()
		close(drained)
	}()
	err := errors.Join(<-marks, <-marks)
	select {
	case <-drained:
	case <-time.After(drainTime):
		s.over = true
		<-drained
	}
	for _, lat := range s.lat {
		slices.Sort(lat)
	}
	for _, e := range s.errs {
		if errors.Is(e, errDrained) {
			return s, e
		}
	}
	return s, err
}

// noteText has the length of what agents say.
var noteText = strings.Repeat("the parser takes the new form now; its tests are next. ", 2)

// work is the life of a task. A laptop is quiet until its last renewal, which then
// has something to write; those before it only look.
func work(ctx context.Context, a agent, o *options, done func(op int, at time.Time, err error) bool) {
	begin := time.Now()
	if !done(opClaim, begin, a.claim(ctx)) {
		return
	}
	var notesFrom time.Duration
	if a.present() {
		notesFrom = renewAt
		for i := range o.renews {
			sleepUntil(begin.Add(renewAt * time.Duration(i+1) / time.Duration(o.renews)))
			at := time.Now()
			if !done(opRenew, at, a.renew(ctx)) {
				return
			}
		}
	}
	for i := range o.notes {
		sleepUntil(begin.Add(notesFrom + time.Duration(i)*(taskLife-notesFrom)/time.Duration(o.notes)))
		at := time.Now()
		if !done(opNote, at, a.note(ctx, noteText)) {
			return
		}
	}
	sleepUntil(begin.Add(taskLife))
	at := time.Now()
	done(opFinish, at, a.finish(ctx))
}

func sleepUntil(t time.Time) { time.Sleep(time.Until(t)) }
