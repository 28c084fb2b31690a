package boardtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// newCall returns a call under a claim, modified by more.
func newCall(h board.Handle, more ...func(*board.NewCall)) board.NewCall {
	digest := sha256.Sum256([]byte(`{}`))
	n := board.NewCall{Claim: h, Upstream: "github", Tool: "create_issue", Class: board.ClassClaim, Digest: digest[:], Limit: time.Millisecond}
	for _, m := range more {
		m(&n)
	}
	return n
}

func step(name string) func(*board.NewCall) { return func(n *board.NewCall) { n.Step = name } }

func lasting(d time.Duration) func(*board.NewCall) { return func(n *board.NewCall) { n.Limit = d } }

func arguments(s string) func(*board.NewCall) {
	return func(n *board.NewCall) {
		digest := sha256.Sum256([]byte(s))
		n.Digest, n.Args = digest[:], s
	}
}

// call admits a call, and must succeed.
func (a *agent) call(h board.Handle, more ...func(*board.NewCall)) board.CallID {
	a.f.Helper()
	got, err := a.f.board.Admit(a.f.ctx, a.actor, newCall(h, more...))
	if err != nil || got.Recorded != nil {
		a.f.Fatalf("%s: Admit under %v = %+v, %v", a.actor.Owner, h, got, err)
	}
	return got.ID
}

// refused fails the test unless a call is refused as by that error.
func (a *agent) refused(what string, want error, h board.Handle, more ...func(*board.NewCall)) error {
	a.f.Helper()
	got, err := a.f.board.Admit(a.f.ctx, a.actor, newCall(h, more...))
	a.f.is(what, err, want)
	if got.ID != 0 || got.Recorded != nil {
		a.f.Errorf("%s: Admit = %+v beside the error", what, got)
	}
	return err
}

// ended records the end of a call.
func (a *agent) ended(id board.CallID, o board.CallOutcome, result string) {
	a.f.Helper()
	a.f.ok(a.f.board.EndCalls(a.f.ctx, []board.EndedCall{{ID: id, Principal: a.actor.Principal, Outcome: o, Error: "e", Bytes: int64(len(result)), Result: result}}))
}

// calls returns how the calls of a task stand, oldest first.
func (f *fixture) calls(id board.ID) string {
	f.Helper()
	list, err := f.board.Calls(f.ctx, board.CallFilter{Task: id})
	f.ok(err)
	var out []string
	for _, c := range list {
		outcome := string(c.Outcome)
		if c.Outcome == board.CallOpen {
			outcome = "open"
		}
		out = append([]string{words(c.Attempt, outcome)}, out...)
	}
	return strings.Join(out, ", ")
}

var ruleCalls = group{"calls", []test{
	{"calls are archived with their task", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		x.ended(x.call(h, step("s")), board.CallOK, "{}")
		x.call(h)
		f.ok(f.board.Touch(f.ctx, []board.Touched{{Claim: h, Principal: x.actor.Principal, Reads: []board.Reads{{Upstream: "github", Tool: "get", N: 2}}}}))
		art, err := f.board.PutArtifact(f.ctx, x.actor, board.NewArtifact{Claim: h, Name: "github__list", Body: []byte("one\ntwo")})
		f.ok(err)
		f.equal("calls", f.calls(h.Task), "1 ok, 1 open")
		x.done(h)
		f.archive(1)
		f.gone(h.Task)
		list, err := f.board.Calls(f.ctx, board.CallFilter{Task: h.Task})
		if err != nil && !errors.Is(err, board.ErrNotFound) || len(list) > 0 {
			f.Errorf("calls of an archived task = %v, %v", list, err)
		}
		if page, err := f.board.Artifact(f.ctx, x.actor, art.ID, board.ArtifactPage{}); !errors.Is(err, board.ErrNotFound) {
			f.Errorf("artifact of an archived task = %+v, %v", page, err)
		}
	}},
	{"a call is recorded, and the lease outlasts it", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		f.leaseLeft(h.Task, 2*time.Second)
		id := x.call(h, lasting(time.Minute), arguments(`{"title":"x"}`))
		d := f.get(h.Task)
		if left := d.Claim.LeaseUntil.Sub(d.Now); left < time.Minute || left > time.Minute+6*time.Second {
			f.Errorf("the lease lasts for %v, want 5 s longer than the call may", left)
		}
		whole := d.Claim.LeaseUntil
		x.call(h, lasting(time.Second))
		f.equal("a lease that is long enough", f.get(h.Task).Claim.LeaseUntil, whole)
		var got board.Call
		f.read(func(r board.Reader) (err error) { got, err = r.Call(id); return err })
		if got.Deadline.Sub(got.BeganAt) != time.Minute || got.Worker != d.Claim.Worker || len(got.ArgsHash) != sha256.Size || got.BeganAt.Before(d.Claim.GrantedAt) {
			f.Errorf("call %+v", got)
		}
		f.equal("call", words(got.Task, got.Attempt, got.Upstream, got.Tool, got.Class, got.Step, got.Args, got.Outcome),
			words(h.Task, 1, "github", "create_issue", "claim", "", `{"title":"x"}`, ""))
		x.ended(id, board.CallOK, "")
		f.read(func(r board.Reader) (err error) { got, err = r.Call(id); return err })
		if got.Outcome != board.CallOK || got.EndedAt.Before(got.BeganAt) {
			f.Errorf("ended call %+v", got)
		}
		f.equal("calls", f.calls(h.Task), "1 ok, 1 open")
	}},
	{"it takes at most as long as the lease", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a", func(n *board.NewTask) { n.Lease = 30 * time.Second }))
		got, err := f.board.Admit(f.ctx, x.actor, newCall(h, lasting(time.Hour)))
		f.ok(err)
		f.equal("limit", got.Limit, 30*time.Second)
	}},
	{"no call begins when the claim has ended", func(f *fixture) {
		for what, end := range map[string]func(x *agent, h board.Handle){
			"expired": func(_ *agent, h board.Handle) { f.expire(h.Task) },
			"cancelled": func(_ *agent, h board.Handle) {
				_, err := f.board.Cancel(f.ctx, ada, h.Task, "not needed", "")
				f.ok(err)
			},
			"released": func(_ *agent, h board.Handle) {
				_, err := f.board.Release(f.ctx, ada, h.Task, "elsewhere")
				f.ok(err)
			},
			"done":   func(x *agent, h board.Handle) { x.done(h) },
			"failed": func(x *agent, h board.Handle) { x.fail(h, board.FailOther) },
			"stopped": func(x *agent, h board.Handle) {
				_, err := f.board.Stop(f.ctx, ada, board.WorkerID{Principal: x.actor.Principal, Name: x.name})
				f.ok(err)
			},
			"closed": func(_ *agent, h board.Handle) {
				_, err := f.board.MarkDone(f.ctx, ada, h.Task, "", false)
				f.ok(err)
			},
			"parked": func(x *agent, h board.Handle) {
				x.park(x.ask(h, func(n *board.NewQuestion) { n.Blocking = new(true) }).ID)
			},
		} {
			x := f.agent("of " + what)
			h := x.take(f.create(what), wishing(f.last1()))
			x.call(h)
			end(x, h)
			lost := f.lost(what, x.refused(what, board.ErrLeaseLost, h), false)
			if lost.Ended == nil || lost.Ended.EndedAt.IsZero() {
				f.Errorf("%s: lost %+v, want how the attempt ended", what, lost)
			}
			x.refused(what+", with a step", board.ErrLeaseLost, h, step("s"))
			f.equal(what+": calls", f.calls(h.Task), "1 open")
		}
	}},
	{"a task in other hands: its new holder calls, the old one does not", func(f *fixture) {
		x, y := f.agent("x"), f.agent("y")
		old := x.take(f.create("a"))
		f.expire(old.Task)
		h := y.take(old.Task)
		x.refused("the old holder", board.ErrLeaseLost, old)
		y.call(h)
		stranger := board.Actor{Principal: "eve", Owner: "eve"}
		_, err := f.board.Admit(f.ctx, stranger, newCall(h))
		f.is("another principal", err, board.ErrDenied)
		forged := h
		forged.Nonce = "22222"
		y.refused("another nonce", board.ErrLeaseLost, forged)
		y.refused("no task", board.ErrNotFound, board.Handle{Task: board.ID{Project: project, No: 99}, Attempt: 1, Nonce: "22222"})
		f.equal("calls", f.calls(h.Task), "2 open")
	}},
	{"a lease that is over is revived as long as no sweep has ended the claim", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		f.expireLease(h.Task)
		x.call(h)
		f.equal("events", f.kinds(h.Task), "created claimed revived")
	}},
	{"invalid calls", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		for what, change := range map[string]func(*board.NewCall){
			"upstream": func(n *board.NewCall) { n.Upstream = "Git Hub" },
			"tool":     func(n *board.NewCall) { n.Tool = "a\nb" },
			"class":    func(n *board.NewCall) { n.Class = "write" },
			"step":     func(n *board.NewCall) { n.Step = "a b" },
			"digest":   func(n *board.NewCall) { n.Digest = nil },
			"limit":    func(n *board.NewCall) { n.Limit = 0 },
			"review":   func(n *board.NewCall) { n.Claim.Attempt = 0 },
			"a step without a claim": func(n *board.NewCall) {
				n.Claim, n.Step = board.Handle{}, "s"
			},
		} {
			x.refused(what, board.ErrInvalid, h, change)
		}
		f.is("outcome", f.board.EndCalls(f.ctx, []board.EndedCall{{ID: 1, Outcome: "fine"}}), board.ErrInvalid)
	}},
	{"the end of a call is its first, and its caller's", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		id := x.call(h)
		f.ok(f.board.EndCalls(f.ctx, []board.EndedCall{{ID: id, Principal: "eve", Outcome: board.CallOK}, {ID: 999, Principal: "eve", Outcome: board.CallOK}}))
		f.equal("after a stranger's", f.calls(h.Task), "1 open")
		x.ended(id, board.CallUnknown, "")
		x.ended(id, board.CallOK, "")
		f.equal("after two", f.calls(h.Task), "1 unknown")
		long := x.call(h)
		f.ok(f.board.EndCalls(f.ctx, []board.EndedCall{{ID: long, Principal: x.actor.Principal, Outcome: board.CallToolError, Error: "\x00" + strings.Repeat("é", 500), Ago: time.Hour}}))
		f.read(func(r board.Reader) error {
			c, err := r.Call(long)
			f.equal("its error", len(c.Error), 300)
			if !c.EndedAt.Equal(c.BeganAt) { // it cannot have ended an hour ago
				f.Errorf("it began at %v and ended at %v", c.BeganAt, c.EndedAt)
			}
			return err
		})
	}},
	{"a call without a claim is recorded, and forgotten after a month", func(f *fixture) {
		lead := f.agent("x")
		id := lead.call(board.Handle{}, func(n *board.NewCall) { n.Class = "" }, lasting(time.Hour))
		all, err := f.board.Calls(f.ctx, board.CallFilter{})
		f.ok(err)
		if len(all) != 1 || all[0].ID != id || !all[0].Task.IsZero() || all[0].Worker.Principal != "local" {
			f.Fatalf("calls %+v", all)
		}
		got, err := f.board.Admit(f.ctx, lead.actor, newCall(board.Handle{}, func(n *board.NewCall) { n.Again, n.Limit = id, 2*time.Hour }))
		f.ok(err)
		f.equal("again", words(got.ID, got.Limit.Round(time.Minute)), words(id, 2*time.Hour))
		f.write(func(tx board.Tx) error { return tx.ForgetCalls(time.Hour) })
		f.calledAll(1)
		f.write(func(tx board.Tx) error { return tx.ForgetCalls(-time.Hour) })
		f.calledAll(0)
		lead.refused("one that is forgotten", board.ErrConflict, board.Handle{}, func(n *board.NewCall) { n.Again = id })
	}},
	{"a long call is admitted again while its claim is in force", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		id := x.call(h, lasting(time.Second))
		f.leaseLeft(h.Task, time.Second)
		got, err := f.board.Admit(f.ctx, x.actor, newCall(h, lasting(time.Minute), func(n *board.NewCall) { n.Again, n.Follow = id, "t-1" }))
		f.ok(err)
		f.equal("again", got.ID, id)
		f.read(func(r board.Reader) error {
			c, err := r.Call(id)
			f.equal("its upstream's task", c.Follow, "t-1")
			if left := c.Deadline.Sub(c.BeganAt); left < time.Minute {
				f.Errorf("it may take %v", left)
			}
			return err
		})
		d := f.get(h.Task)
		if left := d.Claim.LeaseUntil.Sub(d.Now); left < time.Minute {
			f.Errorf("the lease lasts for %v", left)
		}
		f.equal("calls", f.calls(h.Task), "1 open")
		x.ended(id, board.CallOK, "")
		x.refused("one that has ended", board.ErrConflict, h, func(n *board.NewCall) { n.Again = id })
		other := x.call(h)
		x.done(h)
		x.refused("one whose claim has ended", board.ErrLeaseLost, h, func(n *board.NewCall) { n.Again = other })
	}},
	{"a process that leaves does not cut off a running call", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		id := x.call(h, lasting(5*time.Minute))
		f.ok(f.board.Leave(f.ctx, "x"))
		d := f.get(h.Task)
		if left := d.Claim.LeaseUntil.Sub(d.Now); left < 5*time.Minute {
			f.Errorf("the lease lasts for %v, and the call may take 5 min", left)
		}
		x.ended(id, board.CallOK, "")
		f.ok(f.board.Leave(f.ctx, "x"))
		d = f.get(h.Task)
		if left := d.Claim.LeaseUntil.Sub(d.Now); left > 2*time.Minute {
			f.Errorf("the lease lasts for %v after the call", left)
		}
	}},
	{"what was called goes with the task", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		x.ended(x.call(h, arguments("secret"), step("s")), board.CallOK, "secret")
		f.ok(f.board.Touch(f.ctx, []board.Touched{{Claim: h, Principal: "local", Reads: []board.Reads{{Upstream: "github", Tool: "get", N: 1}}}}))
		x.note(h, "secret")
		f.ok(f.board.Redact(f.ctx, ada, h.Task, f.last(h.Task).Seq, "a secret"))
		f.read(func(r board.Reader) error {
			c, err := r.Step(h.Task, "s")
			f.equal("after a redaction", words(c.Outcome, c.Args+c.Result+c.Error), "ok ")
			return err
		})
		x.done(h)
		_, err := f.board.Erase(f.ctx, ada, h.Task, "a secret")
		f.ok(err)
		f.equal("after an erasure", f.calls(h.Task), "")
		f.equal("reads", f.get(h.Task).Calls.Reads, 0)
	}},
	{"a store without the lock on claims is found out", func(f *fixture) {
		store, ok := f.store.(unlocked)
		if !ok {
			f.Skip("the store cannot record a call without looking at its claim")
		}
		f.unchecked = true
		x := f.agent("x")
		h := x.take(f.create("a"))
		b := board.New(noLock{store, func() { f.expire(h.Task) }}, nil)
		if _, err := b.Admit(f.ctx, x.actor, newCall(h)); err != nil {
			f.Fatalf("Admit = %v, want that the control admits", err)
		}
		errs := Check(f.ctx, f.store)
		if len(errs) != 2 || !strings.Contains(errs[0].Error(), "G1") || !strings.Contains(errs[1].Error(), "G2") {
			f.Errorf("Check = %v, want G1 and G2", errs)
		}
	}},
}}

// last1 returns the newest task.
func (f *fixture) last1() board.ID {
	f.Helper()
	list, err := f.board.List(f.ctx, board.TaskFilter{Projects: []string{project}})
	f.ok(err)
	return list[len(list)-1].ID
}

func (f *fixture) calledAll(want int) {
	f.Helper()
	all, err := f.board.Calls(f.ctx, board.CallFilter{})
	f.ok(err)
	f.equal("calls", len(all), want)
}

// An unlocked is a store that can record a call without looking at its claim. Only a store under
// test is one.
type unlocked interface {
	board.Store
	InsertCall(ctx context.Context, a board.Admission, c board.Claim) (board.Call, error)
}

// noLock is a store that looks at a claim and records the call later, as if it did not lock
// the claim. It is a negative control, which Check must report.
type noLock struct {
	unlocked
	between func()
}

func (s noLock) Admit(ctx context.Context, a board.Admission) (board.Call, bool, error) {
	var claims []board.Claim
	var now time.Time
	err := s.Read(ctx, func(r board.Reader) (err error) {
		if claims, err = r.Claims(board.ClaimFilter{Task: a.Claim.Task}); err == nil {
			now, err = r.Now()
		}
		return err
	})
	if err != nil || len(claims) == 0 || claims[0].Handle != a.Claim || !claims[0].LeaseUntil.After(now) {
		return board.Call{}, false, err
	}
	s.between()
	call, err := s.InsertCall(ctx, a, claims[0])
	return call, err == nil, err
}
