// Package webtest fills a board with a realistic day, for tests and pictures of package web:
// three projects, twelve agents of four makers, about 200 tasks, costs, questions,
// permissions, reviews with diffs, failures and landings. All of it is written through the
// methods of a real board.
package webtest

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A Clock is the clock of a board that is being filled: the past passes quickly.
type Clock struct{ behind time.Duration }

// Now returns the time. It is meant for the options of a store.
func (c *Clock) Now() time.Time { return time.Now().Add(-c.behind) }

// step is how far the clock moves between two rounds.
const step = 5 * time.Minute

// Ada is the person who leads the projects of a filled board.
var Ada = board.Actor{Principal: "key:ada", Owner: "key:ada", Name: "Ada Lindqvist", Person: true}

// projects are the projects, in the order of their size.
var projects = []board.Project{
	{Slug: "shop", Name: "Web shop", Policy: board.PolicyPerson, Lease: 30 * time.Minute},
	{Slug: "api", Name: "Shop API", Policy: board.PolicyEvidence, Lease: 30 * time.Minute},
	{Slug: "warehouse", Name: "Warehouse", Policy: board.PolicyEvidence, Lease: 30 * time.Minute},
}

// A worker is one of the agents.
type worker struct {
	actor   board.Actor
	client  string // its program, as it names itself
	agent   string // its name for bossman work
	model   string
	where   board.Where
	name    string
	handout *board.Handout
	ends    time.Time
	cost    float64
	lines   int64
	dead    bool
	lost    board.ID // the task that it had when it died
	project string
}

// A filler fills a board.
type filler struct {
	ctx     context.Context
	b       *board.Board
	clock   *Clock
	rand    *rand.Rand
	workers []*worker
	lander  board.Lease
	head    string
	lands   int // rounds of landing
	ends    int // attempts that have ended
	err     error
}

// Fill fills an empty board with a day that ends now. The board's store must use the clock,
// and nothing else may write to the board meanwhile.
func Fill(ctx context.Context, b *board.Board, c *Clock) error {
	f := &filler{ctx: ctx, b: b, clock: c, rand: rand.New(rand.NewPCG(7, 7)), head: commit(0)}
	c.behind = 24*time.Hour + 10*time.Minute
	for _, p := range projects {
		f.check(b.SetProject(ctx, p))
	}
	f.check(b.SetLand(ctx, Ada, "shop", "main"))
	f.createTasks()
	f.hire()
	for c.behind > 21*time.Minute && f.err == nil {
		f.round(c.behind > 3*time.Hour)
		c.behind -= step
	}
	f.finale()
	c.behind = 0
	return f.err
}

func (f *filler) check(err error) bool {
	if err != nil && f.err == nil {
		f.err = err
	}
	return err == nil
}

// commit is the name of a commit.
func commit(n int) string {
	return fmt.Sprintf("%x", sha1.Sum([]byte{byte(n), byte(n >> 8), byte(n >> 16)}))
}

// createTasks creates the tasks of the first day, with dependencies and parts.
func (f *filler) createTasks() {
	for _, p := range projects {
		titles := titlesOf[p.Slug]
		var ids []board.ID
		for i, title := range titles {
			n := board.NewTask{
				Project: p.Slug, Title: title, Description: describe(title, i), Acceptance: "The check passes, and a test shows the new behaviour.",
				Priority: board.Normal,
			}
			switch {
			case i%17 == 3:
				n.Priority = board.High
			case i%13 == 5:
				n.Priority = board.Low
			}
			if i%6 == 4 && len(ids) > 2 {
				n.DependsOn = []board.ID{ids[len(ids)-1-f.rand.IntN(2)]}
			}
			if i%31 == 30 {
				n.Hold = true
			}
			t, _, err := f.b.Create(f.ctx, Ada, n, "")
			if !f.check(err) {
				return
			}
			ids = append(ids, t.ID)
		}
	}
}

// describe is the description of a task, in Markdown.
func describe(title string, i int) string {
	return fmt.Sprintf("%s. The customers' reports %d to %d name it.\n\n* Begin with `%s`.\n* Keep the public behaviour, except where the criteria say otherwise.\n\nSee https://tracker.example/%d for the history.",
		title, 400+i, 403+i, files[i%len(files)], 400+i)
}

// hire makes the agents known.
func (f *filler) hire() {
	for i := range 12 {
		m := crewOf[i*len(crewOf)/12]
		f.workers = append(f.workers, &worker{
			actor:   board.Actor{Principal: fmt.Sprintf("key:crew%d", i), Owner: fmt.Sprintf("p-crew%d", i)},
			project: map[bool]string{true: "shop", false: []string{"warehouse", "api"}[i%2]}[i < 8],
			client:  m.client, agent: m.agent, model: m.model,
			where: board.Where{Host: []string{"build1", "build2", "ada-laptop"}[i%3], Clone: "c1", Dir: fmt.Sprintf("/srv/shop.worktrees/slot-%d", i+1), Client: m.client},
		})
	}
}

var crewOf = []struct{ client, agent, model string }{
	{"claude-code", "claude", "claude-opus-4-5"},
	{"codex-mcp-client", "codex", "gpt-5.3-codex"},
	{"gemini-cli", "gemini", "gemini-3-pro"},
	{"opencode", "opencode", "qwen3-coder"},
}

// round is what happens in a few minutes.
func (f *filler) round(early bool) {
	now := f.clock.Now()
	busy := 3 + int(9*activity(f.clock.behind))
	for i, w := range f.workers {
		i = i * 5 % len(f.workers) // of all makers
		switch {
		case w.dead:
			if w.dead = now.Before(w.ends); !w.dead {
				if _, err := f.b.Release(f.ctx, Ada, w.lost, "it has said nothing for an hour"); !errors.Is(err, board.ErrConflict) && !errors.Is(err, board.ErrLeaseLost) { // its lease may have expired, and another worker may have the task
					f.check(err)
				}
			}
		case w.handout == nil:
			if i < busy {
				f.take(w)
			}
		case now.After(w.ends):
			f.end(w, early)
		default:
			_, err := f.b.Renew(f.ctx, w.actor.Owner, true)
			f.check(err)
			if f.rand.IntN(6) == 0 {
				f.note(w)
			}
		}
	}
	if f.clock.behind > 30*time.Minute {
		f.review()
	}
	f.land()
}

// activity is how busy the crew is so long ago, from 0 to 1. It does not depend on the hour in
// which the board is filled, so that every board is alike.
func activity(behind time.Duration) float64 {
	if behind < 9*time.Hour || behind > 19*time.Hour {
		return 1
	}
	return .2
}

// take gives a worker the next task.
func (f *filler) take(w *worker) {
	h, err := f.b.Next(f.ctx, w.actor, board.Wish{Worker: w.name, Projects: []string{w.project}, Where: w.where})
	if errors.Is(err, context.Canceled) {
		f.check(err)
	}
	if _, nothing := errors.AsType[*board.Nothing](err); nothing || err != nil {
		return
	}
	w.name, w.handout = h.Claim.Worker.Name, h
	w.actor.Worker = w.name
	w.where.Branch = "bossman/" + h.Task.ID.String()
	w.ends = f.clock.Now().Add(time.Duration(25+f.rand.IntN(100)) * time.Minute)
	w.cost, w.lines = 0, 0
	f.check(f.b.Record(f.ctx, w.actor, board.Run{Claim: h.Claim.Handle, Agent: w.agent, Model: w.model, Session: "s" + h.Claim.Nonce}))
}

func (f *filler) note(w *worker) {
	_, err := f.b.Progress(f.ctx, w.actor, w.handout.Claim.Handle, board.Note{Text: notes[f.rand.IntN(len(notes))], Percent: 20 + f.rand.IntN(60), Where: w.where})
	f.check(err)
}

// end lets a worker report: most often that it is done.
func (f *filler) end(w *worker, early bool) {
	h, now := w.handout.Claim.Handle, f.clock.Now()
	w.cost = .08 + f.rand.Float64()*1.9
	if w.agent == "opencode" {
		w.cost = 0
	}
	f.check(f.b.Record(f.ctx, w.actor, board.Run{
		Claim: h, Agent: w.agent, Model: w.model, Session: "s" + h.Nonce, Priced: true, Cost: int64(w.cost * 1e6),
		Tokens: board.Tokens{In: int64(w.cost * 3e5), Out: int64(w.cost * 2e4), Cached: int64(w.cost * 2e5)},
	}, f.log(w, 12)))
	dice := f.rand.IntN(40)
	f.ends++
	switch {
	case f.ends == 25 || f.ends == 80:
		w.dead, w.ends, w.lost = true, now.Add(50*time.Minute), h.Task // it dies, until a person takes the task back
	case dice == 1:
		f.fail(w, board.FailTooHard, "The module has no seam for a fake clock; every way I tried breaks the public API.")
	case dice == 2:
		f.fail(w, board.FailEnvironment, "npm install could not reach the registry for ten minutes.")
	case dice == 3 && early:
		f.ask(w)
	default:
		f.done(w)
	}
	w.handout = nil
}

func (f *filler) fail(w *worker, kind board.FailureKind, why string) {
	_, err := f.b.Fail(f.ctx, w.actor, w.handout.Claim.Handle, board.Failure{Kind: kind, Reason: why, Where: w.where})
	f.check(err)
}

// ask asks a question that a person answers at once, and then reports done.
func (f *filler) ask(w *worker) {
	x := asked[f.rand.IntN(len(asked))]
	q, err := f.b.Ask(f.ctx, w.actor, board.NewQuestion{Claim: w.handout.Claim.Handle, Text: x.text, Options: x.options, Default: x.options[0], Within: 30 * time.Minute})
	if f.check(err) {
		_, err = f.b.Answer(f.ctx, Ada, q.ID, x.options[f.rand.IntN(len(x.options))])
		f.check(err)
	}
	f.done(w)
}

// done reports a task as done, with evidence and a diff.
func (f *filler) done(w *worker) {
	id, n := w.handout.Task.ID, f.rand.IntN(1<<20)
	tip := board.Tip{Commit: commit(n), Tree: commit(n + 1), Base: commit(1)}
	r := board.Report{
		Summary:  summaries[int(id.No)%len(summaries)],
		Evidence: []board.Evidence{{Kind: board.EvidenceCommit, Ref: tip.Commit[:12]}, {Kind: board.EvidenceTests, Ref: "npm test", Detail: "214 passed, 0 failed"}},
		Observed: []board.Evidence{{Kind: board.EvidenceTests, Ref: "make check", Detail: "passed in 2:10"}, {Kind: board.EvidenceCommit, Ref: tip.Commit[:12]}},
		Where:    w.where, Tip: tip, Diff: diffOf(id, tip, f.rand),
	}
	_, err := f.b.Done(f.ctx, w.actor, w.handout.Claim.Handle, r)
	f.check(err)
}

// review decides about some of what is in review.
func (f *filler) review() {
	list, err := f.b.List(f.ctx, board.TaskFilter{Projects: []string{"shop"}, Statuses: []board.Status{board.InReview}})
	f.check(err)
	for _, t := range list {
		if f.rand.IntN(4) == 0 {
			continue
		}
		d := board.Decision{Verdict: board.Accept, Note: "Good."}
		if f.rand.IntN(9) == 0 {
			d = board.Decision{Verdict: board.Reject, Note: "The empty cart shows NaN.", Comments: []board.Comment{{File: "src/cart/total.ts", Line: 14, Text: "An empty list has no first element."}}}
		}
		_, err := f.b.Review(f.ctx, Ada, t.ID, d)
		f.check(err)
	}
}

// land lands what is queued, but for the newest.
func (f *filler) land() {
	lander := board.Actor{Principal: "key:lander", Owner: "p-lander", Name: "build1"}
	l, err := f.b.Lead(f.ctx, lander, board.Lease{Project: "shop", Target: "main", Holder: "bossman on build1 (process 214)"})
	if !f.check(err) {
		return
	}
	f.lander = l
	queue, err := f.b.Line(f.ctx, "shop")
	keep := 0
	if f.clock.behind < 2*time.Hour {
		keep = 3
	}
	if !f.check(err) || len(queue.Queue) <= keep {
		return
	}
	if f.lands++; f.lands%12 == 11 {
		f.sendBack(lander, l, queue.Queue[0])
		return
	}
	var items []board.Item
	for _, q := range queue.Queue[:len(queue.Queue)-keep] {
		items = append(items, board.Item{Task: q.Task.ID, Attempt: q.Task.Attempt, Tip: q.Tip.Commit})
	}
	to := commit(1_000_000 + f.rand.IntN(1<<20))
	in, err := f.b.BeginLand(f.ctx, lander, l, f.head, to, items)
	if f.check(err) {
		_, err = f.b.Landed(f.ctx, lander, l, in.ID, nil)
		f.check(err)
		f.head = to
	}
}

// sendBack takes a task out of the queue: it conflicts, or the check is red with it.
func (f *filler) sendBack(lander board.Actor, l board.Lease, q board.Queued) {
	r := board.Return{Kind: board.ReturnConflict, Attempt: q.Task.Attempt, Lease: l, Files: []string{"src/product/price.ts"}, Other: board.ID{Project: "shop", No: 1}, Target: f.head}
	if f.lands%24 > 12 {
		r = board.Return{Kind: board.ReturnRed, Attempt: q.Task.Attempt, Lease: l, Text: "coupon.test.ts: expected \"SPRING \" to be rejected"}
	}
	_, err := f.b.Return(f.ctx, lander, q.Task.ID, r)
	f.check(err)
}
