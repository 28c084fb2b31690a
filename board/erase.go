package board

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Erased stands in place of a text that was erased.
const Erased = "[erased]"

// An Erasure says who erased the content of an event, when, and why.
type Erasure struct {
	By     string
	At     time.Time
	Reason string
}

// Erase erases what people and agents wrote in a task that is over: its texts, its result,
// its questions and their answers, reasons, places, and the content of its events. What
// happened when, and who did it, stays. Only people may.
func (b *Board) Erase(ctx context.Context, a Actor, id ID, reason string) (out Task, err error) {
	err = b.change(ctx, a, func(c *change) error {
		e, err := c.erasure(id, reason)
		if err != nil {
			return err
		}
		t := c.tasks[id]
		if !t.Status.Terminal() {
			return conflict("%v is %s: only a task that is done or cancelled is erased as a whole", id, t.State())
		}
		if err := c.eraseAll(t, e); err != nil {
			return err
		}
		c.event(t, EventErased, t.Status, Detail{Text: reason, Fields: []string{"task"}, By: a.Kind()})
		out = *t
		return nil
	})
	return out, err
}

// Redact erases the content of one event of a task, and what repeats it: a question or its
// answer, a result, the reason of an attempt, and what is kept of the contents of calls through the gateway.
// Only people may.
func (b *Board) Redact(ctx context.Context, a Actor, id ID, seq int64, reason string) error {
	return b.change(ctx, a, func(c *change) error {
		e, err := c.erasure(id, reason)
		if err != nil {
			return err
		}
		t := c.tasks[id]
		found, err := c.tx.Events(id, seq-1, 1)
		if err != nil {
			return err
		}
		if len(found) == 0 || found[0].Seq != seq {
			return fmt.Errorf("%w: %v has no event %d", ErrNotFound, id, seq)
		}
		if err := c.redact(t, found[0], e); err != nil {
			return err
		}
		// What was passed to other servers may say the same. Which steps were taken stays: they
		// are not taken twice.
		if err := c.tx.EraseCalls(id, false); err != nil {
			return err
		}
		c.event(t, EventErased, t.Status, Detail{Text: reason, Fields: []string{fmt.Sprintf("event %d", seq)}, By: a.Kind()})
		return nil
	})
}

// erasure locks a task that a person erases something of.
func (c *change) erasure(id ID, reason string) (Erasure, error) {
	if !c.actor.Person {
		return Erasure{}, denied("only a person may erase")
	}
	if strings.TrimSpace(reason) == "" {
		return Erasure{}, invalid("say why: the reason stays in the task's history")
	}
	if err := checkTexts(text{"reason", reason, 400}); err != nil {
		return Erasure{}, err
	}
	err := c.lock(id)
	return Erasure{By: c.actor.String(), At: c.now, Reason: reason}, err
}

// eraseAll erases all content of a locked task.
func (c *change) eraseAll(t *Task, e Erasure) error {
	d, err := c.tx.Dossier(t.ID, 0)
	if err != nil {
		return err
	}
	titles := []string{t.Title}
	t.Title, t.Areas = Erased, nil
	doc := Doc{}
	if d.Doc.Result != nil {
		doc.Result = d.Doc.Result.erased()
	}
	if err := c.tx.PutDoc(t.ID, doc); err != nil {
		return err
	}
	for _, a := range d.Attempts {
		if err := c.eraseAttempt(a); err != nil {
			return err
		}
	}
	if err := c.tx.EraseRuns(t.ID); err != nil {
		return err
	}
	if err := c.tx.EraseCalls(t.ID, true); err != nil {
		return err
	}
	for _, q := range d.Questions {
		if err := c.tx.EraseQuestion(q.erased(true, true)); err != nil {
			return err
		}
	}
	for after := int64(0); ; {
		page, err := c.tx.Events(t.ID, after, exportPage)
		if err != nil {
			return err
		}
		for _, event := range page {
			after = event.Seq
			if event.Kind == EventCreated {
				titles = append(titles, event.Detail.Text)
			}
			if event.Detail.Was != nil {
				titles = append(titles, event.Detail.Was.Title)
			}
			if err := c.eraseEvent(event, e); err != nil {
				return err
			}
		}
		if len(page) < exportPage {
			break
		}
	}
	for _, title := range titles {
		if title == "" || title == Erased {
			continue
		}
		// The answers of plans have the titles of their tasks.
		if err := c.tx.EraseAnswers(encode(title), encode(Erased)); err != nil {
			return err
		}
	}
	return nil
}

// redact erases the content of one event of a locked task.
func (c *change) redact(t *Task, event Event, e Erasure) error {
	d := event.Detail
	switch event.Kind {
	case EventErased, EventImported:
		return conflict("event %d of %v has nothing to erase", event.Seq, t.ID)
	case EventCreated:
		if d.Text == t.Title && d.Text != Erased {
			return conflict("event %d of %v has its title: change that first, and erase this event and that of the change", event.Seq, t.ID)
		}
	case EventAsked, EventAnswered, EventWithdrawn:
		q, err := c.tx.Question(d.Question)
		if err != nil {
			return err
		}
		if q.State == QuestionOpen {
			return conflict("%v is open: answer it first", q.ID)
		}
		if err := c.tx.EraseQuestion(q.erased(event.Kind == EventAsked, event.Kind == EventAnswered)); err != nil {
			return err
		}
	case EventDone, EventReview, EventLanding, EventClosed:
		doc, err := c.tx.Doc(t.ID)
		if err != nil {
			return err
		}
		if doc.Result != nil {
			doc.Result = doc.Result.erased()
			if err := c.tx.PutDoc(t.ID, doc); err != nil {
				return err
			}
		}
	}
	if d.Attempt > 0 {
		a, err := c.tx.Attempt(t.ID, d.Attempt)
		if err != nil && !errors.Is(err, ErrNotFound) { // an import may not have brought it
			return err
		}
		if err == nil && !a.EndedAt.IsZero() && event.Kind != EventNote {
			if err := c.eraseAttempt(a); err != nil {
				return err
			}
		}
	}
	return c.eraseEvent(event, e)
}

// eraseEvent erases the content of an event. What the rules need of it stays.
func (c *change) eraseEvent(event Event, e Erasure) error {
	if event.Detail.Erased != nil || event.Kind == EventErased {
		return nil
	}
	d := &event.Detail
	if d.Text != "" && event.Kind != EventImported { // whose text says which task it was
		d.Text = Erased
	}
	d.Where, d.Was, d.Prior, d.Why, d.Run, d.Comments, d.Returned = Where{}, nil, "", "", "", nil, nil
	d.Erased = &e
	return c.tx.EraseEvent(event)
}

// eraseAttempt erases the texts of an attempt. A repeated report is still recognized.
func (c *change) eraseAttempt(a Attempt) error {
	if a.Reason != "" {
		a.Reason = Erased
	}
	a.DoNotRepeat, a.Where = "", Where{}
	if a.ReportAnswer != "" {
		a.ReportAnswer = encode(Outcome{})
	}
	return c.tx.UpdateAttempt(a)
}

// erased returns a result without its content.
func (r *Result) erased() *Result { return &Result{Summary: Erased, Worker: r.Worker} }

// erased returns a question without its text, its answer, or both.
func (q Question) erased(text, answer bool) Question {
	if text {
		q.Text, q.Options, q.Default = Erased, nil, ""
	}
	if answer && q.Answer != "" {
		q.Answer = Erased
	}
	return q
}
