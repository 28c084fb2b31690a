package board

import (
	"context"
	"slices"
	"time"
)

// A Report says that a task is done.
type Report struct {
	Summary   string
	Evidence  []Evidence
	Artifacts []string
	// FollowUps are tasks that the work has shown to be needed. They are held.
	FollowUps []NewTask
	Where     Where
}

// A Failure says that a task could not be done.
type Failure struct {
	Kind        FailureKind
	Reason      string
	DoNotRepeat string
	Where       Where
}

// A FailureKind decides what happens next.
type FailureKind string

const (
	// FailBlocked waits for people: a question is made of the reason.
	FailBlocked FailureKind = "blocked"
	FailTooHard FailureKind = "too_hard"
	// FailWrongSpec needs a person to mend the task's text.
	FailWrongSpec FailureKind = "wrong_spec"
	// FailEnvironment lets the task rest for a while.
	FailEnvironment FailureKind = "environment"
	// FailNotNow gives it back; no failure is counted, and this worker is not
	// offered it for ten minutes.
	FailNotNow FailureKind = "not_now"
	FailOther  FailureKind = "other"
)

// FailureKinds is every kind there is.
var FailureKinds = []FailureKind{FailBlocked, FailTooHard, FailWrongSpec, FailEnvironment, FailNotNow, FailOther}

// An Outcome is what a report did.
type Outcome struct {
	Task   ID
	Status Status
	Worker string
	// Freed are the tasks that this made ready.
	Freed []ID
	// FollowUps are the tasks that the report created.
	FollowUps []ID
	// Failures of MaxFailures are used up.
	Failures, MaxFailures int
	// Question is what people were asked, if they were.
	Question QuestionID
	// Again is set when the same report was made before: this is its answer.
	Again bool `json:"-"`
	// Late is set when the lease had run out, and the report was taken all the same.
	Late bool
}

// maxCreated bounds what one claim may add to the board.
const maxCreated = 5

// Done reports a task done. Repeating a report gives the first answer again. If
// the claim is over the error is a *LostError, and the summary was kept as a note.
func (b *Board) Done(ctx context.Context, a Actor, h Handle, r Report) (Outcome, error) {
	if err := checkReport(&r); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	err := b.change(ctx, a, func(c *change) error {
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
		if p.Policy != PolicyTrust {
			if err := checkEvidence(t, r.Evidence); err != nil {
				return err
			}
		}
		out = Outcome{Task: t.ID, Worker: held.attempt.Worker.Name, Late: held.claim == nil, MaxFailures: t.MaxFailures}
		if out.FollowUps, err = c.createUnder(held, r.FollowUps); err != nil {
			return err
		}
		if len(out.FollowUps) > 0 { // some may depend on this task
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
			Summary: r.Summary, Evidence: r.Evidence, Artifacts: r.Artifacts,
			Branch: held.attempt.Where.Branch, Worker: held.attempt.Worker.Name,
		}
		if err := c.tx.PutDoc(t.ID, d); err != nil {
			return err
		}
		detail := Detail{
			Attempt: t.Attempt, Nonce: t.Nonce, Worker: out.Worker, Text: r.Summary,
			Where: held.attempt.Where, Late: out.Late,
		}
		from := t.Status
		if p.Policy == PolicyPerson {
			t.Status = InReview
			c.event(t, EventReview, from, detail)
		} else {
			if out.Freed, err = c.finish(t, dependents, Done, EventDone, detail); err != nil {
				return err
			}
		}
		out.Status, out.Failures = t.Status, t.Failures
		c.answered(held, "done", r, out)
		return c.end(held, CauseDone, "")
	})
	return out, err
}

// Fail reports that a task could not be done. It is repeatable like Done.
func (b *Board) Fail(ctx context.Context, a Actor, h Handle, f Failure) (Outcome, error) {
	if f.Reason == "" {
		return Outcome{}, invalid("a failure needs a reason")
	}
	if f.Kind == "" {
		f.Kind = FailOther
	}
	if !slices.Contains(FailureKinds, f.Kind) {
		return Outcome{}, invalid("the kind of failure %.20q is none of %v", f.Kind, FailureKinds)
	}
	if err := checkTexts(text{"reason", f.Reason, maxText}, text{"do_not_repeat", f.DoNotRepeat, maxText}); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	err := b.change(ctx, a, func(c *change) error {
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
		c.saw(held, f.Where)
		held.attempt.DoNotRepeat = f.DoNotRepeat
		out = Outcome{Task: t.ID, Worker: held.attempt.Worker.Name, MaxFailures: t.MaxFailures}
		from, cause, kind := t.Status, CauseFailed, EventFailed
		switch f.Kind {
		case FailNotNow:
			cause, kind = CauseNotNow, EventReleased
			t.Status = Pending
			if err := c.tx.Decline(held.attempt.Worker, t.ID, c.now.Add(declineTime)); err != nil {
				return err
			}
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
		c.event(t, kind, from, Detail{
			Attempt: t.Attempt, Nonce: t.Nonce, Worker: out.Worker, Text: f.Reason, Cause: cause, Where: held.attempt.Where,
		})
		if f.Kind == FailBlocked {
			q, err := c.ask(held, NewQuestion{Text: f.Reason, Blocking: new(true)})
			if err != nil {
				return err
			}
			out.Question = q.ID
		}
		out.Status, out.Failures = t.Status, t.Failures
		c.answered(held, "failed", f, out)
		return c.end(held, cause, f.Reason)
	})
	return out, err
}

// A Note is progress that a worker tells.
type Note struct {
	Text    string
	Percent int // 0: not told
	Where   Where
}

// Progress notes how far a worker is, and is a sign of life. If the claim is over
// the error is a *LostError, and the note was kept.
func (b *Board) Progress(ctx context.Context, a Actor, h Handle, n Note) (Notice, error) {
	if n.Text == "" {
		return Notice{}, invalid("a note needs a text")
	}
	if n.Percent < 0 || n.Percent > 100 {
		return Notice{}, invalid("percent is %d, and not within 0 and 100", n.Percent)
	}
	if err := checkTexts(text{"note", n.Text, maxText}); err != nil {
		return Notice{}, err
	}
	var notice Notice
	err := b.change(ctx, a, func(c *change) error {
		if err := c.lock(h.Task); err != nil {
			return err
		}
		held, err := c.holder(h)
		if err != nil {
			return c.keepNote(h, err, n.Text)
		}
		t := held.task
		c.saw(held, n.Where)
		c.event(t, EventNote, t.Status, Detail{
			Attempt: t.Attempt, Nonce: t.Nonce, Worker: held.attempt.Worker.Name, Text: n.Text,
			Percent: n.Percent, Where: n.Where,
		})
		if notice, err = c.notice(held); err != nil {
			return err
		}
		return c.tx.UpdateAttempt(held.attempt)
	})
	return notice, err
}

// A Notice is what a holder should know besides the answer to its call.
type Notice struct {
	// Edited is set when the task's text has changed since the worker was last told.
	Edited bool
	// Answers are those that came since the claim began.
	Answers []Question
	// Stopped is who told the worker to stop.
	Stopped string
}

// notice gathers what is new for a holder, and remembers that it was told.
func (c *change) notice(h *holding) (Notice, error) {
	var n Notice
	if h.attempt.SpecVersion != h.task.SpecVersion {
		n.Edited = true
		h.attempt.SpecVersion = h.task.SpecVersion
	}
	questions, err := c.tx.Questions(QuestionFilter{Task: h.task.ID, State: QuestionAnswered})
	if err != nil {
		return n, err
	}
	for _, q := range questions {
		if q.AnsweredAt.After(h.claim.GrantedAt) {
			n.Answers = append(n.Answers, q)
		}
	}
	st, err := c.tx.Standing(h.claim.Worker)
	n.Stopped = st.Worker.StoppedBy
	return n, err
}

// saw remembers where the work is, if the caller knows.
func (c *change) saw(h *holding, w Where) {
	if !w.IsZero() {
		h.attempt.Where = w
	}
}

// repeated finds the answer of a report that was made before under the same claim.
func (c *change) repeated(h Handle, op string, body any) (Outcome, bool, error) {
	a, err := c.attempt(h)
	if err != nil {
		if _, ok := err.(*LostError); ok { // the caller's own check says it again
			return Outcome{}, false, nil
		}
		return Outcome{}, false, err
	}
	if a.ReportHash == "" {
		return Outcome{}, false, nil
	}
	if a.ReportHash != reportHash(op, body) {
		return Outcome{}, false, conflict("%v was reported before, with other words; that report stands: %s", h, a.Cause)
	}
	var out Outcome
	if err := decode(a.ReportAnswer, &out); err != nil {
		return Outcome{}, false, err
	}
	out.Again = true
	return out, true, nil
}

func (c *change) answered(h *holding, op string, body any, out Outcome) {
	h.attempt.ReportHash = reportHash(op, body)
	h.attempt.ReportAnswer = encode(out)
}

func reportHash(op string, body any) string {
	switch r := body.(type) { // where the work is changes between two tries
	case Report:
		r.Where = Where{}
		body = r
	case Failure:
		r.Where = Where{}
		body = r
	}
	return op + ":" + hash(body)
}

// finish gives a locked task its last status and tells those that waited for it.
// It returns the tasks that this made ready.
func (c *change) finish(t *Task, dependents []ID, s Status, kind Kind, d Detail) ([]ID, error) {
	from := t.Status
	t.Status = s
	t.EndedAt = c.now
	t.NotBefore = time.Time{}
	t.ReservedFor = WorkerID{}
	c.event(t, kind, from, d)
	var freed []ID
	if s == Done {
		for _, id := range dependents {
			dep := c.tasks[id]
			if dep.Status.Terminal() {
				continue
			}
			dep.OpenBlockers--
			c.eventBy(boardActor, dep, EventUnblocked, dep.Status, Detail{Text: t.ID.String()})
			more, err := c.free(dep)
			if err != nil {
				return nil, err
			}
			freed = append(freed, more...)
		}
	}
	more, err := c.childEnded(t)
	if err != nil {
		return nil, err
	}
	return append(freed, more...), c.withdraw(t)
}

// childEnded tells a task's parent.
func (c *change) childEnded(t *Task) ([]ID, error) {
	if t.Parent.IsZero() {
		return nil, nil
	}
	if err := c.lock(t.Parent); err != nil {
		return nil, err
	}
	parent := c.tasks[t.Parent]
	if parent.Status.Terminal() {
		return nil, nil
	}
	parent.OpenChildren--
	if t.Status == Done {
		parent.DoneChildren++
	}
	c.eventBy(boardActor, parent, EventUnblocked, parent.Status, Detail{Text: t.ID.String()})
	if parent.OpenChildren > 0 || parent.Status != Pending {
		return nil, nil
	}
	parent.QueuedAt = c.now
	return c.free(parent)
}

// free looks what becomes of a locked task when something that stood against it is
// gone, and gives the tasks that are ready by this. A task with parts is done then;
// if somebody has to accept the whole, or nothing was done, it is handed out itself.
func (c *change) free(t *Task) ([]ID, error) {
	if !t.Ready() {
		return nil, nil
	}
	c.freed = true
	if t.DoneChildren == 0 {
		return []ID{t.ID}, nil
	}
	d, err := c.tx.Doc(t.ID)
	if err != nil {
		return nil, err
	}
	if d.Acceptance != "" {
		return []ID{t.ID}, nil
	}
	_, dependents, err := c.lockFamily(t.ID)
	if err != nil {
		return nil, err
	}
	d.Result = &Result{Summary: "All its parts are done."}
	if err := c.tx.PutDoc(t.ID, d); err != nil {
		return nil, err
	}
	return c.finish(t, dependents, Done, EventDone, Detail{Text: d.Result.Summary})
}

func checkEvidence(t *Task, sent []Evidence) error {
	e := &EvidenceError{Task: t.ID}
	for _, s := range sent {
		if !slices.Contains(e.Sent, s.Kind) {
			e.Sent = append(e.Sent, s.Kind)
		}
	}
	for _, want := range t.Wants {
		if !slices.Contains(e.Sent, want) {
			e.Missing = append(e.Missing, want)
		}
	}
	if len(e.Missing) > 0 {
		return e
	}
	return nil
}
