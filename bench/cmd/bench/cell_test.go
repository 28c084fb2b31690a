package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestCellSuite_unknownPart(t *testing.T) {
	if err := run([]string{"cell", "-only", "weather"}, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "weather") {
		t.Errorf("cell -only weather = %v, want an error that names it", err)
	}
}

// A lazyAgent does nothing, and that well; or not.
type lazyAgent struct {
	calls *[ops]atomic.Int64
	err   error
}

func (a *lazyAgent) claim(context.Context) error        { a.calls[opClaim].Add(1); return nil }
func (a *lazyAgent) note(context.Context, string) error { a.calls[opNote].Add(1); return nil }
func (a *lazyAgent) present() bool                      { return true }
func (a *lazyAgent) renew(context.Context) error        { a.calls[opRenew].Add(1); return a.err }
func (a *lazyAgent) finish(context.Context) error       { a.calls[opFinish].Add(1); return nil }

// Every task makes all of its calls, and what fails is beyond the limit.
func TestOffer(t *testing.T) {
	for _, failure := range []error{nil, errors.New("no")} {
		o := &options{measure: time.Second, renews: 2, notes: 3}
		var calls [ops]atomic.Int64
		marks := 0
		s, err := offer(t.Context(), o, 20, func(int) agent { return &lazyAgent{&calls, failure} }, func(bool) error {
			marks++
			return nil
		})
		if err != nil || marks != 2 {
			t.Fatalf("offer = %v, %d marks", err, marks)
		}
		n := int64(s.begun)
		switch {
		case failure == nil && (s.bad() != "" || calls[opNote].Load() != 3*n || calls[opRenew].Load() != 2*n || calls[opFinish].Load() != n):
			t.Errorf("%d tasks: %v; notes %d, renewals %d, finishes %d", n, s.bad(), calls[opNote].Load(), calls[opRenew].Load(), calls[opFinish].Load())
		case failure != nil && !strings.Contains(s.bad(), "renew: no"):
			t.Errorf("bad() = %q, want the error", s.bad())
		}
	}
}

// The processor time of this process is there, and that of a family is no less.
func TestFamilyCPU(t *testing.T) {
	for begin := time.Now(); time.Since(begin) < 50*time.Millisecond; {
		_ = strings.Repeat("x", 1000)
	}
	own, err := cpuOf(os.Getpid(), false)
	if err != nil || own == 0 {
		t.Fatalf("cpuOf(self) = %v, %v", own, err)
	}
	all, err := familyCPU(os.Getpid())
	if err != nil || all < own {
		t.Errorf("familyCPU(self) = %v, %v, want at least %v", all, err, own)
	}
}
