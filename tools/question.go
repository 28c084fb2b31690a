package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

// Asking people.

var askQuestion = &definition{
	name: "ask_question",
	about: "Ask people for a decision you should not make yourself. Without default the question is blocking: if nobody answers within wait_seconds, your task is parked " +
		"and you take another. With default, continue at once as if it were the answer.",
	props: []prop{
		{name: "question", kind: text, must: true, about: "the question, with all context needed to decide", also: []string{"text", "message"}},
		{name: "claim", kind: text, about: "your claim, if the question is about your task", also: []string{"claim_id", "handle", "task", "task_id"}},
		{name: "options", kind: list, about: "answers to choose from", also: []string{"choices"}},
		{name: "default", kind: text, about: "the answer to go on with if nobody answers", also: []string{"default_answer"}},
		{name: "answer_within_seconds", kind: number, about: "deadline: then default becomes the answer, or the question is overdue", most: 30 * 24 * 3600},
		{name: "blocking", kind: flag, about: "whether the task cannot go on without an answer"},
		{name: "human_only", kind: flag, about: "only a person may answer, no other agent"},
		{name: "wait_seconds", kind: number, about: "how long to wait for the answer here; usually 45 if blocking, else 0", most: maxWait},
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
	Wait      *int     `json:"wait_seconds"`
}

// asked is what is kept between the rounds of a call: the question, and when the wait
// is over.
type asked struct {
	ID    int64 `json:"q"`
	Begun int64 `json:"b"` // Unix time in milliseconds
}

// ask may run several times for one call, whenever somebody at the client has been
// asked. The question is recorded the first time.
func ask(ctx context.Context, t *Tools, k *caller, in askInput) (*answer, error) {
	first, err := mcp.Once(k.call, "asked", func() (asked, error) {
		q, err := t.record(ctx, k, in)
		return asked{int64(q.ID), time.Now().UnixMilli()}, err
	})
	if err != nil {
		return nil, err
	}
	q, err := t.b.Question(ctx, board.QuestionID(first.ID))
	if err != nil {
		return nil, k.refuse(errand{not: "Not known."}, err)
	}
	k.Worker = t.workerOf(q.Claim)
	wait := t.patience(q, in.Wait)
	if q.State != board.QuestionOpen || wait == 0 {
		return t.settle(ctx, k, q, wait)
	}
	deadline := time.UnixMilli(first.Begun).Add(wait)
	res, err := mcp.Durable(k.call, func(ctx context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
		k := &caller{Caller: k.Caller, t: t, call: c, credential: k.credential, projects: k.projects}
		a, err := t.await(ctx, k, q, time.UnixMilli(first.Begun), deadline, wait)
		if err != nil {
			return refused(err)
		}
		return a.tool(), nil
	})
	if err != nil {
		return nil, err
	}
	return &answer{made: res}, nil
}

// record puts the question on the board. An open one with the same words under the
// same claim is meant by a call that is repeated.
func (t *Tools) record(ctx context.Context, k *caller, in askInput) (board.Question, error) {
	e := errand{not: "Not asked."}
	n := board.NewQuestion{
		Text: in.Question, Options: in.Options, Default: in.Default, Within: time.Duration(in.Within) * time.Second,
		Blocking: in.Blocking, HumanOnly: in.HumanOnly,
	}
	var err error
	if in.Claim == "" {
		if n.Project, err = k.asksIn(ctx); err != nil {
			return board.Question{}, k.refuse(e, err)
		}
	} else {
		if n.Claim, err = k.claim(ctx, e, in.Claim); err != nil {
			return board.Question{}, err
		}
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

// asksIn is the project of a question about nothing on the board: the usual one, that
// of what the caller holds, or the first.
func (k *caller) asksIn(ctx context.Context) (string, error) {
	if p, err := k.project(""); err == nil || len(k.projects) == 0 {
		return p, err
	}
	held, err := k.held(ctx)
	if err != nil {
		return "", err
	}
	for _, c := range held {
		if k.may(c.Task.Project) {
			return c.Task.Project, nil
		}
	}
	return k.projects[0], nil
}

// announce tells whoever wants to hear of new questions.
func (t *Tools) announce(q board.Question) {
	if t.o.Asked != nil {
		t.o.Asked(q)
	}
	t.server.ResourceUpdated(questionsURI)
}

// tell is announce for a question that something else has made.
func (t *Tools) tell(ctx context.Context, id board.QuestionID) {
	q, err := t.b.Question(ctx, id)
	if err != nil {
		t.o.Logger.Warn("a new question could not be read", "question", id, "err", err)
		return
	}
	t.announce(q)
}

// patience is how long a call waits for an answer.
func (t *Tools) patience(q board.Question, wish *int) time.Duration {
	switch {
	case wish != nil:
		return time.Duration(*wish) * time.Second
	case q.Blocking && !t.o.Quiet:
		return maxWait * time.Second
	}
	return 0
}

// await waits for the answer: from the inbox, and from a person at the client.
func (t *Tools) await(ctx context.Context, k *caller, q board.Question, begun, deadline time.Time, wait time.Duration) (*answer, error) {
	e := errand{not: "The wait was broken off.", claim: q.Claim}
	if t.mayElicit(k, q) {
		res, err := k.call.ElicitUntil("answer", form(q), func(ctx context.Context) {
			_, _ = t.b.Await(ctx, q.ID, time.Until(deadline))
		})
		switch {
		case errors.Is(err, mcp.ErrDeclined): // by an error: the client cannot ask after all
			t.declined(k)
		case errors.Is(err, mcp.ErrWithdrawn):
		case err != nil:
			return nil, err
		case res.Action == "accept":
			if err := t.answered(ctx, k, q, res.Content); err != nil {
				return nil, k.refuse(e, err)
			}
		case time.Since(begun) < quickest(k.call.Client()):
			t.declined(k) // nobody is that quick
		}
	}
	resume := k.wait(time.Until(deadline))
	q, err := t.b.Await(ctx, q.ID, time.Until(deadline))
	resume()
	if err != nil {
		return nil, k.refuse(e, err)
	}
	if q.State == board.QuestionOpen && q.Blocking && !q.Claim.IsZero() && time.Now().Before(deadline) {
		return brokenOff(q), nil
	}
	return t.settle(ctx, k, q, wait)
}

// brokenOff ends a wait before its time, because the server ends. Nothing is parked:
// the same call goes on waiting, elsewhere.
func brokenOff(q board.Question) *answer {
	return &answer{
		text: fmt.Sprintf("Recorded as %v in the inbox of the people here; no answer yet. This server is restarting. You still hold %v. Next: repeat the call to keep waiting for %v.",
			q.ID, q.Claim.Task, q.ID),
		result: wireQuestionOf(q),
	}
}

// quickest is how long even a person in a hurry needs to say no. A client that
// follows tasks hears of the question only when it looks.
func quickest(c mcp.ClientCapabilities) time.Duration {
	if _, ok := c.Extensions["io.modelcontextprotocol/tasks"]; ok {
		return 2500 * time.Millisecond
	}
	return time.Second
}

// mayElicit reports whether a person at the client is asked.
func (t *Tools) mayElicit(k *caller, q board.Question) bool {
	if t.o.Quiet || !k.call.Client().ElicitsForm() || q.HumanOnly && !t.personAt(k).Person {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.declines[t.client(k)]
}

// client names the connection of a call, as well as it is known.
func (t *Tools) client(k *caller) string { return k.Owner + "\n" + k.call.ClientInfo().Name }

// declined ends asking at this client: some say no by themselves.
func (t *Tools) declined(k *caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.declines) > 10_000 {
		clear(t.declines)
	}
	t.declines[t.client(k)] = true
}

// form asks a person for the answer.
func form(q board.Question) *mcp.ElicitParams {
	type property struct {
		Type        string   `json:"type"`
		Title       string   `json:"title"`
		Description string   `json:"description,omitzero"`
		Enum        []string `json:"enum,omitzero"`
		Default     string   `json:"default,omitzero"`
	}
	p := property{Type: "string", Title: "Answer", Default: q.Default}
	if len(q.Options) > 1 {
		p.Enum = q.Options
		if !slices.Contains(q.Options, q.Default) {
			p.Default = ""
		}
	}
	schema := must(jsonv2.Marshal(map[string]any{
		"type": "object", "properties": map[string]property{"answer": p}, "required": []string{"answer"},
	}, jsonv2.Deterministic(true)))
	about := q.ID.String()
	if !q.Claim.IsZero() {
		about += " about " + q.Claim.Task.String()
	}
	return &mcp.ElicitParams{Message: about + ": " + q.Text, RequestedSchema: schema}
}

// personAt is the person at the caller's client: who has filled in a form that the
// client showed, which the model cannot do. It counts as a person with a person's
// credential, and on a person's own machine.
func (t *Tools) personAt(k *caller) board.Actor {
	return board.Actor{Principal: k.Principal, Name: "the person at the client", Person: t.piped() || k.credential}
}

// answered takes what the person at the client has filled in. Somebody else may have
// been quicker; then that counts.
func (t *Tools) answered(ctx context.Context, k *caller, q board.Question, content json.RawMessage) error {
	var filled struct {
		Answer string `json:"answer"`
	}
	if err := jsonv2.Unmarshal(content, &filled); err != nil {
		return err
	}
	if strings.TrimSpace(filled.Answer) == "" {
		return nil // an empty form is no answer
	}
	_, err := t.b.Answer(ctx, t.personAt(k), q.ID, filled.Answer)
	if errors.Is(err, board.ErrConflict) {
		return nil
	}
	return err
}

// settle ends the wait: with the answer, by parking, or by going on without.
func (t *Tools) settle(ctx context.Context, k *caller, q board.Question, waited time.Duration) (*answer, error) {
	parked := false
	if q.State == board.QuestionOpen && q.Blocking && !q.Claim.IsZero() {
		var err error
		q, parked, err = t.b.Park(ctx, k.Actor, q.ID)
		if lost, ok := errors.AsType[*board.LostError](err); ok && lost.Ended != nil && lost.Ended.Cause == board.CauseParked {
			parked, err = true, nil // the call is a repeat, and the first one did it
		}
		if err != nil {
			return nil, k.refuse(errand{not: "The question is recorded, the task not parked.", claim: q.Claim}, err)
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
		s = fmt.Sprintf("%v was withdrawn: its task has ended. Next: %s.", q.ID, nextCall(worker))
	case parked:
		s = fmt.Sprintf("Recorded as %v in the inbox of the people here; %s. %v is parked: commit to your branch and stop working on it. Next: %s. The answer will come with the task when it is handed out again.",
			q.ID, noAnswer(waited), q.Claim.Task, nextCall(worker))
	case q.Default != "":
		when := ""
		if !q.NeededBy.IsZero() {
			when = " (it counts from " + clock(q.NeededBy) + ")"
		}
		s = fmt.Sprintf("Recorded as %v in the inbox of the people here; %s. Continue as if the answer were %s%s. Check later with %s.",
			q.ID, noAnswer(waited), quote(oneLine(q.Default, 200)), when, call("get_answer", "question", q.ID.String()))
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

// answerOf is an answered question. A task that was parked for it is not granted
// again by this.
func (t *Tools) answerOf(ctx context.Context, k *caller, q board.Question) (*answer, error) {
	s := fmt.Sprintf("Answer to %v from %s: %s", q.ID, answeredBy(q), q.Answer)
	if !q.Claim.IsZero() {
		d, err := t.b.Get(ctx, q.Claim.Task, 1)
		if err != nil {
			return nil, k.refuse(errand{not: "Not read.", claim: q.Claim}, err)
		}
		switch {
		case d.Claim != nil && d.Claim.Handle == q.Claim:
			s += fmt.Sprintf("\nYou still hold %v: go on with it.", q.Claim.Task)
		case d.Task.Status == board.Pending && d.Task.ReservedFor == q.Asker:
			s += fmt.Sprintf("\n%v was parked and is kept for you a while: %s.", q.Claim.Task, nextCall(q.Asker.Name))
		default:
			s += fmt.Sprintf("\nThe claim it was asked under has ended; %v is %s. Next: %s.", q.Claim.Task, d.Task.Status, nextCall(q.Asker.Name))
		}
	}
	return &answer{text: s, result: wireQuestionOf(q)}, nil
}

var getAnswer = &definition{
	name:  "get_answer",
	about: "Look whether a question of yours has been answered.",
	props: []prop{
		{name: "question", kind: text, must: true, about: "its id, such as q-18", also: []string{"id", "question_id"}},
		{name: "wait_seconds", kind: number, about: "how long to wait for it", most: maxWait},
	},
	run: run(getAnswered),
}

func getAnswered(ctx context.Context, t *Tools, k *caller, in struct {
	Question string `json:"question"`
	Wait     int    `json:"wait_seconds"`
},
) (*answer, error) {
	q, err := k.question(ctx, in.Question)
	if err != nil {
		return nil, err
	}
	if in.Wait > 0 {
		wait := time.Duration(in.Wait) * time.Second
		resume := k.wait(wait)
		q, err = t.b.Await(ctx, q.ID, wait)
		resume()
		if err != nil {
			return nil, k.refuse(errand{not: "Not read."}, err)
		}
	}
	switch q.State {
	case board.QuestionAnswered:
		return t.answerOf(ctx, k, q)
	case board.QuestionWithdrawn:
		return &answer{text: fmt.Sprintf("%v was withdrawn: its task has ended.", q.ID), result: wireQuestionOf(q)}, nil
	}
	s := fmt.Sprintf("%v is still open; do not poll.", q.ID)
	switch {
	case q.Default != "":
		s += fmt.Sprintf(" Continue as if the answer were %s.", quote(oneLine(q.Default, 200)))
	case q.Blocking && !q.Claim.IsZero():
		s += fmt.Sprintf(" The answer comes with %v. Next: %s.", q.Claim.Task, nextCall(q.Asker.Name))
	default:
		s += " Continue with work that does not depend on it, or end your turn."
	}
	return &answer{text: s, result: wireQuestionOf(q)}, nil
}

// question finds a question of the caller's projects.
func (k *caller) question(ctx context.Context, named string) (board.Question, error) {
	e := errand{not: "Not found."}
	if k.isLead("") {
		e.next = "Next: " + call("list_questions") + "."
	} else {
		e.next = "Next: the same call with the id that ask_question gave you."
	}
	id, err := board.ParseQuestionID(strings.ToLower(strings.TrimSpace(named)))
	if err != nil {
		return board.Question{}, k.refuse(e, err)
	}
	e.thing = "question " + id.String()
	q, err := k.t.b.Question(ctx, id)
	if err == nil && !k.may(q.Project) {
		err = board.ErrNotFound
	}
	if err != nil {
		return q, k.refuse(e, err)
	}
	return q, nil
}
