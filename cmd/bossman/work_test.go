package main

import (
	"sync/atomic"
	"testing"

	"github.com/bossman-dev/bossman/tools"
)

// What the last check said decides whether a program that ends then has failed, and whether the board counts it.
func TestJudged(t *testing.T) {
	var last atomic.Pointer[tools.CheckResult]
	j := judged{last: &last}
	if why, counted := j.unjudged(); why != "" || counted {
		t.Errorf("without a check: %q, %v", why, counted)
	}
	type outcome struct {
		why     string
		counted bool
	}
	for state, want := range map[tools.CheckState]outcome{
		tools.CheckNotJudged: {"it hangs", true},
		tools.CheckChanged:   {"files changed while it ran", true},
		tools.CheckStopped:   {},
		tools.CheckRed:       {},
		tools.CheckGreen:     {},
		tools.CheckWaived:    {},
		tools.CheckUntrusted: {},
		tools.CheckRunning:   {},
	} {
		last.Store(&tools.CheckResult{State: state, Reason: "it hangs"})
		if why, counted := j.unjudged(); (outcome{why, counted}) != want {
			t.Errorf("%s: %q, %v, want %v", state, why, counted, want)
		}
	}
	last.Store(&tools.CheckResult{State: tools.CheckStopped, Late: true, Reason: "it waits"})
	if why, counted := j.unjudged(); why != "it waits" || counted {
		t.Errorf("behind other checks: %q, %v", why, counted)
	}
}
