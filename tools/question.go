package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

var askQuestion = &definition{
	name: "ask_question",
	about: "Ask people for a decision you should not make yourself. Without default the question is blocking: if nobody answers within wait_seconds, your task is parked " +
		"and you take another. With default, continue at once as if it were the answer.",
	props: []prop{
		{name: "question", kind: text, required: true, about: "the question, with all context needed to decide", aliases: []string{"text", "message"}},
		{name: "claim", kind: text, about: "your claim; may be omitted if you hold one task", aliases: []string{"claim_id", "handle", "task", "task_id"}},
		{name: "options", kind: list, about: "answers to choose from", aliases: []string{"choices"}},
		{name: "default", kind: text, about: "the answer to continue with if nobody answers; not with human_only", aliases: []string{"default_answer"}},
		{name: "answer_within_seconds", kind: number, about: "deadline: then default becomes the answer, or the question is overdue", max: 30 * 24 * 3600},
		{name: "blocking", kind: flag, about: "true if the task cannot continue without an answer"},
		{name: "human_only", kind: flag, about: "only a person may answer; report_task_done waits for it"},
		{name: "branch", kind: text, about: "branch of your work, if not checked out here"},
		{name: "wait_seconds", kind: number, about: "how long to wait for the answer; default 45 if blocking and a person sits at your client, else 0", max: maxWait},
	},
	durable: true,
	run:     run(ask),
}

type askInput struct {
	Question  string   `json:"question"`
	Claim     string   `json:"claim"`
	Options   []string `json:"options"`
	Default   string   `json:"default"`
	Within    int      `json:"answer_within_seconds"`
	Blocking  *bool    `json:"blocking"`
	HumanOnly bool     `json:"human_only"`
	Branch    string   `json:"branch"`
	Wait      *int     `json:"wait_seconds"`
}

// askState is kept between the rounds of a call: the question, and when the wait began.
type askState struct {
	ID    int64 `json:"q"`
	Begun int64 `json:"b"` // Unix time in milliseconds
}

// ask may run several times for one call: again each time the person at the client was
// asked. The question is recorded in the first round.
func ask(ctx context.Context, t *Tools, k *caller, in askInput) (*answer, error) {
	first, err := mcp.Once(k.call, "asked", func() (askState, error) {
		q, err := t.recordQuestion(ctx, k, in)
		return askState{int64(q.ID), time.Now().UnixMilli()}, err
	})
	if err != nil {
		return nil, err
	}
	q, err := t.b.Question(ctx, board.QuestionID(first.ID))
	if err != nil {
		return nil, k.refuse(action{what: "Not read."}, err)
	}
	k.Worker = t.workerOf(q.Claim)
	remark := t.notePlace(ctx, k, q, in.Branch)
	wait := t.answerWait(q, in.Wait)
	if q.State != board.QuestionOpen || wait == 0 {
		a, err := t.finishAsk(ctx, k, q, wait)
		if err == nil {
			a.tell(remark)
		}
		return a, err
	}
	deadline := time.UnixMilli(first.Begun).Add(wait)
	res, err := mcp.AsTask(k.call, func(ctx context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
		k := &caller{Caller: k.Caller, t: t, call: c, waiter: c, credential: k.credential, projects: k.projects}
		a, err := t.await(ctx, k, q, time.UnixMilli(first.Begun), deadline, wait)
		if err != nil {
			return refused(err)
		}
		a.tell(remark)
		return a.tool(), nil
	})
	if err != nil {
		return nil, err
	}
	return &answer{made: res}, nil
}

// recordQuestion puts the question on the board. A repeated call returns the open question
// with the same text under the same claim.
func (t *Tools) recordQuestion(ctx context.Context, k *caller, in askInput) (board.Question, error) {
	e := action{what: "Not asked."}
	n := board.NewQuestion{
		Text: in.Question, Options: in.Options, Default: in.Default, Within: time.Duration(in.Within) * time.Second,
		Blocking: in.Blocking, HumanOnly: in.HumanOnly,
	}
	var err error
	if in.Claim != "" {
		n.Claim, err = k.claim(ctx, e, in.Claim)
	} else if n.Claim, n.Project, err = k.subject(ctx); err != nil {
		err = k.refuse(e, err)
	}
	if err != nil {
		return board.Question{}, err
	}
	if !n.Claim.IsZero() {
		e.claim = n.Claim
		open, err := t.b.Questions(ctx, board.QuestionFilter{Task: n.Claim.Task, State: board.QuestionOpen})
		if err != nil {
			return board.Question{}, k.refuse(e, err)
		}
		i := slices.IndexFunc(open, func(q board.Question) bool {
			return q.Claim == n.Claim && q.Text == strings.TrimSpace(n.Text)
		})
		if i >= 0 {
			return open[i], nil
		}
	}
	q, err := t.b.Ask(ctx, k.Actor, n)
	if err != nil {
		return q, k.refuse(e, err)
	}
	t.announce(q)
	return q, nil
}

// notePlace notes where the work is that an open question is about, for whoever goes on with it
// after an answer. It returns a remark if that is not known.
func (t *Tools) notePlace(ctx context.Context, k *caller, q board.Question, branch string) (remark string) {
	h := q.Claim
	if h.IsZero() || q.State != board.QuestionOpen {
		return ""
	}
	at, remark := t.place(ctx, k, h, branch)
	if t.o.Inspector == nil && branch == "" || t.o.Inspector != nil && at.Dir == "" {
		return remark
	}
	if err := t.b.Locate(ctx, k.Actor, h, at); err != nil && !errors.Is(err, board.ErrLeaseLost) {
		t.o.Logger.Warn("the place of the work could not be noted", "task", h.Task, "err", err)
	}
	return remark
}

// subject returns what a question that names no claim is about: the only task that the caller works on, else a
// project: the caller's default, else that of a task which it holds, else its first. With one key over HTTP several agents
// may work, and nothing says which of them asks.
func (k *caller) subject(ctx context.Context) (claim board.Handle, project string, err error) {
	held, err := k.held(ctx)
	if err != nil {
		return board.Handle{}, "", err
	}
	alone := strings.HasPrefix(k.Owner, board.ProcessPrefix) || strings.HasPrefix(k.Owner, board.DirPrefix)
	if alone && len(held) == 1 && !held[0].IsReview() && k.may(held[0].Task.Project) {
		return held[0].Handle, "", nil
	}
	if p, err := k.project(""); err == nil || len(k.projects) == 0 {
		return board.Handle{}, p, err
	}
	for _, c := range held {
		if k.may(c.Task.Project) {
			return board.Handle{}, c.Task.Project, nil
		}
	}
	return board.Handle{}, k.projects[0], nil
}

// announce tells Options.Asked about a new question, and notifies clients that watch the
// questions.
func (t *Tools) announce(q board.Question) {
	if t.o.Asked != nil {
		t.o.Asked(q)
	}
	t.server.ResourceUpdated(questionsURI, q.Project)
}

// announceID is announce for a question that was created by a failed report.
func (t *Tools) announceID(ctx context.Context, id board.QuestionID) {
	q, err := t.b.Question(ctx, id)
	if err != nil {
		t.o.Logger.Warn("a new question could not be read", "question", id, "err", err)
		return
	}
	t.announce(q)
}

// answerWait returns how long a call waits for an answer.
func (t *Tools) answerWait(q board.Question, wanted *int) time.Duration {
	switch {
	case wanted != nil:
		return time.Duration(*wanted) * time.Second
	case q.Blocking && !t.o.Quiet:
		return maxWait * time.Second
	}
	return 0
}

// await waits until deadline for an answer, from the inbox or from the person at the
// client.
func (t *Tools) await(ctx context.Context, k *caller, q board.Question, begun, deadline time.Time, wait time.Duration) (*answer, error) {
	e := action{what: "The wait was interrupted.", claim: q.Claim}
	if t.mayElicit(k, q) {
		res, err := k.call.Elicit("answer", answerForm(q), &mcp.AskOptions{Until: func(ctx context.Context) {
			_, _ = t.b.Await(ctx, q.ID, time.Until(deadline))
		}})
		switch {
		case errors.Is(err, mcp.ErrDeclined): // with an error: the client cannot elicit after all
			t.stopEliciting(k)
		case errors.Is(err, mcp.ErrWithdrawn):
		case err != nil:
			return nil, err
		case res.Action == "accept":
			if err := t.recordAnswer(ctx, k, q, res.Content); err != nil {
				return nil, k.refuse(e, err)
			}
		case time.Since(begun) < instantDecline(k.call.ClientCapabilities()):
			t.stopEliciting(k) // too fast for a person
		}
	}
	resume := k.wait(time.Until(deadline))
	q, err := t.b.Await(ctx, q.ID, time.Until(deadline))
	resume()
	if err != nil {
		return nil, k.refuse(e, err)
	}
	if q.State == board.QuestionOpen && q.Blocking && !q.Claim.IsZero() && time.Now().Before(deadline) {
		return interruptedAnswer(q), nil
	}
	return t.finishAsk(ctx, k, q, wait)
}

// interruptedAnswer ends a wait early because the server is shutting down. The task is not
// parked: the same call continues to wait, on another replica or after the restart.
func interruptedAnswer(q board.Question) *answer {
	return &answer{
		text: fmt.Sprintf("Recorded as %v in the inbox of the people here; no answer yet. This server is restarting. You still hold %v. Next: repeat the call to keep waiting for %v.",
			q.ID, q.Claim.Task, q.ID),
		result: wireQuestionOf(q),
	}
}

// finishAsk ends the wait: it returns the answer, parks the task, or says how to continue
// without an answer.
func (t *Tools) finishAsk(ctx context.Context, k *caller, q board.Question, waited time.Duration) (*answer, error) {
	parked := false
	if q.State == board.QuestionOpen && q.Blocking && !q.Claim.IsZero() {
		var err error
		t.notePlace(ctx, k, q, "")
		q, parked, err = t.b.Park(ctx, k.Actor, q.ID)
		if lost, ok := errors.AsType[*board.LostError](err); ok && lost.Ended != nil && lost.Ended.Cause == board.CauseParked {
			parked, err = true, nil // this call is a repeat, and the first one parked it
		}
		if err != nil {
			return nil, k.refuse(action{what: "The question is recorded, but the task is not parked.", claim: q.Claim}, err)
		}
	}
	worker := q.Asker.Name
	w := wireQuestionOf(q)
	w.Parked = parked
	s := ""
	switch {
	case q.State == board.QuestionAnswered:
		return t.answerOf(ctx, k, q)
	case q.State == board.QuestionWithdrawn:
		s = fmt.Sprintf("%v was withdrawn: its task has ended. %s", q.ID, t.next(worker))
	case parked:
		s = fmt.Sprintf("Recorded as %v in the inbox of the people here; %s. %v is parked, with your work where it is now: leave it as it is, and stop working on it. %s The answer will come with %v when it is handed out again.",
			q.ID, noAnswer(waited), q.Claim.Task, t.next(worker), q.Claim.Task)
	case q.Default != "" && !q.HumanOnly:
		when := ""
		if !q.NeededBy.IsZero() {
			when = ", which becomes the answer at " + clock(q.NeededBy)
		}
		s = fmt.Sprintf("Recorded as %v in the inbox of the people here; %s. Continue as if the answer were %s%s. Check later with %s.",
			q.ID, noAnswer(waited), inline(q.Default, 200), when, call("get_answer", "question", q.ID.String()))
	default:
		s = fmt.Sprintf("Recorded as %v in the inbox of the people here; %s. Continue with work that does not depend on it. Check later with %s.",
			q.ID, noAnswer(waited), call("get_answer", "question", q.ID.String()))
	}
	return &answer{text: s, result: w}, nil
}

func noAnswer(waited time.Duration) string {
	if waited == 0 {
		return "no answer yet"
	}
	return fmt.Sprintf("no answer in %d s", int(waited.Seconds()))
}
