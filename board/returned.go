package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A ReturnKind is why a task is taken out of the landing queue.
type ReturnKind string

const (
	// ReturnConflict means that its work conflicts with what was landed since it began.
	ReturnConflict ReturnKind = "conflict"
	// ReturnRed means that the check is red with its work on top of the target. It is a failure.
	ReturnRed ReturnKind = "red"
	// ReturnClosed means that people closed its pull request without merging it.
	ReturnClosed ReturnKind = "closed"
	// ReturnAsked means that somebody wants it back.
	ReturnAsked ReturnKind = "returned"
)

// ReturnKinds are all kinds.
var ReturnKinds = []ReturnKind{ReturnConflict, ReturnRed, ReturnClosed, ReturnAsked}

const (
	// maxConflicts is the conflict of a task at which a person is asked.
	maxConflicts = 3
	// maxFiles is how many of the files in conflict are kept.
	maxFiles = 100
)

// A Return takes a task out of the landing queue.
type Return struct {
	Kind ReturnKind
	// Attempt is the attempt whose work was in the queue. Zero means whichever it is, for
	// ReturnAsked only.
	Attempt int
	// Lease is the lander's, for all kinds but ReturnAsked.
	Lease Lease
	// Text is for people and for the next worker: what the check or git said.
	Text string
	// Files are those in conflict.
	Files []string
	// Other is the task whose work it conflicts with, or zero, and Target the commit of the target
	// that was tried, in full, or empty.
	Other  ID
	Target string
}

// A Returned is what the next worker is told about a Return.
type Returned struct {
	Kind  ReturnKind
	Files []string
	// Tip is the commit of the work, and Target that of the target.
	Tip, Target string
	// Other is the task whose work it conflicts with, or zero; Title and Summary are that task's,
	// and OtherTip is its tip.
	Other                    ID
	Title, Summary, OtherTip string
}

// Return takes a task out of the landing queue, so that it is handed out again. Only ReturnRed counts
// a failure. At every third conflict of a task a person is asked first. It is refused while
// an open intent names the task.
func (b *Board) Return(ctx context.Context, a Actor, id ID, r Return) (Outcome, error) {
	if err := checkReturn(id, &r); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	err := b.change(ctx, a, func(c *change) error {
		if r.Kind != ReturnAsked {
			if err := c.tx.LockProject(id.Project); err != nil {
				return err
			}
			if _, err := c.leads(r.Lease); err != nil {
				return err
			}
			if target, err := ParseTarget(r.Lease.Target); r.Kind == ReturnClosed && (err != nil || target.Kind != TargetPR) {
				return invalid("%v has no pull request: it lands on %s", id, r.Lease.Target)
			}
		}
		if err := c.lock(id); err != nil {
			return err
		}
		t := c.tasks[id]
		if t.Status != Landing || r.Attempt != 0 && r.Attempt != t.Attempt {
			return conflict("%v is %s at attempt %d, and does not wait for the landing of attempt %d", id, t.State(), t.Attempt, cmp.Or(r.Attempt, t.Attempt))
		}
		if err := c.notInIntent(t); err != nil {
			return err
		}
		told, err := c.returned(t, r)
		if err != nil {
			return err
		}
		out = Outcome{Task: id, MaxFailures: t.MaxFailures}
		from, n, ask := t.Status, 0, false
		t.Status = Pending
		switch r.Kind {
		case ReturnRed:
			c.fail(t)
		case ReturnConflict:
			if n, err = c.conflicts(t); err != nil {
				return err
			}
			if ask = (n+1)%maxConflicts == 0; ask {
				t.Status = Waiting
			}
		}
		if err := c.cameBack(t, r.reason()); err != nil {
			return err
		}
		c.event(t, EventReturned, from, Detail{Attempt: t.Attempt, Nonce: t.Nonce, Text: r.Text, By: a.Kind(), Returned: told})
		if ask {
			if out.Question, err = c.askAboutConflicts(t, told, n+1); err != nil {
				return err
			}
		}
		out.Status, out.Failures = t.Status, t.Failures
		return nil
	})
	return out, err
}

// reason says why work came back.
func (r *Return) reason() string {
	text := map[ReturnKind]string{
		ReturnConflict: "a conflict on landing", ReturnRed: "red on landing", ReturnClosed: "its pull request was closed", ReturnAsked: "taken out of the landing queue",
	}[r.Kind]
	if r.Text != "" {
		text += ": " + r.Text
	}
	if len(r.Files) > 0 {
		text += ": " + strings.Join(r.Files[:min(len(r.Files), 10)], ", ")
	}
	return text
}

// cameBack notes with the newest attempt at a locked task why its work, which was reported done, is not accepted.
func (c *change) cameBack(t *Task, why string) error {
	a, err := c.tx.Attempt(t.ID, t.Attempt)
	if err != nil || a.Cause != CauseDone {
		return err
	}
	if a.Reason = why; len(why) > maxText {
		a.Reason = strings.ToValidUTF8(why[:maxText], "")
	}
	return c.tx.UpdateAttempt(a)
}

// returned is what the next worker of a locked task is told.
func (c *change) returned(t *Task, r Return) (*Returned, error) {
	told := &Returned{Kind: r.Kind, Files: r.Files, Target: r.Target}
	d, err := c.tx.Doc(t.ID)
	if err != nil {
		return nil, err
	}
	if d.Result != nil {
		told.Tip = d.Result.Tip.Commit
	}
	if r.Other.IsZero() {
		return told, nil
	}
	other, err := c.tx.Task(r.Other)
	if errors.Is(err, ErrNotFound) { // it was archived
		return told, nil
	}
	if err != nil {
		return nil, err
	}
	if d, err = c.tx.Doc(r.Other); err != nil {
		return nil, err
	}
	told.Other, told.Title = r.Other, other.Title
	if d.Result != nil {
		told.Summary, told.OtherTip = d.Result.Summary, d.Result.Tip.Commit
	}
	return told, nil
}

// conflicts counts the conflicts of a task so far.
func (c *change) conflicts(t *Task) (n int, err error) {
	events, err := c.tx.Events(t.ID, max(0, t.Seq-checkedEvents), checkedEvents)
	for _, e := range events {
		if r := e.Detail.Returned; e.Kind == EventReturned && r != nil && r.Kind == ReturnConflict && e.Detail.By != ByImport {
			n++
		}
	}
	return n, err
}

// askAboutConflicts asks people about a task that could not be landed several times.
func (c *change) askAboutConflicts(t *Task, r *Returned, n int) (QuestionID, error) {
	attempt, err := c.tx.Attempt(t.ID, t.Attempt)
	if err != nil {
		return 0, err
	}
	text := fmt.Sprintf("%d times the work of %v could not be landed because it conflicted with what was landed before it. How should it go on?", n, t.ID)
	if len(r.Files) > 0 {
		text += fmt.Sprintf("\nIn conflict: %s", quotedList(r.Files[:min(len(r.Files), 10)]))
	}
	if !r.Other.IsZero() {
		text += fmt.Sprintf("\nWith: %v, %q", r.Other, r.Title)
	}
	q, err := c.ask(&holding{task: t, attempt: attempt}, NewQuestion{Text: text, Blocking: new(true), HumanOnly: true})
	return q.ID, err
}

// checkReturn validates and normalizes a return.
func checkReturn(id ID, r *Return) error {
	if !slices.Contains(ReturnKinds, r.Kind) {
		return invalid("invalid kind of return %.20q: want one of %s", r.Kind, join(ReturnKinds))
	}
	if r.Kind != ReturnAsked && r.Attempt < 1 {
		return invalid("a return names the attempt whose work was tried")
	}
	if r.Target != "" && !ValidObject(r.Target) {
		return invalid("invalid target %.80q: want the full name of a commit", r.Target)
	}
	if r.Kind == ReturnRed && strings.TrimSpace(r.Text) == "" {
		r.Text = "the check is red with this work on top of the target"
	}
	r.Files = slices.Clone(r.Files[:min(len(r.Files), maxFiles)])
	for _, f := range r.Files {
		if err := checkTexts(text{"file", f, 4096}); err != nil {
			return err
		}
	}
	if r.Lease.Project != "" && r.Lease.Project != id.Project {
		return invalid("a lease for %s, and a task of %s", r.Lease.Project, id.Project)
	}
	return cmp.Or(checkTexts(text{"text", r.Text, maxText}), inside(id.Project, r.Other))
}
