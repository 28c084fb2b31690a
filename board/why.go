package board

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Reason is why a task is not handed out. It states facts; which command or tool call
// helps is up to the caller that shows it.
type Reason struct {
	Code ReasonCode
	// Text is a sentence for people and models.
	Text string
	// Question is the open question that the task waits for; set for WhyQuestion only.
	Question QuestionID
}

// A ReasonCode is the kind of a reason.
type ReasonCode string

const (
	WhyReady     ReasonCode = "ready" // it can be handed out
	WhyBlocked   ReasonCode = "blocked"
	WhyParts     ReasonCode = "parts"
	WhyDraft     ReasonCode = "draft"
	WhyPaused    ReasonCode = "paused"
	WhySkills    ReasonCode = "skills"
	WhyLease     ReasonCode = "lease" // a worker holds it
	WhyBudget    ReasonCode = "budget"
	WhyCooling   ReasonCode = "cool_down"
	WhyReserved  ReasonCode = "reserved"
	WhyPolicy    ReasonCode = "policy"    // it is in review
	WhyReviewing ReasonCode = "reviewing" // a worker reviews it
	WhyLanding   ReasonCode = "landing"   // it waits for its landing
	WhyQuestion  ReasonCode = "question"
	WhyWrongSpec ReasonCode = "wrong_spec"
	WhyEnded     ReasonCode = "ended"
	WhyArchived  ReasonCode = "archived"
)

// Why explains why a task is not handed out. It returns every reason, the most important
// one first.
func (b *Board) Why(ctx context.Context, id ID) (d Dossier, reasons []Reason, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		p, err := b.project(r, id.Project)
		if err != nil {
			return err
		}
		if d, err = r.Dossier(id, 20); err != nil {
			return archived(r, err, id)
		}
		if err := d.addFirstEvents(r); err != nil {
			return err
		}
		if err := d.markKilled(r); err != nil {
			return err
		}
		workers, err := r.Workers(d.Now.Add(-time.Hour))
		if err != nil {
			return err
		}
		var parent Dossier
		if !d.Task.Parent.IsZero() && d.Task.OpenBlockers > 0 {
			if parent, err = r.Dossier(d.Task.Parent, 0); err != nil {
				return err
			}
		}
		if d.Task.Status == Landing {
			reasons, err = whyLanding(r, p, d)
			return err
		}
		reasons = why(p, d, parent.Blockers, len(workers))
		return nil
	})
	return d, reasons, err
}

// why returns the reasons. inherited are the tasks that its parent depends on, and workers is
// the number of workers seen in the last hour.
func why(p Project, d Dossier, inherited []Task, workers int) []Reason {
	t := d.Task
	var out []Reason
	add := func(code ReasonCode, format string, args ...any) {
		out = append(out, Reason{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	switch t.Status {
	case Done, Cancelled:
		add(WhyEnded, "It has ended: %s, %s.", t.Status, ago(d.Now, t.EndedAt))
		return out
	case InProgress:
		if d.Claim != nil {
			add(WhyLease, "%s", whyClaimed(t, *d.Claim, d.Now))
		}
		return out
	case InReview:
		if r := d.Review; r != nil && r.Killed {
			add(WhyReviewing, "%q reviewed it; its process was killed.", r.Worker.Name)
		} else if r != nil {
			add(WhyReviewing, "%q reviews it (claimed %s); its lease has %s left.", r.Worker.Name, ago(d.Now, r.GrantedAt), Span(r.LeaseUntil.Sub(d.Now)))
			return out
		}
		who := "a person's review"
		if p.Policy == PolicyReview {
			who = "a review by a lead who did not work on it, or by a person"
		}
		add(WhyPolicy, "It was reported done and waits for %s: the policy of %s is %q.", who, p.Slug, p.Policy)
		if t.OpenChildren > 0 { // an older program has added them
			add(WhyParts, "It cannot be accepted before its parts are done: %s.", openParts(d))
		}
		return out
	case Failed:
		if wrongSpec(d) {
			add(WhyWrongSpec, "The last worker reported that the spec is wrong: %s.", lastReason(d))
		} else {
			add(WhyBudget, "%d of %d attempts failed, the last: %s.", t.Failures, t.MaxFailures, lastReason(d))
		}
		return out
	case Waiting:
		for _, q := range d.Questions {
			if q.State == QuestionOpen && q.Blocking {
				late := ""
				if !q.NeededBy.IsZero() && d.Now.After(q.NeededBy) {
					late = ", overdue"
				}
				add(WhyQuestion, "It waits for an answer to %v, asked %s by %q%s: %q",
					q.ID, ago(d.Now, q.AskedAt), q.Asker.Name, late, oneLine(q.Text))
				out[len(out)-1].Question = q.ID
			}
		}
		return out
	}
	for _, b := range d.Blockers {
		waits := "It depends"
		if slices.ContainsFunc(inherited, func(t Task) bool { return t.ID == b.ID }) {
			waits = fmt.Sprintf("It is a part of %v, which depends", t.Parent)
		}
		switch b.Status {
		case Done:
		case Failed, Cancelled:
			add(WhyBlocked, "%s on %v (%q), which %s, so it stays blocked.", waits, b.ID, b.Title, endedWord(b.Status))
		default:
			add(WhyBlocked, "%s on %v (%q), which is %s.", waits, b.ID, b.Title, b.State())
		}
	}
	if t.OpenChildren > 0 {
		add(WhyParts, "%d of its parts are not done: %s.", t.OpenChildren, openParts(d))
	}
	if t.Hold {
		add(WhyDraft, "It is a draft: it is not handed out until somebody starts it.")
	}
	switch {
	case t.NotBefore.IsZero():
	case !t.ReservedFor.IsZero():
		add(WhyReserved, "It is reserved for %q, which asked about it, for another %s.", t.ReservedFor.Name, Span(t.NotBefore.Sub(d.Now)))
	default:
		add(WhyCooling, "It is cooling down for another %s after a failure: %s", Span(t.NotBefore.Sub(d.Now)), lastReason(d))
	}
	if p.PausedBy != "" {
		add(WhyPaused, "%s is paused by %q.", p.Slug, p.PausedBy)
	}
	if p.Archived {
		add(WhyArchived, "%s is archived.", p.Slug)
	}
	if len(out) == 0 {
		text := "It is ready: the next worker that asks can get it."
		if workers == 0 {
			text = "It is ready; no worker has asked in the last hour."
		}
		add(WhyReady, "%s", text)
		if len(t.Skills) > 0 {
			add(WhySkills, "Only a worker that declares %s gets it (or one that declares no skills).", quotedList(t.Skills))
		}
	}
	return out
}

// Obstacle returns the first reason why a pending task is handed out to nobody, not even to the
// worker that it is reserved for; nil if there is none.
func Obstacle(reasons []Reason) *Reason {
	for _, r := range reasons {
		switch r.Code {
		case WhyBlocked, WhyParts, WhyDraft, WhyPaused, WhyArchived:
			return &r
		}
	}
	return nil
}

// openParts names the parts of a task that are not done.
func openParts(d Dossier) string {
	var open []string
	for _, child := range d.Children {
		if !child.Status.Terminal() {
			open = append(open, fmt.Sprintf("%v (%s)", child.ID, child.State()))
		}
	}
	return strings.Join(open, ", ")
}

// whyClaimed says how the holder of a task is doing.
func whyClaimed(t Task, c Claim, now time.Time) string {
	name, left, silent := c.Worker.Name, c.LeaseUntil.Sub(now), c.Silent(now)
	switch {
	case c.Killed && t.Failures+1 >= t.MaxFailures:
		return fmt.Sprintf("%q had it (claim %v); its process was killed, and with that %d of %d attempts have failed.", name, c.Handle, t.Failures+1, t.MaxFailures)
	case c.Killed:
		return fmt.Sprintf("%q had it (claim %v); its process was killed, and the next worker that asks can get the task.", name, c.Handle)
	case left <= 0:
		return fmt.Sprintf("%q had it (claim %v); its lease expired %s and the next sweep frees the task.", name, c.Handle, ago(now, c.LeaseUntil))
	case c.Left:
		return fmt.Sprintf("%q has it (claim %v), but has disconnected; unless it comes back, the task is free in %s.", name, c.Handle, Span(left))
	case silent > 0 && c.InDir():
		return fmt.Sprintf("%q has it (claim %v, taken %s with bossman next), without a command for %s; no process holds it, and its lease has %s left.",
			name, c.Handle, ago(now, c.GrantedAt), Span(silent), Span(left))
	case silent > 0 && !connection(c.Worker.Principal, c.Owner).IsZero():
		return fmt.Sprintf("%q has it (claim %v, taken %s); its connection is open but silent, without a call for %s; its lease has %s left.",
			name, c.Handle, ago(now, c.GrantedAt), Span(silent), Span(left))
	case silent > 0:
		return fmt.Sprintf("%q has it (claim %v, taken %s), without a call for %s; its lease has %s left.",
			name, c.Handle, ago(now, c.GrantedAt), Span(silent), Span(left))
	}
	return fmt.Sprintf("%q works on it (claim %v, taken %s); its lease has %s left.", name, c.Handle, ago(now, c.GrantedAt), Span(left))
}

// wrongSpec reports whether a failed task has failed because of its spec: its last attempt
// failed, and the budget is not used up.
func wrongSpec(d Dossier) bool {
	return slices.ContainsFunc(d.Attempts, func(a Attempt) bool {
		return a.Attempt == d.Task.Attempt && a.Cause == CauseFailed
	}) && d.Task.Failures < d.Task.MaxFailures
}

// lastReason returns why the last attempt ended.
func lastReason(d Dossier) string {
	if len(d.Attempts) == 0 {
		return "unknown"
	}
	last := d.Attempts[len(d.Attempts)-1]
	switch last.Reason {
	case "":
		return string(last.Cause)
	case Killed:
		return Killed
	}
	return strconv.Quote(shorten(last.Reason, 400))
}

// endedWord returns a final status of a blocker as part of a sentence.
func endedWord(s Status) string {
	if s == Failed {
		return "has failed"
	}
	return "was cancelled"
}

// oneLine shortens a text to one line for a sentence.
func oneLine(s string) string { return shorten(s, 160) }

// shorten makes one line of a text, of at most n characters.
func shorten(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// quotedList joins texts of others, each in quotation marks.
func quotedList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = strconv.Quote(s)
	}
	return strings.Join(quoted, ", ")
}

// ago returns how long ago a time was, as people say it.
func ago(now, then time.Time) string {
	if then.IsZero() {
		return "some time"
	}
	return Span(now.Sub(then)) + " ago"
}

// Span returns a duration as people say it, such as 3 min.
func Span(d time.Duration) string {
	switch {
	case d < time.Second:
		return "a moment"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
