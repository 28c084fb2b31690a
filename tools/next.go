package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

var getNextTask = &definition{
	name: "get_next_task",
	about: "Get a task to work on, or get back the one you hold. Call it when asked to work, and whenever you are unsure what you were doing. " +
		"Omit worker on your first call; the answer gives you a worker name to pass on every later call. " +
		"If there is nothing to do, end your turn; do not call it in a loop.",
	props: []prop{
		{name: "worker", kind: text, about: `your worker name; "new" if you are another agent on this connection`, aliases: []string{"worker_id", "worker_name", "agent", "agent_id"}},
		{name: "task", kind: text, about: "id of the task you prefer; handed out only if available", aliases: taskNames},
		{name: "skills", kind: list, about: "your skills; omit to be offered any task", commas: true},
		{name: "project", kind: text, about: "only tasks of this project"},
		{name: "wait_seconds", kind: number, about: "how long to wait for work", max: maxWait},
	},
	run: run(next),
}

type nextInput struct {
	Worker  string   `json:"worker"`
	Task    string   `json:"task"`
	Skills  []string `json:"skills"`
	Project string   `json:"project"`
	Wait    int      `json:"wait_seconds"`
}

func next(ctx context.Context, t *Tools, k *caller, in nextInput) (*answer, error) {
	if t.isBound() {
		return t.boundTask(ctx, k)
	}
	in.Worker = strings.ToLower(in.Worker)
	e := action{what: "No task handed out.", worker: in.Worker}
	w := board.Wish{
		Worker: in.Worker, Wait: time.Duration(in.Wait) * time.Second, Absent: !t.piped(),
		Session: t.o.Session, Where: t.where(ctx, k), Apart: true,
	}
	var err error
	if w.Projects, err = k.among(in.Project); err != nil {
		return nil, err
	}
	for _, slug := range w.Projects {
		if k.May(access.Review, slug) == nil && !k.Shell { // which could give no verdict
			w.Reviews = append(w.Reviews, slug)
		}
	}
	if in.Task != "" {
		if w.Task, err = k.task(ctx, in.Task); err != nil {
			return nil, err
		}
		e.task = w.Task
	}
	held, err := k.held(ctx)
	if err != nil {
		return nil, k.refuse(e, err)
	}
	unnamed := in.Worker == "" && t.piped()
	if (in.Worker == "" || in.Worker == "new") && !t.piped() {
		asked := k.request()
		w.Session = cmp.Or(asked.String(), w.Session)
		unheard, err := k.unheard(ctx, held, asked)
		if err != nil {
			return nil, k.refuse(e, err)
		}
		same := slices.IndexFunc(unheard, func(c board.Claim) bool { return c.Session == w.Session })
		if same >= 0 { // the same request again: its answer was lost
			w.Worker, in.Worker = unheard[same].Worker.Name, unheard[same].Worker.Name
		} else if in.Worker == "" && len(unheard) > 0 {
			return heldAnswer(unheard, w.Task), nil
		}
	}
	switch {
	case unnamed && len(held) > 0:
		return heldAnswer(held, w.Task), nil
	case unnamed && t.waits():
		return waitsAnswer(), nil
	case in.Worker == "new":
		w.Worker, e.worker = "", ""
	}
	if len(in.Skills) > 0 {
		w.Skills = in.Skills
	}
	k.Worker = w.Worker
	h, err := t.handOut(ctx, k, w, unnamed)
	unknown, _ := t.unknownSkills(ctx, w.Projects, in.Skills) // best effort: it is only a note
	if nothing, ok := errors.AsType[*board.Nothing](err); ok {
		a := nothingAnswer(nothing, k.isLead(""), in.Wait)
		a.tell(t.reviewOver(ctx, w.Worker, board.Handle{}))
		if unknown != "" {
			a.more = append(a.more, unknown)
		}
		return a, nil
	}
	if err != nil {
		if errors.Is(err, board.ErrInvalid) && w.Worker != "" {
			e.next = "Next: " + call("get_next_task", "worker", "new") + "."
		}
		if errors.Is(err, board.ErrConflict) && in.Task != "" {
			return nil, k.notAvailable(ctx, e, err)
		}
		return nil, k.refuse(e, err)
	}
	t.remember(ctx, h)
	if t.o.Lost != nil && k.call != nil {
		k.call.OnLost(func() { t.o.Lost(h.Claim) })
	}
	left := t.leftBy(ctx, k, h)
	a := handoutAnswer(h, t.judging(ctx, h), left)
	if h.Task.ID != w.Task && !w.Task.IsZero() {
		a.more = append(a.more, t.notWished(ctx, w.Task, h.Claim))
	}
	a.tell(t.reviewOver(ctx, w.Worker, h.Claim.Handle))
	if unknown != "" {
		a.more = append(a.more, unknown)
	}
	others := slices.DeleteFunc(held, func(c board.Claim) bool { return c.Handle == h.Claim.Handle })
	if !t.piped() && in.Worker == "" && len(others) > 0 {
		back := call("report_task_failed", "claim", h.Claim.Handle.String(), "kind", "not_now", "reason", "I hold another")
		if h.Claim.IsReview() {
			back = reviewCall(h.Claim.Handle, board.Skip)
		}
		a.more = append(a.more, fmt.Sprintf("Your key also holds %s. If one of these is your task, return this one with %s, then call %s.",
			claimList(others), back,
			call("get_next_task", "worker", others[0].Worker.Name)))
	}
	return a, nil
}

// handOut asks the board for a task. On a pipe a call first looks without waiting, because
// it loses its turn when it waits. unnamed is set for a call without a worker on a pipe.
func (t *Tools) handOut(ctx context.Context, k *caller, w board.Wish, unnamed bool) (*board.Handout, error) {
	if w.Wait > 0 && t.piped() {
		now := w
		now.Wait = 0
		h, err := t.b.Next(ctx, k.Actor, now)
		if _, none := errors.AsType[*board.Nothing](err); !none {
			return h, err
		}
		if unnamed {
			t.setWaits(true)
			defer t.setWaits(false)
		}
	}
	resume := k.wait(w.Wait)
	defer resume()
	return t.b.Next(ctx, k.Actor, w)
}

// waits reports whether a call without a worker waits for a task on the pipe.
func (t *Tools) waits() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unnamedWaits
}

func (t *Tools) setWaits(waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unnamedWaits = waits
}

// waitsAnswer is the answer to a call without a worker while another one waits: both may
// come from one agent, which must not get two tasks.
func waitsAnswer() *answer {
	return &answer{
		text: "Nothing handed out: another " + call("get_next_task") + " on this connection is waiting for a task. " +
			"If that call is yours, its answer will come; do not repeat it. If you are another agent, call " + call("get_next_task", "worker", "new") + ".",
		result: wireHandout{Outcome: "waiting"},
	}
}

// heldAnswer is the answer to a call without a worker on a connection that holds claims:
// the caller may be their worker after losing its context, or another agent.
// wished is the task that it prefers, or zero.
func heldAnswer(held []board.Claim, wished board.ID) *answer {
	var b strings.Builder
	fmt.Fprintf(&b, "Nothing handed out: this connection holds %s.", claimList(held))
	if !wished.IsZero() && !slices.ContainsFunc(held, func(c board.Claim) bool { return c.Task == wished }) {
		fmt.Fprintf(&b, " So %v was not handed out either.", wished)
	}
	b.WriteString(" If you lost context and one of these is your task, call ")
	for i, c := range held {
		if i == 5 {
			break
		}
		if i > 0 {
			b.WriteString(", or ")
		}
		b.WriteString(nextCall(c.Worker.Name))
	}
	fmt.Fprintf(&b, ". If you are another agent, call %s.", call("get_next_task", "worker", "new"))
	w := wireHandout{Outcome: "held"}
	for _, c := range held {
		w.Held = append(w.Held, wireClaimOf(c))
	}
	return &answer{text: b.String(), result: w}
}

// notWished says why a worker did not get the task that it asked for, but the one that it
// holds.
func (t *Tools) notWished(ctx context.Context, id board.ID, held board.Claim) string {
	d, err := t.b.Get(ctx, id, 0)
	switch {
	case errors.Is(err, board.ErrNotFound):
		return fmt.Sprintf("There is no task %v on this board; you hold %v.", id, held.Task)
	case err == nil && d.Task.Status.Terminal():
		return fmt.Sprintf("%v was not handed out: it is %s; you hold %v.", id, d.Task.State(), held.Task)
	}
	return fmt.Sprintf("%v was not handed out: you hold %v. End that task first; then call %s.",
		id, held.Task, call("get_next_task", "worker", held.Worker.Name, "task", id.String()))
}

// notAvailable says why the task that a call asked for is not handed out.
func (k *caller) notAvailable(ctx context.Context, e action, err error) error {
	_, reasons, whyErr := k.t.b.Why(ctx, e.task)
	r, ok := asRefusal(k.refuse(e, err))
	if whyErr != nil || !ok || len(reasons) == 0 {
		return k.refuse(e, err)
	}
	r.state = fmt.Sprintf("%v is not available.", e.task)
	switch reasons[0].Code {
	case board.WhyLease:
		r.why = "Another worker holds it."
	case board.WhyReviewing:
		r.why = "Another worker reviews it."
	case board.WhyReserved:
		r.why = "It is reserved for up to 10 minutes for the worker that asked about it."
	case board.WhyReady: // available, but not to this worker
	default:
		r.why = visible.Line(reasons[0].Text)
	}
	r.next = "Next: " + nextCall(e.worker) + " for another task."
	return r
}

// unknownSkills returns a note that names the skills that none of the projects list, or
// an empty string.
func (t *Tools) unknownSkills(ctx context.Context, projects, skills []string) (string, error) {
	if len(skills) == 0 {
		return "", nil
	}
	unknown := skills
	for _, slug := range projects {
		p, err := t.b.Project(ctx, slug)
		if err != nil {
			return "", err
		}
		_, unknown = p.Known(unknown)
	}
	if len(unknown) == 0 {
		return "", nil
	}
	return "Ignored, because the project does not list these skills: " + inlineList(unknown, 200) + ".", nil
}
