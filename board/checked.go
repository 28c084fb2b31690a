package board

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A CheckRun is a run of the project's check that did not confirm the work.
type CheckRun struct {
	// Command is the command that was run.
	Command string
	// Red is set if the check found a fault in the work. Otherwise it could not judge
	// the work: it could not be started, was killed or took too long.
	Red bool
	// Reason says what happened, such as "exit status 1".
	Reason string
	// Tail is the last part of the output.
	Tail string
	// Run identifies the run, which several reports may share; it counts once. Empty: it is
	// not known, and counts.
	Run string
	// Tree names the content that was checked, empty if that is not known.
	Tree string
}

const (
	// maxRed is the red check of an attempt that fails the attempt.
	maxRed = 5
	// maxUnjudged is how many checks in a row may fail to judge the work before people
	// are asked.
	maxUnjudged = 3
)

// CheckChat is the ChatID of the question that the board asks when a check cannot judge
// the work, or begins it: a space and the name of the content follow. The options are CheckAgain and
// CheckWaive.
const CheckChat = "check"

// isCheckChat reports whether a ChatID is that of such a question, and what content it is about;
// that is empty if it is not known.
func isCheckChat(id string) (tree string, is bool) {
	word, tree, _ := strings.Cut(id, " ")
	return tree, word == CheckChat
}

// The answers to the question of CheckChat.
const (
	CheckAgain = "Run the check again"
	CheckWaive = "Accept the work without the check"
)

// What became of a check that is not among the evidence of a report.
const (
	CheckNotAccepted = "not run (not accepted)"
	CheckWasWaived   = "not run (waived by a person)"
)

// A CheckOutcome is what a check that did not confirm the work led to.
type CheckOutcome struct {
	Task   ID
	Status Status // InProgress: the claim stays
	Worker string
	// Count is the number of red checks of the attempt, or of checks in a row that did
	// not judge the work; Limit is the number at which the claim ends.
	Count, Limit int
	// Failures is the number of failures of the task so far, MaxFailures the budget.
	Failures, MaxFailures int
	// Question is the question that was put to people, or zero.
	Question QuestionID
	// Late is set if the claim had ended before, and a report was still possible.
	Late bool
}

// Checked records that a check did not confirm the work of a claim, so that the report
// was refused. The claim stays; one that has ended stays so, and a report is as possible as
// before. The fifth red check of an attempt fails the attempt; the
// third check in a row that could not judge the work parks the task with a question to
// people, because that is not the worker's fault.
func (b *Board) Checked(ctx context.Context, a Actor, h Handle, r CheckRun) (CheckOutcome, error) {
	if err := checkTexts(text{"command", r.Command, maxText}, text{"reason", r.Reason, maxText}, text{"tail", r.Tail, maxText}, text{"run", r.Run, 100}, text{"tree", r.Tree, 100}); err != nil {
		return CheckOutcome{}, err
	}
	var out CheckOutcome
	err := b.change(ctx, a, func(c *change) error {
		if err := c.lockHeld(h); err != nil {
			return err
		}
		held, err := c.reporter(h)
		if err != nil {
			return c.keepNote(h, err, "the check did not pass: "+r.Reason)
		}
		t := held.task
		red, unjudged, counted, err := c.checks(t, r.Run)
		if err != nil {
			return err
		}
		if counted {
			red, unjudged = red-1, unjudged-1
		}
		kind := EventUnjudged
		out = CheckOutcome{
			Task: t.ID, Worker: held.attempt.Worker.Name, Count: unjudged + 1, Limit: maxUnjudged, MaxFailures: t.MaxFailures,
			Late: held.claim == nil,
		}
		if r.Red {
			kind, out.Count, out.Limit = EventRed, red+1, maxRed
		}
		detail := Detail{Attempt: t.Attempt, Nonce: t.Nonce, Worker: out.Worker, Text: r.Reason, Run: r.Run}
		if !counted {
			c.event(t, kind, t.Status, detail)
		}
		if out.Count < out.Limit || out.Late || counted { // an attempt does not end twice
			out.Status, out.Failures = t.Status, t.Failures
			return nil
		}
		from := t.Status
		if r.Red {
			detail.Text = fmt.Sprintf("the check was red %d times; the last: %s", maxRed, r.Reason)
			detail.Cause = CauseFailed
			held.attempt.Reason = detail.Text
			c.fail(t)
			c.event(t, EventFailed, from, detail)
		} else {
			detail.Cause = CauseParked
			t.Status = Waiting
			c.event(t, EventParked, from, detail)
			scope := ""
			if r.Tree == "" {
				scope = "\nOutside git files cannot be told apart: accepting the work holds for whatever is reported next."
			}
			q, err := c.ask(held, NewQuestion{
				ChatID: strings.TrimSpace(CheckChat + " " + r.Tree), Blocking: new(true), HumanOnly: true, Options: []string{CheckAgain, CheckWaive},
				Text: fmt.Sprintf("The check could not judge the work of %v %d times in a row: %s.%s\nThe command is: %s", t.ID, maxUnjudged, r.Reason, scope, r.Command),
			})
			if err != nil {
				return err
			}
			out.Question = q.ID
		}
		out.Status, out.Failures = t.Status, t.Failures
		return c.end(held, detail.Cause, detail.Text)
	})
	return out, err
}

// checkedEvents is how many of a task's last events are searched for its checks.
const checkedEvents = 1000

// checks counts the red checks of a task's newest attempt, and the checks in a row that did not judge
// the work, also of attempts before it that were given back. counted tells whether a run is among those of the attempt.
func (c *change) checks(t *Task, run string) (red, unjudged int, counted bool, err error) {
	events, err := c.tx.Events(t.ID, max(0, t.Seq-checkedEvents), checkedEvents)
	for _, e := range events {
		newest := e.Detail.Attempt == t.Attempt
		switch e.Kind {
		case EventRed:
			unjudged = 0
			if newest {
				red++
			}
		case EventUnjudged:
			unjudged++
		case EventDone, EventReview, EventLanding, EventFailed, EventExpired, EventParked:
			unjudged = 0
			continue
		default:
			continue
		}
		counted = counted || newest && run != "" && e.Detail.Run == run
	}
	return red, unjudged, counted, err
}

// CheckWaived reports whether a person has decided that the work is accepted without a
// check that cannot judge it. That holds for the work that was there: tree names it, or is empty
// if that is not known, as outside git. Once an attempt has
// reported success or failure after it, the next is other work.
func (d *Dossier) CheckWaived() (tree string, waived bool) {
	for _, q := range d.Questions {
		if of, is := isCheckChat(q.ChatID); is && q.HumanOnly && q.State == QuestionAnswered && q.AnsweredAs != ByImport {
			tree, waived = of, q.Answer == CheckWaive && !slices.ContainsFunc(d.Attempts, func(a Attempt) bool {
				return !a.GrantedAt.Before(q.AnsweredAt) && (a.Cause == CauseDone || a.Cause == CauseFailed)
			})
		}
	}
	return tree, waived
}

// checkWaiver refuses a report that says that a person has waived the check, if none has.
func (c *change) checkWaiver(t *Task, said string) (err error) {
	if said != CheckWasWaived {
		return nil
	}
	var d Dossier
	if d.Questions, err = c.tx.Questions(QuestionFilter{Task: t.ID}); err != nil {
		return err
	}
	for n := 1; n <= t.Attempt; n++ {
		a, err := c.tx.Attempt(t.ID, n)
		if err == nil {
			d.Attempts = append(d.Attempts, a)
		} else if !errors.Is(err, ErrNotFound) { // an import may have left it out
			return err
		}
	}
	if _, waived := d.CheckWaived(); !waived {
		return conflict("no person has waived the check of %v", t.ID)
	}
	return nil
}
