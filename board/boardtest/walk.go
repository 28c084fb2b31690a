package boardtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/bossman-dev/bossman/board"
)

// walk applies random operations to a board and to a model of it, and compares the two
// after each. The flags -rapid.checks and -rapid.steps set the number of walks and their
// length.
func walk(t *testing.T, open func(t *testing.T) board.Store) {
	f := newFixture(t, open(t))
	f.project(board.Project{Slug: "nowhere"})
	var n atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		w := &walker{
			T: rt, f: f, slug: fmt.Sprintf("p%d", n.Add(1)),
			model: model{policy: rapid.SampledFrom([]board.Policy{board.PolicyEvidence, board.PolicyReview, board.PolicyPerson}).Draw(rt, "policy"), away: map[*agent]bool{}},
		}
		f.project(board.Project{Slug: w.slug, Policy: w.policy})
		if w.lands = rapid.Bool().Draw(rt, "lands"); w.lands {
			w.lead()
		}
		for i := range 3 {
			w.agents = append(w.agents, f.agent(fmt.Sprintf("%s-%d", w.slug, i)))
		}
		ops := map[string]func(*rapid.T){
			"":        func(*rapid.T) { w.compare() },
			"create":  func(*rapid.T) { w.create() },
			"next":    func(*rapid.T) { w.next() },
			"next 2":  func(*rapid.T) { w.next() },
			"done":    func(*rapid.T) { w.done() },
			"fail":    func(*rapid.T) { w.failure() },
			"note":    func(*rapid.T) { w.note() },
			"call":    func(*rapid.T) { w.call() },
			"ask":     func(*rapid.T) { w.ask() },
			"park":    func(*rapid.T) { w.park() },
			"answer":  func(*rapid.T) { w.answer() },
			"expire":  func(*rapid.T) { w.timePasses() },
			"sweep":   func(*rapid.T) { w.sweepNow() },
			"renew":   func(*rapid.T) { w.renew() },
			"release": func(*rapid.T) { w.release() },
			"cancel":  func(*rapid.T) { w.cancelOne() },
			"by hand": func(*rapid.T) { w.markDone() },
			"review":  func(*rapid.T) { w.review() },
			"edit":    func(*rapid.T) { w.edit() },
			"relink":  func(*rapid.T) { w.relink() },
		}
		if w.lands {
			ops["land"] = func(*rapid.T) { w.land() }
			ops["land 2"] = func(*rapid.T) { w.land() }
			ops["return"] = func(*rapid.T) { w.giveBack() }
		}
		rt.Repeat(ops)
	})
}

// A walker is a model and the board that it is compared with.
type walker struct {
	*rapid.T
	model
	f      *fixture
	slug   string
	agents []*agent
	// lease is that of the target, and open the open intent or zero.
	lease board.Lease
	open  board.IntentID
}

func (w *walker) ctx() context.Context { return w.f.ctx }

// want fails the walk unless err is the kind of error that the model expects.
func (w *walker) want(what string, err, kind error) {
	w.Helper()
	if !errors.Is(err, kind) {
		w.Fatalf("%s: error %v, want %v", what, err, kind)
	}
}

// pick draws an item of a list, or skips the step if the list is empty.
func pick[T any](w *walker, what string, from []T) T {
	if len(from) == 0 {
		w.Skip("none: " + what)
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(w.T, what)]
}

// some draws a few of the tasks.
func (w *walker) some(what string) []*modelTask {
	var out []*modelTask
	for range rapid.IntRange(0, min(2, len(w.tasks))).Draw(w.T, "number of "+what) {
		if t := pick(w, what, w.tasks); !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

func idsOf(ts []*modelTask) []board.ID {
	out := make([]board.ID, len(ts))
	for i, t := range ts {
		out[i] = t.id
	}
	return out
}

func (w *walker) compare() {
	w.step++
	got, err := w.f.board.List(w.ctx(), board.TaskFilter{Projects: []string{w.slug}})
	w.want("list", err, nil)
	claims, err := w.f.board.Claims(w.ctx(), board.ClaimFilter{Project: w.slug})
	w.want("claims", err, nil)
	if len(got) != len(w.tasks) {
		w.Fatalf("%d tasks, want %d", len(got), len(w.tasks))
	}
	live := 0
	for i, t := range w.tasks {
		g := got[i]
		have := words(g.ID, g.Status, "failures", g.Failures, "attempt", g.Attempt, "blockers", g.OpenBlockers, "ready", (&g).Ready(), "children done", g.DoneChildren)
		want := words(t.id, t.status, "failures", t.failures, "attempt", t.attempts, "blockers", w.blockers(t), "ready", w.ready(t), "children done", t.done)
		if t.status.Terminal() {
			have, want = words(g.ID, g.Status, g.Failures, g.Attempt), words(t.id, t.status, t.failures, t.attempts)
		}
		if have != want {
			w.Fatalf("task\n got %s\nwant %s", have, want)
		}
		if t.claim != nil {
			live++
			if !slices.ContainsFunc(claims, func(c board.Claim) bool {
				return c.Handle == t.claim.handle && c.Worker == t.claim.agent.worker()
			}) {
				w.Fatalf("no claim %v of %s, only %v", t.claim.handle, t.claim.agent.name, claims)
			}
		}
		if t.reviewer != nil {
			live++
			if !slices.ContainsFunc(claims, func(c board.Claim) bool {
				return c.IsReview() && c.Task == t.id && c.Worker == t.reviewer.worker()
			}) {
				w.Fatalf("no review of %v by %s, only %v", t.id, t.reviewer.name, claims)
			}
		}
	}
	if len(claims) != live {
		w.Fatalf("claims %v, want %d", claims, live)
	}
}

func (w *walker) create() {
	t := &modelTask{
		priority: board.Priority(rapid.IntRange(0, 3).Draw(w.T, "priority")), hold: rapid.IntRange(0, 4).Draw(w.T, "hold") == 0,
		status: board.Pending, max: rapid.IntRange(1, 3).Draw(w.T, "budget"), spec: 1, queued: w.step, deps: w.some("blocker"), declined: map[*agent]bool{},
	}
	n := board.NewTask{Project: w.slug, Title: "t", Priority: t.priority, Hold: t.hold, MaxFailures: t.max, DependsOn: idsOf(t.deps)}
	var kind error
	if len(w.tasks) > 0 && rapid.IntRange(0, 2).Draw(w.T, "a child") == 0 {
		t.parent = pick(w, "parent", w.tasks)
		n.Parent = t.parent.id
		if t.parent.status.Terminal() || t.parent.status == board.InReview || t.parent.status == board.Landing || slices.ContainsFunc(t.deps, func(d *modelTask) bool { return w.waits(d, t.parent, map[*modelTask]bool{}) }) {
			kind = board.ErrConflict
		}
	}
	made, _, err := w.f.board.Create(w.ctx(), ada, n, "")
	w.want("create", err, kind)
	if err == nil {
		t.id = made.ID
		w.tasks = append(w.tasks, t)
		w.inherit(t)
	}
}

func (w *walker) next() {
	a := pick(w, "agent", w.agents)
	defer func() { w.away[a] = false }() // it goes on under its name, also if there is nothing for it
	h, err := w.f.board.Next(w.ctx(), a.actor, board.Wish{Worker: a.name, Projects: []string{w.slug}, Reviews: []string{w.slug}})
	for swept := false; ; swept = true {
		if t := w.reviews(a); t != nil {
			if t.deliveries++; t.deliveries <= 5 {
				t.expired = false
				if err != nil || !h.Claim.IsReview() || h.Task.ID != t.id || !h.Again {
					w.Fatalf("next of %s = %v, %v, want the review of %v again", a.name, h, err, t.id)
				}
				return
			}
			t.declined[a] = true
			t.endReview()
		}
		if g := w.holds(a); g != nil {
			if g.task.deliveries++; g.task.deliveries <= 5 {
				g.task.expired, g.spec = false, g.task.spec
				if err != nil || h.Claim.Handle != g.handle || !h.Again {
					w.Fatalf("next of %s = %v, %v, want %v again", a.name, h, err, g.handle)
				}
				return
			}
			w.fail(g.task)
			w.end(g.task, board.CauseRestarts)
		}
		offers := w.offers(a)
		review, behind := w.reviewable(a)
		// A task that is reserved for the agent may come first.
		reserved := slices.ContainsFunc(w.tasks, func(t *modelTask) bool { return t.status == board.Pending && t.reserved == a })
		if behind && w.queue(a) != nil {
			review = nil
		}
		if review != nil && err == nil && h.Claim.IsReview() {
			if h.Task.ID != review.id || h.Again {
				w.Fatalf("next = %v, want the review of %v", h.Claim.Handle, review.id)
			}
			a.name, a.actor.Worker = h.Claim.Worker.Name, h.Claim.Worker.Name
			review.reviewer, review.expired, review.deliveries = a, false, 0
			return
		}
		if review != nil && (!reserved || err != nil) {
			w.Fatalf("next = %v, %v, want the review of %v", h, err, review.id)
		}
		if len(offers) > 0 {
			if err != nil {
				w.Fatalf("next: %v, want one of %v", err, idsOf(offers))
			}
			i := slices.IndexFunc(offers, func(t *modelTask) bool { return t.id == h.Task.ID })
			if i < 0 || h.Claim.IsReview() || h.Claim.Attempt != offers[i].attempts+1 || h.Again {
				w.Fatalf("next = %v, want one of %v", h.Claim.Handle, idsOf(offers))
			}
			a.name, a.actor.Worker = h.Claim.Worker.Name, h.Claim.Worker.Name
			w.grant(offers[i], a, h.Claim.Handle)
			return
		}
		if swept || !w.stale() {
			break
		}
		w.sweep()
	}
	if _, ok := errors.AsType[*board.Nothing](err); !ok {
		w.Fatalf("next = %v, %v, want nothing", h, err)
	}
}

// lives checks the error of a holder's call, and reports whether the call was accepted.
func (w *walker) lives(what string, g *modelGrant, err error) bool {
	if g.task.claim != g && !w.revive(g) {
		w.want(what, err, board.ErrLeaseLost)
		return false
	}
	w.want(what, err, nil)
	g.alive()
	return true
}

func (w *walker) note() {
	g := pick(w, "grant", w.grants)
	n, err := w.f.board.Progress(w.ctx(), g.agent.actor, g.handle, board.Note{Text: "n"})
	if w.lives("note", g, err) {
		if n.Edited != (g.spec != g.task.spec) {
			w.Fatalf("edited = %v, the worker knows version %d of %d", n.Edited, g.spec, g.task.spec)
		}
		g.spec = g.task.spec
	}
}

func (w *walker) ask() {
	g := pick(w, "grant", w.grants)
	q, err := w.f.board.Ask(w.ctx(), g.agent.actor, board.NewQuestion{Claim: g.handle, Text: "?"})
	if w.lives("ask", g, err) {
		w.asked = append(w.asked, &modelQuestion{id: q.ID, grant: g, open: true})
	}
}

func (w *walker) park() {
	q := pick(w, "question", w.asked)
	_, parked, err := w.f.board.Park(w.ctx(), q.grant.agent.actor, q.id)
	if !q.open || q.grant.task.status == board.Done {
		if err != nil || parked {
			w.Fatalf("park of a closed question, or of one whose task is done = %v, %v, want false", parked, err)
		}
		return
	}
	if w.lives("park", q.grant, err) {
		w.end(q.grant.task, board.CauseParked)
		q.grant.task.status = board.Waiting
	}
}

func (w *walker) answer() {
	q := pick(w, "question", w.asked)
	_, err := w.f.board.Answer(w.ctx(), ada, q.id, "a")
	if !q.open {
		w.want("answer", err, board.ErrConflict)
		return
	}
	w.want("answer", err, nil)
	w.answered(q)
}

func (w *walker) timePasses() {
	t := pick(w, "task", w.tasks)
	switch {
	case t.claim != nil:
		w.f.expireLease(t.id)
		t.expired = true
	case t.reviewer != nil:
		w.f.expireReview(t.id)
		t.expired = true
	case t.cooling:
		w.f.endCooldown(t.id)
		t.cooled = true
	default:
		w.Skip("nothing to wait for")
	}
}

func (w *walker) sweepNow() {
	w.f.sweep()
	w.sweep()
}

func (w *walker) renew() {
	a := pick(w, "agent", w.agents)
	_, err := w.f.board.Renew(w.ctx(), a.actor.Owner, false)
	w.want("renew", err, nil)
	if g := w.holds(a); g != nil {
		g.task.expired = false
	}
	for _, t := range w.tasks { // in the order of their numbers
		if t.attempts == 0 {
			continue
		}
		if i := slices.IndexFunc(w.grants, func(g *modelGrant) bool { return g.task == t && g.handle.Attempt == t.attempts }); w.grants[i].agent == a {
			w.revive(w.grants[i])
		}
	}
	if t := w.reviews(a); t != nil {
		t.expired = false
	}
}

func (w *walker) release() {
	t := pick(w, "task", w.tasks)
	_, err := w.f.board.Release(w.ctx(), ada, t.id, "r")
	switch {
	case t.claim != nil:
		w.end(t, board.CauseReleased)
		t.status = board.Pending
	case t.reviewer != nil:
		t.endReview()
	case t.status == board.Pending && t.cooling:
		t.cooling, t.cooled, t.reserved = false, false, nil
	default:
		w.want("release", err, board.ErrConflict)
		return
	}
	w.want("release", err, nil)
}

func (w *walker) cancelOne() {
	t := pick(w, "task", w.tasks)
	how := pick(w, "dependents", []board.Dependents{board.DependentsKeep, board.DependentsUnblock, board.DependentsCancel})
	_, err := w.f.board.Cancel(w.ctx(), ada, t.id, "c", how)
	if t.status.Terminal() {
		w.want("cancel", err, board.ErrConflict)
		return
	}
	if w.keeps("cancel", t, how == board.DependentsCancel, err) {
		return
	}
	w.want("cancel", err, nil)
	w.cancel(t, how)
}

func (w *walker) markDone() {
	t := pick(w, "task", w.tasks)
	_, err := w.f.board.MarkDone(w.ctx(), ada, t.id, "m", true)
	if t.status.Terminal() {
		w.want("mark done", err, board.ErrConflict)
		return
	}
	if w.keeps("mark done", t, false, err) {
		return
	}
	w.want("mark done", err, nil)
	if t.claim != nil {
		w.end(t, board.CauseClosed)
	}
	w.finish(t, board.Done, false)
}

func (w *walker) edit() {
	t := pick(w, "task", w.tasks)
	text := fmt.Sprint("version ", t.spec+1)
	hold := rapid.Bool().Draw(w.T, "hold")
	e := board.Edit{Hold: &hold}
	if respec := rapid.Bool().Draw(w.T, "other text"); respec {
		e.Description = &text
	}
	_, err := w.f.board.Update(w.ctx(), ada, t.id, e)
	if t.status.Terminal() || (t.status == board.InReview || t.status == board.Landing) && (e.Description != nil || hold) {
		w.want("edit", err, board.ErrConflict)
		return
	}
	w.want("edit", err, nil)
	if e.Description != nil {
		t.spec++
	}
	started := t.hold && !hold
	if t.hold = hold; started {
		t.queued = w.step
		w.free(t)
	}
}

func (w *walker) relink() {
	t := pick(w, "task", w.tasks)
	own := w.some("blocker")
	list := idsOf(own)
	_, err := w.f.board.Update(w.ctx(), ada, t.id, board.Edit{DependsOn: &list})
	holdsUp := func(d *modelTask) bool { return d.status != board.Done && !slices.Contains(t.deps, d) }
	if t.status.Terminal() || t.status == board.Landing || t.status == board.InReview && slices.ContainsFunc(own, holdsUp) {
		w.want("relink", err, board.ErrConflict)
		return
	}
	before := make([]modelTask, len(w.tasks))
	for i, t := range w.tasks {
		before[i] = *t
	}
	old := slices.DeleteFunc(slices.Clone(t.deps), func(d *modelTask) bool { return slices.Contains(t.inherits, d) })
	changed := len(own) != len(old) || slices.ContainsFunc(own, func(d *modelTask) bool { return !slices.Contains(old, d) })
	t.inherits = slices.DeleteFunc(slices.Clone(t.inherits), func(d *modelTask) bool { return slices.Contains(own, d) })
	t.deps = slices.Concat(own, t.inherits)
	if changed {
		w.inherit(t)
		w.bequeath(t)
	}
	if w.cyclic() {
		for i, t := range w.tasks {
			*t = before[i]
		}
		w.want("relink", err, board.ErrConflict)
		return
	}
	w.want("relink", err, nil)
	if changed {
		w.free(t)
	}
}
