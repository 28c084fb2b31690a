package webtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// finale makes the last minutes: everybody is at work, and several things need people. The
// clock only goes forward: a store's never goes back.
func (f *filler) finale() {
	f.clock.behind = 20 * time.Minute
	for _, i := range []int{0, 4, 7} { // work that waits for its review
		if w := f.workers[i]; w.handout != nil {
			f.done(w)
			w.handout = nil
		}
	}
	f.clock.behind = 14 * time.Minute
	for _, w := range f.workers {
		w.dead = false
		if w.handout == nil {
			f.take(w)
		}
	}
	for _, i := range []int{0, 4} { // something waits for its review at any time of the day
		if w := f.workers[i]; w.handout != nil {
			f.done(w)
			w.handout = nil
			f.take(w)
		}
	}
	for i, w := range f.workers {
		if w.handout != nil {
			f.scene(i, w)
		}
	}
	f.clock.behind = 4 * time.Minute
	if w := f.workers[1]; w.handout != nil {
		f.permit(w, "Bash", "npx prisma migrate deploy", "Bash(npx prisma *)")
	}
	lander := board.Actor{Principal: "key:lander", Owner: "p-lander", Name: "build1"}
	note := &board.LandNote{Doing: "checks 2 tasks together"}
	if q, err := f.b.Line(f.ctx, "shop"); f.check(err) && len(q.Queue) > 0 {
		note.Waits = []board.LandWait{{Task: q.Queue[0].Task.ID, ForPeople: true, Why: "it conflicts for the third time, in src/product/price.ts"}}
	}
	_, err := f.b.Lead(f.ctx, lander, board.Lease{Project: "shop", Target: "main", Holder: "bossman on build1 (process 214)", Nonce: f.lander.Nonce, Note: note})
	f.check(err)
	for i, w := range f.workers {
		f.clock.behind = time.Duration(48-4*i) * time.Second
		f.present(i, w)
	}
	f.clock.behind = -10 * time.Minute // the lander still lives when a slow test looks
	_, err = f.b.Lead(f.ctx, lander, board.Lease{Project: "shop", Target: "main", Holder: "bossman on build1 (process 214)", Nonce: f.lander.Nonce})
	f.check(err)
	f.clock.behind = 0
	f.idle()
}

// scene lets a worker do what a picture should show, some minutes ago.
func (f *filler) scene(i int, w *worker) {
	h := w.handout.Claim.Handle
	switch i {
	case 0:
		f.askFor(w, "yes, for this task", "npm test")
	case 2:
		f.decision(w, board.NewQuestion{
			Claim: h, Text: "When a guest with items in the cart signs in, and the account has a cart too: which one wins?\n\nThe old shop dropped the guest's cart. Tests exist for none of the three. Merging can exceed stock; I would then cap the quantity and say so.",
			Options: []string{"Merge both", "Guest's cart wins", "Account's cart wins"}, Default: "Merge both", Within: 40 * time.Minute,
		})
	case 3:
		f.permit(w, "Bash", "npm test", "")
	case 5:
		_, err := f.b.Fail(f.ctx, w.actor, h, board.Failure{Kind: board.FailWrongSpec, Reason: "the description contradicts itself: it asks for an import of 2019's orders and forbids to read the old database, which alone has them", Where: w.where})
		f.check(err)
		w.handout = nil
		f.take(w)
	case 7:
		f.decision(w, board.NewQuestion{
			Claim: h, Text: "Two tasks change src/product/price.ts in opposite directions. Which one goes first?", HumanOnly: true,
			Options: []string{"The one that adds the country", "The one that removes formatPrice", "Make one task of both"}, Within: time.Minute,
		})
	}
}

// silentWorker is the one that has said nothing for some minutes.
const silentWorker = 6

// present lets a worker be at work now.
func (f *filler) present(i int, w *worker) {
	if w.handout == nil {
		return
	}
	h := w.handout.Claim.Handle
	w.cost = .05 + f.rand.Float64()*3
	run := board.Run{Claim: h, Agent: w.agent, Model: w.model, Session: "s" + h.Nonce, Priced: true, Cost: int64(w.cost * 1e6), Tokens: board.Tokens{In: 812_000, Out: 31_000, Cached: 640_000}}
	if w.agent == "opencode" {
		run.Cost = 0
	}
	part := f.log(w, 60)
	if i == silentWorker {
		part = f.logUntil(w, 30, 9*time.Minute)
	}
	f.check(f.b.Record(f.ctx, w.actor, run, part))
	if i != silentWorker {
		_, err := f.b.Renew(f.ctx, w.actor.Owner, true)
		f.check(err)
		f.note(w)
	}
}

func (f *filler) decision(w *worker, n board.NewQuestion) {
	_, err := f.b.Ask(f.ctx, w.actor, n)
	f.check(err)
}

// permit asks for a permission, in the words of bossman work.
func (f *filler) permit(w *worker, tool, use, rule string) {
	text := fmt.Sprintf("May %s use %s?\n  | %s", w.agent, tool, strings.ReplaceAll(use, "\n", "\n  | "))
	if rule != "" {
		text += "\nFor this task that is:\n  | " + rule
	}
	f.decision(w, board.NewQuestion{Claim: w.handout.Claim.Handle, Text: text, Options: []string{"yes", "yes, for this task", "no"}, HumanOnly: true})
}

// askFor asks for a permission that a person answers.
func (f *filler) askFor(w *worker, answer, use string) {
	text := fmt.Sprintf("May %s use Bash?\n  | %s", w.agent, use)
	q, err := f.b.Ask(f.ctx, w.actor, board.NewQuestion{Claim: w.handout.Claim.Handle, Text: text, Options: []string{"yes", "yes, for this task", "no"}, HumanOnly: true})
	if f.check(err) {
		_, err = f.b.Answer(f.ctx, Ada, q.ID, answer)
		f.check(err)
	}
}

// idle lets one more agent be seen, which gets no task.
func (f *filler) idle() {
	w := f.workers[len(f.workers)-1]
	if w.handout == nil {
		return
	}
	f.done(w)
	w.handout = nil
}

// log is what an agent did in the last minutes.
func (f *filler) log(w *worker, entries int) board.LogPart {
	return f.logUntil(w, entries, 5*time.Second)
}

// logUntil is log for an agent that fell silent some time ago.
func (f *filler) logUntil(w *worker, entries int, ended time.Duration) board.LogPart {
	var b strings.Builder
	times := make([]time.Time, entries)
	at := f.clock.Now().Add(-ended)
	for i := range entries {
		times[entries-1-i] = at
		at = at.Add(-time.Duration(1+f.rand.IntN(6)*f.rand.IntN(8)) * time.Second)
	}
	for _, at := range times {
		fmt.Fprintf(&b, "%s %s\n", at.UTC().Format(time.RFC3339), calls[f.rand.IntN(len(calls))])
	}
	w.lines++
	return board.LogPart{No: w.lines, Text: b.String()}
}

var calls = []string{
	"calls Edit: src/product/StockBadge.tsx", "calls Bash: npm test -- cart", "calls Read: internal/tax/rounding.go", "calls Bash: go test ./orders/...",
	"calls Edit: content/alt/shoes-0417.json", "calls Grep: formatPrice", "calls Bash: npx tsc --noEmit", "calls Write: src/cart/merge.test.ts",
	"calls Read: docs/checkout.md", "calls Bash: make check", "| The rounding happens per order; it has to happen per line.",
}

var notes = []string{
	"The failing test is in place; the fix follows.", "Found the cause: the total is rounded twice.", "Half of the call sites are converted.",
	"Waiting for a slow build.", "Refactored the formatter; 31 tests left.",
}

var summaries = []string{
	"Moved the call behind a queue; the page no longer waits for it. Two tests.", "One formatter for all; the old one is gone from 31 files.",
	"The total is rounded once, per line. The three failing examples are tests now.", "Added the missing index and a test that fails without it.",
}

var asked = []struct {
	text    string
	options []string
}{
	{"Is 49 € with or without tax?", []string{"With tax.", "Without tax."}},
	{"May I add the dependency papaparse?", []string{"No. Use encoding/csv on the server.", "Yes."}},
	{"Sort sizes by number or by stock?", []string{"By number.", "By stock."}},
	{"Should the old URL redirect or answer 410?", []string{"Redirect.", "410."}},
}
