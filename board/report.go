package board

import (
	"cmp"
	"context"
	"slices"
)

// A Report reports a task as done.
type Report struct {
	Summary string
	// Evidence is what the worker claims.
	Evidence []Evidence
	// Observed is evidence that Bossman has seen where the work is: pieces of Evidence
	// that it could confirm, and checks that it ran.
	Observed []Evidence
	// Check is what became of the project's check if it is not among Observed, such as
	// CheckNotAccepted. Empty: there is none, or it is.
	Check     string
	Artifacts []string
	// FollowUps are new tasks that turned out to be necessary. They are created as drafts.
	FollowUps []NewTask
	Where     Where
	// Tip is what the work is in git, zero if that is not known. NoChanges is set if the work
	// changed nothing there.
	Tip       Tip
	NoChanges bool
	// Includes is the work of other tasks that is in it and has not landed.
	Includes []Included `json:",omitzero"`
	// Loose is what lay about where the work is.
	Loose Loose `json:",omitzero"`
	// Diff is what the work changed, zero if that is not known.
	Diff Diff `json:",omitzero"`
	// Rules are the project's rules at the time when the work was looked at, nil if nobody looked. Done refuses the
	// report if the project has other rules by then.
	Rules *Rules `json:",omitzero"`
}

// A Failure reports that a task could not be done.
type Failure struct {
	Kind        FailureKind
	Reason      string
	DoNotRepeat string
	Where       Where
	// HumanOnly is set if only people may answer what FailBlocked asks.
	HumanOnly bool `json:",omitzero"`
}

// A FailureKind decides what happens to the task.
type FailureKind string

const (
	// FailBlocked puts the reason to people as a question, for which the task waits.
	FailBlocked FailureKind = "blocked"
	// FailTooHard returns the task for another worker. This one is not offered it for ten
	// minutes.
	FailTooHard FailureKind = "too_hard"
	// FailWrongSpec fails the task until a lead fixes its spec.
	FailWrongSpec FailureKind = "wrong_spec"
	// FailEnvironment retries the task after a cool-down.
	FailEnvironment FailureKind = "environment"
	// FailNotNow returns the task without counting a failure, unless the check was red in
	// this attempt: otherwise a task that nobody can do would be handed out forever. This
	// worker is not offered it for ten minutes.
	FailNotNow FailureKind = "not_now"
	FailOther  FailureKind = "other"
)

// FailureKinds are all kinds.
var FailureKinds = []FailureKind{FailBlocked, FailTooHard, FailWrongSpec, FailEnvironment, FailNotNow, FailOther}

// An Outcome is the result of a report or a review.
type Outcome struct {
	Task   ID
	Status Status
	Worker string
	// Freed are the tasks that became ready.
	Freed []ID
	// FollowUps are the tasks that the report created.
	FollowUps []ID
	// Failures is the number of failures so far, MaxFailures the budget.
	Failures, MaxFailures int
	// Red is the number of red checks of an attempt that was given back with FailNotNow.
	// If there was one, it has failed.
	Red int
	// Question is the question that was put to people, or zero.
	Question QuestionID
	// Unfinished names what is still open although a person has marked the task done.
	Unfinished *UnfinishedError `json:",omitzero"`
	// Again is set if the same report was made before; this is its answer.
	Again bool `json:"-"`
	// Late is set if the claim had ended, because its lease expired or its program left,
	// and the report was accepted nevertheless.
	Late bool
	// Edited is set if the spec has changed since the worker last got it.
	Edited bool
	// Answers are the questions that were answered since the claim was granted.
	Answers []Question `json:"-"`
}

// maxCreated is how many tasks can be created under one claim.
const maxCreated = 5

// Done reports a task as done. If its project lands its work, the task then waits for that. Done is
// idempotent: a repeated report gets the first answer again. If the claim has ended, the error is a *LostError, and the summary is kept as a
// note. If the spec has changed since the worker last got it, the error is an
// *EditedError, once; under PolicyTrust the Outcome says it instead. While a question of the
// task that only people may answer is open, the error is an *UnansweredError, and while its parts
// or tasks that it depends on are, an *UnfinishedError.
func (b *Board) Done(ctx context.Context, a Actor, h Handle, r Report) (Outcome, error) {
	if err := checkReport(&r); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	err := b.change(ctx, a, func(c *change) error {
		if err := c.tx.Ahead(Ahead{Family: h.Task, Claim: h, Ends: true, Doc: h.Task}); err != nil {
			return err
		}
		t, dependents, err := c.lockFamily(h.Task)
		if err != nil {
			return err
		}
		var again bool
		if out, again, err = c.repeated(h, "done", r); err != nil || again {
			return err
		}
		held, err := c.reporter(h)
		if err != nil {
			return c.keepNote(h, err, r.Summary)
		}
		p, err := c.tx.Project(t.ID.Project)
		if err != nil {
			return err
		}
		if r.Rules != nil && *r.Rules != p.Rules() {
			return conflict("the rules of %s have changed since the work was looked at: report it again", p.Slug)
		}
		news, err := c.notice(held)
		if err != nil {
			return err
		}
		if p.Policy != PolicyTrust {
			if news.Edited {
				return c.refuseEdited(held)
			}
			if err := checkEvidence(t, slices.Concat(r.Evidence, r.Observed)); err != nil {
				return err
			}
		}
		if err := cmp.Or(c.checkAnswered(t.ID), c.checkFinished(t), c.checkWaiver(t, r.Check)); err != nil {
			return err
		}
		out = Outcome{Task: t.ID, Worker: held.attempt.Worker.Name, Late: held.claim == nil, MaxFailures: t.MaxFailures, Edited: news.Edited, Answers: news.Answers}
		if out.Late && held.attempt.Cause == CauseExpired && t.Failures > 0 {
			t.Failures-- // its expiry was counted, and an attempt counts once: a review may reject it
		}
		if out.FollowUps, err = c.createUnder(held, r.FollowUps); err != nil {
			return err
		}
		if len(out.FollowUps) > 0 { // which may depend on this task
			if _, dependents, err = c.tx.Links(t.ID); err != nil {
				return err
			}
			if err := c.lock(dependents...); err != nil {
				return err
			}
		}
		c.saw(held, r.Where)
		d, err := c.tx.Doc(t.ID)
		if err != nil {
			return err
		}
		d.Result = &Result{
			Summary: r.Summary, Evidence: mergeEvidence(r.Evidence, r.Observed), Artifacts: r.Artifacts,
			Branch: held.attempt.Where.Branch, Uncommitted: max(0, held.attempt.Where.Uncommitted-r.Loose.Count()), Worker: held.attempt.Worker.Name, Check: r.Check,
			Tip: r.Tip, NoChanges: r.NoChanges, Includes: r.Includes, Loose: r.Loose,
		}
		if len(r.Observed) > 0 {
			d.Result.ObservedBy, d.Result.ObservedOn = observer(a), held.attempt.Where.Host
		}
		if err := c.tx.PutDoc(t.ID, d); err != nil {
			return err
		}
		if !r.Diff.IsZero() {
			if err := c.tx.PutDiff(t.ID, t.Attempt, r.Diff); err != nil {
				return err
			}
		}
		detail := Detail{
			Attempt: t.Attempt, Nonce: t.Nonce, Worker: out.Worker, Text: r.Summary,
			Where: held.attempt.Where, Late: out.Late,
		}
		from := t.Status
		if p.Policy.Reviewed() {
			t.Status = InReview
			c.freed = c.freed || p.Policy == PolicyReview // a waiting lead may review it
			c.event(t, EventReview, from, detail)
		} else if out.Freed, err = c.accept(t, dependents, p, d.Result, EventDone, detail); err != nil {
			return err
		}
		out.Status, out.Failures = t.Status, t.Failures
		c.answered(held, "done", r, out)
		return c.end(held, CauseDone, "")
	})
	return out, err
}

// Fail reports that a task could not be done. It is idempotent like Done. A report that the
// spec is wrong is rejected like one of Done if the spec has changed meanwhile.
func (b *Board) Fail(ctx context.Context, a Actor, h Handle, f Failure) (Outcome, error) {
	if f.Reason == "" {
		return Outcome{}, invalid("a failure needs a reason")
	}
	if f.Kind == "" {
		f.Kind = FailOther
	}
	if !slices.Contains(FailureKinds, f.Kind) {
		return Outcome{}, invalid("invalid failure kind %.20q: want one of %s", f.Kind, join(FailureKinds))
	}
	if err := cmp.Or(checkTexts(text{"reason", f.Reason, maxText}, text{"do_not_repeat", f.DoNotRepeat, maxText}), checkWhere(&f.Where)); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	err := b.change(ctx, a, func(c *change) error {
		if err := c.tx.Ahead(Ahead{Lock: []ID{h.Task}, Claim: h, Ends: true}); err != nil {
			return err
		}
		if err := c.lock(h.Task); err != nil {
			return err
		}
		t := c.tasks[h.Task]
		var again bool
		var err error
		if out, again, err = c.repeated(h, "failed", f); err != nil || again {
			return err
		}
		held, err := c.holder(h)
		if err != nil {
			return c.keepNote(h, err, f.Reason)
		}
		news, err := c.notice(held)
		if err != nil {
			return err
		}
		if news.Edited && f.Kind == FailWrongSpec {
			return c.refuseEdited(held)
		}
		c.saw(held, f.Where)
		held.attempt.DoNotRepeat = f.DoNotRepeat
		out = Outcome{Task: t.ID, Worker: held.attempt.Worker.Name, MaxFailures: t.MaxFailures, Edited: news.Edited, Answers: news.Answers}
		from, cause, kind, reason := t.Status, CauseFailed, EventFailed, f.Reason
		switch f.Kind {
		case FailNotNow:
			red, _, _, err := c.checks(t, "")
			if err != nil {
				return err
			}
			if out.Red = red; red > 0 {
				c.fail(t)
				reason = "given back after the check was red: " + f.Reason
				break
			}
			cause, kind = CauseNotNow, EventReleased
			t.Status = Pending
		case FailBlocked:
			cause, kind = CauseParked, EventParked
			t.Status = Waiting
		case FailWrongSpec:
			t.Failures++
			t.Status = Failed
		case FailEnvironment:
			c.fail(t)
			if t.Status == Pending {
				t.NotBefore = c.now.Add(cooldown(t.Failures))
			}
		case FailTooHard, FailOther:
			c.fail(t)
		}
		if f.Kind == FailNotNow || f.Kind == FailTooHard {
			if err := c.decline(held); err != nil {
				return err
			}
		}
		c.event(t, kind, from, Detail{
			Attempt: t.Attempt, Nonce: t.Nonce, Worker: out.Worker, Text: reason, Cause: cause, Where: held.attempt.Where,
		})
		if f.Kind == FailBlocked {
			open, err := c.openToPeople(t.ID)
			if err != nil {
				return err
			}
			for _, q := range open { // it waits for these as well
				q.Blocking = true
				if err := c.tx.UpdateQuestion(q); err != nil {
					return err
				}
			}
			q, err := c.ask(held, NewQuestion{Text: f.Reason, Blocking: new(true), HumanOnly: f.HumanOnly})
			if err != nil {
				return err
			}
			out.Question = q.ID
		}
		out.Status, out.Failures = t.Status, t.Failures
		c.answered(held, "failed", f, out)
		return c.end(held, cause, reason)
	})
	return out, err
}

// decline keeps a task from being offered again to the worker that gave it back, and to
// new names that its connection takes.
func (c *change) decline(h *holding) error {
	until := c.now.Add(declineTime)
	if conn := connection(h.attempt.Worker.Principal, h.attempt.Owner); !conn.IsZero() {
		if err := c.tx.Decline(conn, h.task.ID, until); err != nil {
			return err
		}
	}
	return c.tx.Decline(h.attempt.Worker, h.task.ID, until)
}

// A Notice is news for the holder of a claim.
type Notice struct {
	// Edited is set if the task's spec has changed since the worker last got it.
	Edited bool
	// Answers are the questions that were answered since the claim was granted.
	Answers []Question
	// Unfinished is set if tasks that come first were added and are not done: a report would be
	// refused.
	Unfinished *UnfinishedError
	// Stopped is who stopped the worker, or empty.
	Stopped string
}

// notice collects the news for a holder except a stop, and marks the newest spec as seen.
func (c *change) notice(h *holding) (n Notice, err error) {
	if h.attempt.SpecVersion != h.task.SpecVersion {
		n.Edited = true
		h.attempt.SpecVersion = h.task.SpecVersion
	}
	if n.Unfinished, err = c.unfinished(h.task); err != nil {
		return n, err
	}
	n.Answers, err = c.answersFor(h.attempt)
	return n, err
}

// answersFor returns the answers that came during an attempt, or that it asked for.
func (c *change) answersFor(a Attempt) ([]Question, error) {
	answered, err := c.tx.Questions(QuestionFilter{Task: a.Task, State: QuestionAnswered})
	return slices.DeleteFunc(answered, func(q Question) bool { return q.Claim != a.Handle && !q.AnsweredAt.After(a.GrantedAt) }), err
}

// refuseEdited rejects the report of a holder that has not seen the newest spec: it has
// judged its work by the old one. The transaction commits, so that the next report is
// accepted.
func (c *change) refuseEdited(h *holding) error {
	d, err := c.tx.Doc(h.task.ID)
	if err != nil {
		return err
	}
	t := h.task
	c.refused = &EditedError{Task: t.ID, Title: t.Title, Description: d.Description, Acceptance: d.Acceptance, Wants: t.Wants}
	return c.tx.UpdateAttempt(h.attempt)
}

// saw updates the place of the work, if the caller knows it.
func (c *change) saw(h *holding, w Where) {
	old := h.attempt.Where
	w.Client = cmp.Or(w.Client, old.Client)
	if w.Host == "" && w.Dir == "" {
		w.Host, w.Clone, w.Dir, w.Named = old.Host, old.Clone, old.Dir, old.Named
		if w.Branch == "" {
			w.Branch, w.Head, w.Uncommitted = old.Branch, old.Head, old.Uncommitted
		}
	}
	w.Ordered, w.Direct = old.Ordered, old.Direct
	w.Worked = old.Worked || old.Dir != "" && (w.Dir != old.Dir || w.Branch != old.Branch || w.Head != old.Head || w.Uncommitted != old.Uncommitted)
	h.attempt.Where = w
}

// repeated returns the answer of an earlier report under the same claim. A report with a
// different body is a conflict.
func (c *change) repeated(h Handle, op string, body any) (Outcome, bool, error) {
	a, err := c.attempt(h)
	if err != nil {
		if _, ok := err.(*LostError); ok { // which the caller checks itself
			return Outcome{}, false, nil
		}
		return Outcome{}, false, err
	}
	if a.ReportHash == "" {
		return Outcome{}, false, nil
	}
	if a.ReportHash != reportHash(op, body) {
		return Outcome{}, false, conflict("%v was already reported with a different body; the first report stands: %s", h, a.Cause)
	}
	var out Outcome
	if err := decode(a.ReportAnswer, &out); err != nil {
		return Outcome{}, false, err
	}
	out.Again = true
	out.Answers, err = c.answersFor(a)
	return out, true, err
}

// answered stores the answer of a report with its attempt, for repeated.
func (c *change) answered(h *holding, op string, body any, out Outcome) {
	h.attempt.ReportHash = reportHash(op, body)
	h.attempt.ReportAnswer = encode(out)
}

func reportHash(op string, body any) string {
	switch r := body.(type) { // the place may change between two tries
	case Report:
		r.Where, r.Observed, r.Check, r.Tip, r.NoChanges, r.Includes, r.Loose, r.Diff, r.Rules = Where{}, nil, "", Tip{}, false, nil, Loose{}, Diff{}, nil
		body = r
	case Failure:
		r.Where = Where{}
		body = r
	}
	return op + ":" + hash(body)
}
