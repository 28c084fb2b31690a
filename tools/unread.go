package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// reportedBut begins the note of a report that was not recorded.
const reportedBut = "reported done, but "

// readAnswers refuses a report of done, once, if somebody has answered a question of the task and the worker was not shown
// the answer: it was reported without the decision. Under PolicyTrust, and over HTTP, where another replica may have shown
// the answer, that holds for questions that only people may answer.
func (t *Tools) readAnswers(ctx context.Context, k *caller, h board.Handle, summary string) error {
	d, err := t.b.Get(ctx, h.Task, 100)
	if err != nil || !mayBeAccepted(d, h) {
		return err
	}
	last := d.Attempts[len(d.Attempts)-1]
	if !t.piped() && (last.Cause != "" || last.SpecVersion != d.Task.SpecVersion) {
		return nil // no note can keep that it was shown; it comes with the answer to the report
	}
	unread := slices.DeleteFunc(slices.Clone(d.Questions), func(q board.Question) bool {
		return q.ByDefault() || q.State != board.QuestionAnswered || q.Claim != h && !q.AnsweredAt.After(last.GrantedAt) || noteShowed(d.Events, h, q)
	})
	if slices.ContainsFunc(unread, func(q board.Question) bool { return !q.HumanOnly }) {
		p, err := t.b.Project(ctx, h.Task.Project)
		if err != nil {
			return err
		}
		if p.Policy == board.PolicyTrust || t.o.Inspector == nil && !t.piped() {
			unread = slices.DeleteFunc(unread, func(q board.Question) bool { return !q.HumanOnly })
		}
	}
	unread = t.unseen(h, t.unsettled(unread))
	if len(unread) == 0 {
		return nil
	}
	var lines, ids []string
	for _, q := range unread {
		lines = append(lines, fmt.Sprintf("%v %s: %s.", q.ID, answeredBy(q), answered(q)))
		ids = append(ids, q.ID.String())
	}
	for _, id := range ids { // a process that ends with this call does not know it the next time
		t.trace(ctx, k.Actor, h, summary, answerCame(id))
	}
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "unread", err: board.ErrConflict,
		why:  "You have not seen this answer yet. " + strings.Join(lines, " "),
		next: "Next: if your work follows it, " + repeat() + "; otherwise go on with the task.",
	}
}

// readWords refuses to accept work, once, if a person has commented on it, or somebody has answered a question about it that
// its worker went on without, since the review was handed out, or at all, if it was not: the reviewer may not have seen that.
func (t *Tools) readWords(k *caller, h board.Handle, d board.Dossier) error {
	if d.Task.Status != board.InReview || k.Person {
		return nil
	}
	reviewer := fmt.Sprintf("%s %v %v", k.Principal, d.Task.ID, h)
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.commented[reviewer]
	var lines []string
	reported := d.Attempts[len(d.Attempts)-1].EndedAt
	for _, e := range d.Events {
		handed := d.Review != nil && d.Review.Handle == h && !e.At.After(d.Review.GrantedAt)
		if e.Seq <= last || handed {
			continue
		}
		switch n := slices.IndexFunc(d.Questions, func(q board.Question) bool { return q.ID == e.Detail.Question }); {
		case e.Kind == board.EventCommented && e.Detail.By == board.ByPerson && e.Detail.Attempt == d.Task.Attempt:
			lines = append(lines, fmt.Sprintf("%s commented: %s.", capital(eventAuthor(e)), decided(d.Task.ID, e.Detail.Text)))
		case e.Kind == board.EventAnswered && n >= 0 && !d.Questions[n].ByDefault() && e.At.After(reported):
			q := d.Questions[n]
			lines = append(lines, fmt.Sprintf("The worker had asked %s, and went on without the answer. %v %s: %s.", inline(q.Text, 300), q.ID, answeredBy(q), answered(q)))
		default:
			continue
		}
		t.commented[reviewer] = e.Seq
	}
	if len(lines) == 0 {
		return nil
	}
	return &refusal{
		what: "Not reviewed.", state: fmt.Sprintf("%v is still in review.", d.Task.ID), code: "unread", err: board.ErrConflict,
		why:  "You may not have seen this yet. " + strings.Join(lines, " "),
		next: "Next: if the work is good all the same, " + repeat() + "; otherwise reject it.",
	}
}

// unsettled returns the questions that are not in settled.
func (t *Tools) unsettled(list []board.Question) []board.Question {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(list, func(q board.Question) bool { return slices.Contains(t.settled, q.ID) })
}

// noteShowed reports whether the holder of a claim was shown an answer with a note of its own, or with a
// report that was not recorded because of it.
func noteShowed(events []board.Event, h board.Handle, q board.Question) bool {
	return slices.ContainsFunc(events, func(e board.Event) bool {
		if e.Kind != board.EventNote || e.Detail.Attempt != h.Attempt || e.Detail.Nonce != h.Nonce || e.At.Before(q.AnsweredAt) {
			return false
		}
		report, ok := strings.CutPrefix(e.Detail.Text, reportedBut)
		return !ok || strings.HasPrefix(report, answerCame(q.ID.String())+": ")
	})
}

// answerCame says why a report was not recorded.
func answerCame(id string) string { return "its worker had not read the answer to " + id }
