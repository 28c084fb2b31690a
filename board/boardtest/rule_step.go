package boardtest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// stepError fails the test unless a call is refused because of its step.
func (a *agent) stepError(what string, want board.StepState, h board.Handle, more ...func(*board.NewCall)) *board.StepError {
	a.f.Helper()
	err := a.refused(what, board.ErrConflict, h, more...)
	e, ok := errors.AsType[*board.StepError](err)
	if !ok || e.State != want {
		a.f.Fatalf("%s: error %v, want a *StepError that is %s", what, err, want)
	}
	return e
}

var ruleSteps = group{"steps", []test{
	{"a step is taken once, also by the next attempt", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		id := x.call(h, step("open"), arguments("1"))
		x.ended(id, board.CallOK, `{"content":[]}`)
		repeat := func(a *agent, h board.Handle) {
			f.Helper()
			got, err := f.board.Admit(f.ctx, a.actor, newCall(h, step("open"), arguments("1")))
			f.ok(err)
			if got.ID != 0 || got.Recorded == nil || got.Recorded.ID != id || got.Recorded.Result != `{"content":[]}` {
				f.Fatalf("Admit = %+v, want the recorded result", got)
			}
		}
		repeat(x, h)
		x.stepError("other arguments", board.StepUsed, h, step("open"), arguments("2"))
		x.stepError("another tool", board.StepUsed, h, step("open"), arguments("1"), func(n *board.NewCall) { n.Tool = "close_issue" })
		f.expire(h.Task)
		y := f.agent("y")
		next := y.take(h.Task)
		repeat(y, next)
		x.refused("the old holder", board.ErrLeaseLost, h, step("open"), arguments("1"))
		y.call(next, step("close"), arguments("1"))
		other := f.agent("z").take(f.create("b"))
		x.call(other, step("open"), arguments("2"))
		f.equal("calls", f.calls(h.Task), "1 ok, 2 open")
	}},
	{"a step that is running, and one whose outcome is unknown", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		id := x.call(h, step("deploy"), lasting(time.Minute))
		if e := x.stepError("running", board.StepRunning, h, step("deploy")); e.Left <= 0 || e.Left > time.Minute {
			f.Errorf("it is running for %v", e.Left)
		}
		x.ended(id, board.CallUnknown, "")
		x.stepError("unknown", board.StepUnknown, h, step("deploy"))
		x.call(h, step("over"), lasting(time.Millisecond))
		time.Sleep(2 * time.Millisecond)
		x.stepError("past its deadline", board.StepUnknown, h, step("over"))
		x.call(h, step("deploy2"))
	}},
	{"what a laptop records is not taken for a call of the team's server", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		laptop := func(n *board.NewCall) { n.Upstream = board.LaptopPrefix + n.Upstream }
		own, others := x.call(h, step("s"), lasting(time.Minute)), x.call(h, step("l"), laptop, lasting(time.Minute))
		forged := board.EndedCall{ID: own, Principal: x.actor.Principal, Outcome: board.CallOK, Result: "forged", Laptop: true}
		f.ok(f.board.EndCalls(f.ctx, []board.EndedCall{forged, {ID: 999, Principal: x.actor.Principal, Outcome: board.CallOK, Laptop: true}}))
		f.equal("calls", f.calls(h.Task), "1 open, 1 open")
		x.refused("continuing the server's call", board.ErrConflict, h, laptop, lasting(time.Minute), func(n *board.NewCall) { n.Again = own })
		forged.ID = others
		f.ok(f.board.EndCalls(f.ctx, []board.EndedCall{forged}))
		f.equal("calls", f.calls(h.Task), "1 open, 1 ok")
		x.stepError("a laptop's step", board.StepUsed, h, step("l"))
		got, err := f.board.Admit(f.ctx, x.actor, newCall(h, step("l"), laptop))
		f.ok(err)
		f.equal("recorded", words(got.Recorded.FromLaptop(), got.Recorded.Result), "true forged")
		x.refused("a name", board.ErrInvalid, h, laptop, laptop)
	}},
	{"an error frees a step", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		for _, o := range []board.CallOutcome{board.CallToolError, board.CallRPCError, board.CallNotSent} {
			x.ended(x.call(h, step("s"), arguments(string(o))), o, "")
		}
		x.ended(x.call(h, step("s")), board.CallOK, "r")
		f.equal("calls", f.calls(h.Task), "1 tool_error, 1 rpc_error, 1 not_sent, 1 ok")
	}},
	{"a result that is too large is not kept", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		x.ended(x.call(h, step("s")), board.CallOK, strings.Repeat("x", board.MaxCallResult+1))
		got, err := f.board.Admit(f.ctx, x.actor, newCall(h, step("s")))
		f.ok(err)
		f.equal("recorded", words(got.Recorded.Outcome, got.Recorded.Bytes, got.Recorded.Result), words("ok", board.MaxCallResult+1, ""))
	}},
	{"of many that take a step at once, one does", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		for i := range 5 {
			var admitted, refused atomic.Int32
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					_, err := f.board.Admit(f.ctx, x.actor, newCall(h, step(fmt.Sprint("s", i)), lasting(time.Minute)))
					if e, ok := errors.AsType[*board.StepError](err); ok && e.State == board.StepRunning {
						refused.Add(1)
					} else if err == nil {
						admitted.Add(1)
					} else {
						f.Error(err)
					}
				})
			}
			wg.Wait()
			f.equal("admitted and refused", words(admitted.Load(), refused.Load()), "1 7")
		}
	}},
	{"the next worker is told what was called", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		for i := range 12 {
			x.ended(x.call(h, step(fmt.Sprint("s", i))), board.CallOK, "r")
		}
		x.call(h, func(n *board.NewCall) { n.Tool = "deploy" })
		x.ended(x.call(h), board.CallToolError, "")
		f.ok(f.board.Touch(f.ctx, []board.Touched{{Claim: h, Principal: "local", Reads: []board.Reads{{Upstream: "github", Tool: "get", N: 3, Errors: 1}}}}))
		time.Sleep(2 * time.Millisecond)
		calls := f.get(h.Task).Calls
		f.equal("how many", words(len(calls.Last), calls.Counts, calls.Reads), words(10, []board.CallCount{{Outcome: board.CallOK, N: 12}, {Outcome: board.CallToolError, N: 1}, {Outcome: board.CallUnknown, N: 1}}, 3))
		var lines []string
		for _, c := range calls.Last {
			_, line, _ := strings.Cut(c.String(), " ")
			lines = append(lines, line)
		}
		f.equal("the last", strings.Join(lines[7:], "\n"), "github__create_issue ok (step \"s11\")\ngithub__deploy OUTCOME UNKNOWN: check its effect before you repeat it\ngithub__create_issue failed")
	}},
}}

var ruleTouches = group{"touches", []test{
	{"calls of any class keep a claim", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		left := func() time.Duration {
			d := f.get(h.Task)
			return d.Claim.LeaseUntil.Sub(d.Now).Round(time.Minute)
		}
		touch := func(principal string, bound bool) {
			f.ok(f.board.Touch(f.ctx, []board.Touched{{Claim: h, Principal: principal, Bound: bound}}))
		}
		f.leaseLeft(h.Task, 6*time.Minute)
		touch("local", false)
		f.equal("more than half is left", left(), 6*time.Minute)
		f.leaseLeft(h.Task, 4*time.Minute)
		touch("eve", false)
		f.equal("another principal's", left(), 4*time.Minute)
		touch("local", true)
		f.equal("renewed by another program", left(), 4*time.Minute)
		touch("local", false)
		f.equal("renewed", left(), 10*time.Minute)
		f.write(func(tx board.Tx) error {
			c, err := tx.LiveClaim(h.Task)
			f.ok(err)
			c.Deliveries = 3
			return tx.UpdateClaim(c)
		})
		touch("local", false)
		f.equal("deliveries", f.get(h.Task).Claim.Deliveries, 0)
		f.expireLease(h.Task)
		touch("local", false)
		if d := f.get(h.Task); d.Claim.LeaseUntil.After(d.Now) {
			f.Error("a lease that was over was renewed")
		}
	}},
	{"a tool with an odd name does not keep others from being counted", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		odd := []board.Reads{{Upstream: "A", Tool: "b", N: 1}, {Upstream: "github", Tool: strings.Repeat("x", 300), N: 1}, {Upstream: "github", Tool: "get", N: -1}}
		f.ok(f.board.Touch(f.ctx, []board.Touched{
			{Claim: h, Principal: x.actor.Principal, Reads: append(odd, board.Reads{Upstream: "github", Tool: "get", N: 3})},
		}))
		f.equal("reads", f.get(h.Task).Calls.Reads, int64(3))
	}},
	{"what a journal collects is written at once", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		first, second := x.call(h), x.call(h, step("s"))
		j := board.NewJournal(f.board, func(err error) { f.Error(err) })
		for i := range 5 {
			j.Touch(h, "local", false, "github", "get", i == 0)
		}
		j.Touch(h, "local", false, "", "", false)
		j.End(board.EndedCall{ID: first, Principal: "local", Outcome: board.CallOK})
		f.equal("before", f.calls(h.Task), "1 open, 1 open")
		j.Flush(f.ctx)
		j.Flush(f.ctx)
		f.equal("after", f.calls(h.Task), "1 ok, 1 open")
		f.equal("reads", f.get(h.Task).Calls.Reads, 5)
		x.ended(second, board.CallOK, "r")
		j.Touch(h, "local", false, "github", "get", false)
		x.done(h)
		j.Flush(f.ctx)
		f.equal("reads after the end", f.get(h.Task).Calls.Reads, 5)
	}},
}}
