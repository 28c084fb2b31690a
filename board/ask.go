package board

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Ask puts a question to people and leads. A question asked under a claim belongs to the
// claim's task.
func (b *Board) Ask(ctx context.Context, a Actor, n NewQuestion) (Question, error) {
	n.Text = strings.TrimSpace(n.Text)
	if n.Text == "" {
		return Question{}, invalid("a question needs a text")
	}
	if err := checkTexts(
		text{"question", n.Text, maxText}, text{"default", n.Default, maxText}, text{"chatId", n.ChatID, 400},
	); err != nil {
		return Question{}, err
	}
	if _, is := isCheckChat(n.ChatID); is {
		return Question{}, invalid("the chatId %q is that of Bossman's own questions: use another one", n.ChatID)
	}
	if n.HumanOnly && n.Default != "" && !lapses(n.ChatID, n.Default) {
		return Question{}, invalid("a question that only people may answer has no default: say in its text what you would choose, and wait for the answer")
	}
	if len(n.Options) > 20 {
		return Question{}, invalid("a question has at most 20 options, not %d", len(n.Options))
	}
	for _, o := range n.Options {
		if err := checkTexts(text{"option", o, 1000}); err != nil {
			return Question{}, err
		}
	}
	if n.Within < 0 || n.Within > 30*24*time.Hour {
		return Question{}, invalid("invalid deadline %v: want 0 to 30 days", n.Within)
	}
	var q Question
	err := b.change(ctx, a, func(c *change) error {
		body := n
		body.Key = ""
		ahead := Ahead{Project: n.Project}
		if !n.Claim.IsZero() {
			ahead = Ahead{Lock: []ID{n.Claim.Task}, Claim: n.Claim}
		}
		k, kept, replays, err := c.once("ask_question", n.Key, body, ahead)
		if err != nil {
			return err
		}
		if replays && kept == "" { // the first call was refused
			if err := c.lock(n.Claim.Task); err != nil {
				return err
			}
			_, err := c.inForce(n.Claim)
			if lost, ok := errors.AsType[*LostError](err); ok {
				lost.Kept = true
			}
			return err
		}
		if replays {
			id, err := strconv.ParseInt(kept, 10, 64)
			if err != nil {
				return err
			}
			q, err = c.tx.Question(QuestionID(id))
			return err
		}
		var held *holding
		if n.Claim.IsZero() {
			if _, err := c.writable(n.Project); err != nil {
				return err
			}
			if err := c.clock(); err != nil {
				return err
			}
			adopted := false
			if q, adopted, err = c.adoptQuestion(n); adopted || err != nil {
				return err
			}
		} else {
			if err := c.lock(n.Claim.Task); err != nil {
				return err
			}
			if held, err = c.holder(n.Claim); err != nil {
				return c.keepNote(n.Claim, err, "asked: "+n.Text)
			}
		}
		if q, err = c.ask(held, n); err != nil {
			return err
		}
		return c.keep(k, strconv.FormatInt(int64(q.ID), 10))
	})
	return q, err
}

// ask stores a question. held is nil for a question that belongs to no task.
func (c *change) ask(held *holding, n NewQuestion) (Question, error) {
	q := Question{
		Project: n.Project, ChatID: n.ChatID, Text: n.Text, Options: n.Options, Default: n.Default,
		Blocking: n.Default == "", HumanOnly: n.HumanOnly, State: QuestionOpen, AskedAt: c.now,
		Asker: WorkerID{Principal: c.actor.Principal, Name: c.actor.Worker}, Owner: c.actor.Owner,
	}
	if n.Blocking != nil {
		q.Blocking = *n.Blocking
	}
	if n.Within > 0 {
		q.NeededBy = c.now.Add(n.Within)
	}
	if held != nil {
		q.Project = held.task.ID.Project
		q.Claim = held.attempt.Handle
		q.Asker = held.attempt.Worker
	}
	id, err := c.tx.InsertQuestion(q)
	if err != nil {
		return Question{}, err
	}
	q.ID = id
	if held != nil {
		t := held.task
		c.event(t, EventAsked, t.Status, Detail{
			Attempt: q.Claim.Attempt, Nonce: q.Claim.Nonce, Worker: q.Asker.Name, Question: id, Text: n.Text,
		})
	}
	c.freed = true // wakes calls that wait for questions
	return q, nil
}

// adoptQuestion returns the open question that an earlier process of the same principal asked in the
// same conversation before it ended, if there is one. The caller is now its asker.
func (c *change) adoptQuestion(n NewQuestion) (Question, bool, error) {
	if n.ChatID == "" || !n.Claim.IsZero() {
		return Question{}, false, nil
	}
	open, err := c.tx.Questions(QuestionFilter{Projects: []string{n.Project}, State: QuestionOpen, ChatID: n.ChatID})
	if err != nil {
		return Question{}, false, err
	}
	for _, q := range open {
		if q.AskerLeft() && q.Claim.IsZero() && q.Text == n.Text && q.Asker.Principal == c.actor.Principal {
			q.Owner = c.actor.Owner
			return q, true, c.tx.UpdateQuestion(q)
		}
	}
	return Question{}, false, nil
}

// setAskers sets the owner of a claim's open questions.
func (c *change) setAskers(h Handle, owner string) error {
	open, err := c.tx.Questions(QuestionFilter{Task: h.Task, State: QuestionOpen})
	if err != nil {
		return err
	}
	for _, q := range open {
		if q.Claim != h || q.Owner == owner {
			continue
		}
		q.Owner = owner
		if err := c.tx.UpdateQuestion(q); err != nil {
			return err
		}
	}
	return nil
}

// Chat returns the questions that were asked in the same conversation before q, at most n,
// oldest first.
func Chat(ctx context.Context, b interface {
	Questions(ctx context.Context, f QuestionFilter) ([]Question, error)
}, q Question, n int,
) ([]Question, error) {
	if q.ChatID == "" {
		return nil, nil
	}
	all, err := b.Questions(ctx, QuestionFilter{Projects: []string{q.Project}, ChatID: q.ChatID})
	all = slices.DeleteFunc(all, func(o Question) bool { return o.ID >= q.ID || o.Asker.Principal != q.Asker.Principal })
	return all[max(0, len(all)-n):], err
}

// Question reads a question.
func (b *Board) Question(ctx context.Context, id QuestionID) (q Question, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		q, err = r.Question(id)
		return err
	})
	return q, err
}

// Questions lists questions, oldest first.
func (b *Board) Questions(ctx context.Context, f QuestionFilter) (qs []Question, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		qs, err = r.Questions(f)
		return err
	})
	return qs, err
}

// Await waits until a question is no longer open, at most d, and returns its state at that
// time.
func (b *Board) Await(ctx context.Context, id QuestionID, d time.Duration) (Question, error) {
	deadline := time.Now().Add(d)
	for {
		woken := b.Changes()
		q, err := b.Question(ctx, id)
		left := time.Until(deadline)
		if err != nil || q.State != QuestionOpen || left <= 0 || b.waitsOver() {
			return q, err
		}
		if WaitFor(ctx, woken, min(left, time.Second)); ctx.Err() != nil {
			return q, ctx.Err()
		}
	}
}

// Park ends the wait for a blocking question that was not answered: the claim ends without
// counting a failure, and the task is waiting. If the question has been answered by
// then, nothing is parked.
func (b *Board) Park(ctx context.Context, a Actor, id QuestionID) (q Question, parked bool, err error) {
	err = b.change(ctx, a, func(c *change) error {
		parked = false
		if err := c.tx.Ahead(Ahead{Question: id}); err != nil {
			return err
		}
		if q, err = c.tx.Question(id); err != nil {
			return err
		}
		if q.Claim.IsZero() || !q.Blocking {
			return nil
		}
		if err := c.lock(q.Claim.Task); err != nil {
			return err
		}
		if q, err = c.tx.Question(id); err != nil || q.State != QuestionOpen || c.tasks[q.Claim.Task].Status == Done {
			return err
		}
		held, err := c.holder(q.Claim)
		if err != nil {
			return err
		}
		parked = true
		return c.park(held, id)
	})
	return q, parked, err
}

// park ends a claim until a question is answered.
func (c *change) park(held *holding, id QuestionID) error {
	t := held.task
	from := t.Status
	t.Status = Waiting
	c.event(t, EventParked, from, Detail{
		Attempt: t.Attempt, Nonce: t.Nonce, Worker: held.attempt.Worker.Name, Question: id, Where: held.attempt.Where,
	})
	return c.end(held, CauseParked, "waiting for an answer to "+id.String())
}

// Answer answers a question; only the first answer is accepted. A task that waited for it
// becomes pending, and is reserved for the worker that asked for ten minutes, as long as
// that worker is connected.
func (b *Board) Answer(ctx context.Context, a Actor, id QuestionID, answer string) (Question, error) {
	answer = strings.TrimSpace(answer)
	if answer == "" {
		return Question{}, invalid("an answer needs a text")
	}
	if err := checkTexts(text{"answer", answer, maxText}); err != nil {
		return Question{}, err
	}
	var q Question
	err := b.change(ctx, a, func(c *change) (err error) {
		if err := c.tx.Ahead(Ahead{Question: id}); err != nil {
			return err
		}
		q, err = c.tx.Question(id)
		if err != nil {
			return err
		}
		if q.HumanOnly && !a.Person {
			return denied("only a person may answer %v", id)
		}
		if q.Owner == a.Owner && a.Owner != "" || a.Worker != "" && q.Asker == (WorkerID{Principal: a.Principal, Name: a.Worker}) {
			return denied("%v cannot be answered by its asker", id)
		}
		if a.OneWorker && q.Asker.Principal == a.Principal {
			return denied("%v was asked with this key, so no worker with this key can answer it. A person can, and so can a worker with another key", id)
		}
		if !q.Claim.IsZero() {
			if err := c.lock(q.Claim.Task); err != nil {
				return err
			}
			if err := c.notHolder(q.Claim.Task, "answer its questions"); err != nil {
				return err
			}
		} else if err := c.clock(); err != nil {
			return err
		}
		if q, err = c.tx.Question(id); err != nil {
			return err
		}
		return c.answer(&q, answer, a.String(), a.Kind())
	})
	return q, err
}

// answer closes an open question, whose task is locked.
func (c *change) answer(q *Question, answer, by string, kind ActorKind) error {
	if err := q.CheckOpen(); err != nil {
		return err
	}
	// An answer that is an option means it, and so does one that differs from an option only in
	// case and in punctuation at the end.
	i := slices.Index(q.Options, answer)
	if i < 0 {
		i = slices.IndexFunc(q.Options, func(o string) bool { return strings.EqualFold(unpunctuated(o), unpunctuated(answer)) })
	}
	if i >= 0 {
		answer = q.Options[i]
	}
	q.State, q.Answer, q.AnsweredAt = QuestionAnswered, answer, c.now
	q.AnsweredBy, q.AnsweredAs = by, kind
	if err := c.tx.UpdateQuestion(*q); err != nil {
		return err
	}
	c.freed = true
	c.told.decided = append(c.told.decided, decidedQuestion{q.ByDefault(), c.now.Sub(q.AskedAt)})
	if q.Claim.IsZero() {
		return nil
	}
	t := c.tasks[q.Claim.Task]
	from := t.Status
	if t.Status == Waiting {
		waits, err := c.waitsForOthers(t.ID, q.ID)
		if err != nil {
			return err
		}
		if !waits {
			t.Status = Pending
			connected, err := c.connected(q.Asker)
			if err != nil {
				return err
			}
			if connected {
				t.ReservedFor = q.Asker
				t.NotBefore = c.now.Add(reserveTime)
			}
		}
	}
	c.eventBy(by, t, EventAnswered, from, Detail{Question: q.ID, Text: answer, By: kind})
	return nil
}

// unpunctuated is a text without punctuation at its end.
func unpunctuated(s string) string { return strings.TrimRight(s, ".!,;: ") }

// connected reports whether a worker may come for its task: its process has neither left
// nor died, and nobody has stopped it. One that runs commands in a directory has no process
// that would show it.
func (c *change) connected(w WorkerID) (bool, error) {
	worker, err := c.tx.Worker(w)
	if err != nil || worker.Owner == "" || inDir(worker.Owner) || worker.StoppedBy != "" {
		return false, err
	}
	gone, err := c.tx.Gone()
	return !slices.Contains(gone, worker.Owner), err
}

// waitsForOthers reports whether the task has an open blocking question other than id.
func (c *change) waitsForOthers(task ID, id QuestionID) (bool, error) {
	open, err := c.blocking(task)
	return slices.ContainsFunc(open, func(q Question) bool { return q.ID != id }), err
}

// blocking lists the open blocking questions of a task.
func (c *change) blocking(task ID) ([]Question, error) {
	open, err := c.tx.Questions(QuestionFilter{Task: task, State: QuestionOpen})
	return slices.DeleteFunc(open, func(q Question) bool { return !q.Blocking }), err
}

// openToPeople lists the open questions of a task that only people may answer, and that wait until they do.
func (c *change) openToPeople(task ID) ([]Question, error) {
	open, err := c.tx.Questions(QuestionFilter{Task: task, State: QuestionOpen})
	return slices.DeleteFunc(open, func(q Question) bool { return !q.HumanOnly || lapses(q.ChatID, q.Default) }), err
}

// checkAnswered returns an *UnansweredError if the task has such a question.
func (c *change) checkAnswered(task ID) error {
	open, err := c.openToPeople(task)
	if err != nil || len(open) == 0 {
		return err
	}
	e := &UnansweredError{Task: task}
	for _, q := range open {
		e.Questions = append(e.Questions, q.ID)
	}
	return e
}

// closeQuestions withdraws the open questions of a task that has ended. Those stay open whose worker
// has reported done without the answers: people have not seen them, and nobody waits for them.
func (c *change) closeQuestions(t *Task, ended Kind) error {
	open, err := c.tx.Questions(QuestionFilter{Task: t.ID, State: QuestionOpen})
	if err != nil {
		return err
	}
	for _, q := range open {
		if ended == EventDone || ended == EventLanded {
			q.Owner = ""
		} else {
			q.State, q.AnsweredAt = QuestionWithdrawn, c.now
			c.eventBy(boardActor, t, EventWithdrawn, t.Status, Detail{Question: q.ID})
		}
		if err := c.tx.UpdateQuestion(q); err != nil {
			return err
		}
	}
	return nil
}
