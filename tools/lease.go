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

// Getting work, and telling what became of it.

const claimAbout = "your claim, as get_next_task gave it"

var getNextTask = &definition{
	name: "get_next_task",
	about: "Get a task to work on, or get back the one you hold. Call it when asked to work, and whenever you are unsure what you were doing. " +
		"Omit worker on your first call; the answer gives you a worker name to pass on every later call. " +
		"If there is nothing to do, end your turn; do not call it in a loop.",
	props: []prop{
		{name: "worker", kind: text, about: `the name you were given; "new" if you are another agent on the same connection`, also: []string{"worker_id", "worker_name", "agent", "agent_id"}},
		{name: "task", kind: text, about: "id of the task you prefer; handed out only if available", also: taskNames},
		{name: "skills", kind: list, about: "your skills; omit to be offered any task", commas: true},
		{name: "project", kind: text, about: "only from this project"},
		{name: "wait_seconds", kind: number, about: "how long to wait for work", most: maxWait},
	},
	run: run(next),
}

// taskNames are other names for an argument that is a task's id.
var taskNames = []string{"id", "task_id", "taskid"}

type nextInput struct {
	Worker  string   `json:"worker"`
	Task    string   `json:"task"`
	Skills  []string `json:"skills"`
	Project string   `json:"project"`
	Wait    int      `json:"wait_seconds"`
}

func next(ctx context.Context, t *Tools, k *caller, in nextInput) (*answer, error) {
	e := errand{not: "No hand-out.", worker: in.Worker}
	w := board.Wish{
		Worker: in.Worker, Wait: time.Duration(in.Wait) * time.Second, Absent: !t.piped(),
		Session: t.o.Session, Where: t.where(ctx),
	}
	var err error
	if w.Projects, err = k.among(in.Project); err != nil {
		return nil, err
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
	switch {
	case in.Worker == "" && t.piped() && len(held) > 0:
		return heldAnswer(held), nil
	case strings.EqualFold(in.Worker, "new"):
		w.Worker, e.worker = "", ""
	}
	if len(in.Skills) > 0 {
		w.Skills = in.Skills
	}
	k.Worker = w.Worker
	resume := k.wait(w.Wait)
	h, err := t.b.Next(ctx, k.Actor, w)
	resume()
	unknown, _ := t.unknownSkills(ctx, w.Projects, in.Skills) // a remark, which may be missing
	if nothing, ok := errors.AsType[*board.Nothing](err); ok {
		a := nothingAnswer(nothing, k.isLead(""), in.Wait)
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
			return nil, k.notFree(ctx, e, err)
		}
		return nil, k.refuse(e, err)
	}
	t.remember(h.Claim)
	a := handoutAnswer(h)
	if unknown != "" {
		a.more = append(a.more, unknown)
	}
	others := slices.DeleteFunc(held, func(c board.Claim) bool { return c.Handle == h.Claim.Handle })
	if !t.piped() && in.Worker == "" && len(others) > 0 {
		a.more = append(a.more, fmt.Sprintf("The same key also holds %s. If one of these is yours, do not begin this one: %s, then %s.",
			claimList(others),
			call("report_task_failed", "claim", h.Claim.Handle.String(), "kind", "not_now", "reason", "I hold another"),
			call("get_next_task", "worker", others[0].Worker.Name)))
	}
	return a, nil
}

// notFree says why a task that was wished for is not handed out.
func (k *caller) notFree(ctx context.Context, e errand, err error) error {
	_, reasons, whyErr := k.t.b.Why(ctx, e.task)
	r, ok := asRefusal(k.refuse(e, err))
	if whyErr != nil || !ok || len(reasons) == 0 {
		return k.refuse(e, err)
	}
	r.state = fmt.Sprintf("%v is not free.", e.task)
	switch reasons[0].Code {
	case board.WhyLease:
		r.why = "Another worker holds it."
	case board.WhyReserved:
		r.why = "It is reserved for up to 10 minutes for the worker that asked about it."
	case board.WhyReady: // it was free, but not for this worker
	default:
		r.why = reasons[0].Text
	}
	r.next = "Next, for any other task: " + nextCall(e.worker) + "."
	return r
}

// unknownSkills names what no project here asks for.
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
	return "Ignored, because the project does not list these skills: " + oneLine(strings.Join(unknown, ", "), 200) + ".", nil
}

var reportProgress = &definition{
	name:  "report_progress",
	about: "Record progress on your task, for people watching and for the next worker. The answer includes news: answers, edits, a stop.",
	props: []prop{
		{name: "claim", kind: text, must: true, about: claimAbout, also: claimNames},
		{name: "note", kind: text, must: true, about: "what is done and what comes next, in a sentence or two", also: []string{"text", "message", "progress", "summary"}},
		{name: "percent", kind: number, about: "how much is done", most: 100},
		{name: "branch", kind: text, about: "the git branch that the work is on"},
	},
	run: run(progress),
}

var claimNames = []string{"claim_id", "handle", "lease", "task", "task_id", "id"}

func progress(ctx context.Context, t *Tools, k *caller, in struct {
	Claim   string `json:"claim"`
	Note    string `json:"note"`
	Percent int    `json:"percent"`
	Branch  string `json:"branch"`
},
) (*answer, error) {
	e := errand{not: "Not recorded."}
	h, err := k.claim(ctx, e, in.Claim)
	if err != nil {
		return nil, err
	}
	e.claim = h
	where := t.where(ctx)
	if in.Branch != "" {
		where.Branch = in.Branch
	}
	n, err := t.b.Progress(ctx, k.Actor, h, board.Note{Text: in.Note, Percent: in.Percent, Where: where})
	if err != nil {
		return nil, k.refuse(e, err)
	}
	n.Answers = t.news(h, n.Answers)
	return noticeAnswer(h, n), nil
}

// news are the answers that the holder of a claim has not been told here yet.
func (t *Tools) news(h board.Handle, answers []board.Question) []board.Question {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.told) > 10_000 {
		clear(t.told)
	}
	var fresh []board.Question
	for _, q := range answers {
		key := h.String() + " " + q.ID.String()
		if !t.told[key] {
			t.told[key] = true
			fresh = append(fresh, q)
		}
	}
	return fresh
}

var evidenceKinds = texts(board.EvidenceKinds)

var reportTaskDone = &definition{
	name: "report_task_done",
	about: "Report your claimed task as done. Call this only when it is complete; otherwise call report_task_failed. " +
		"Repeating the same report is safe.",
	props: []prop{
		{name: "claim", kind: text, must: true, about: claimAbout, also: claimNames},
		{name: "summary", kind: text, must: true, about: "what was done and where it is; shown to the workers of dependent tasks", also: []string{"result", "message", "note"}},
		{name: "evidence", kind: objects, about: "proof that the task is done; the task lists the required kinds", plain: "ref", items: []prop{
			{name: "kind", kind: text, must: true, enum: evidenceKinds, about: "which kind", also: []string{"type"}},
			{name: "ref", kind: text, about: "the commit, address, file or command", also: []string{"url", "value", "id", "path"}},
			{name: "detail", kind: text, about: "such as its last lines", also: []string{"description", "output"}},
		}},
		{name: "artifacts", kind: list, about: "files or addresses that it left"},
		{name: "follow_ups", kind: list, about: "new tasks you found necessary, at most 5; held until a lead starts them"},
	},
	hints: mcp.ToolAnnotations{IdempotentHint: true},
	refuse: map[string]string{
		"status": doneOnly, "success": doneOnly, "failed": doneOnly,
	},
	instead: call("report_task_failed", "claim", "…", "reason", "…"),
	run:     run(done),
}

const doneOnly = "report_task_done always means done, and has no status, success or failed: ignoring it would record a failure as done."

type doneInput struct {
	Claim    string `json:"claim"`
	Summary  string `json:"summary"`
	Evidence []struct {
		Kind   board.EvidenceKind `json:"kind"`
		Ref    string             `json:"ref"`
		Detail string             `json:"detail"`
	} `json:"evidence"`
	Artifacts []string `json:"artifacts"`
	FollowUps []string `json:"follow_ups"`
}

func done(ctx context.Context, t *Tools, k *caller, in doneInput) (*answer, error) {
	e := errand{not: "Not recorded."}
	h, err := k.claim(ctx, e, in.Claim)
	if err != nil {
		return nil, err
	}
	e.claim = h
	if isBlank(in.Summary) {
		return nil, k.refuse(e, blank("summary"))
	}
	r := board.Report{Summary: in.Summary, Artifacts: in.Artifacts, Where: t.where(ctx)}
	for _, x := range in.Evidence {
		r.Evidence = append(r.Evidence, board.Evidence{Kind: x.Kind, Ref: x.Ref, Detail: x.Detail})
	}
	for _, s := range in.FollowUps {
		r.FollowUps = append(r.FollowUps, board.NewTask{Description: s, Priority: board.Normal})
	}
	out, err := t.b.Done(ctx, k.Actor, h, r)
	if err != nil {
		return nil, k.refuse(e, err)
	}
	return doneAnswer(out), nil
}

var reportTaskFailed = &definition{
	name: "report_task_failed",
	about: "Report that you could not do your claimed task. Report early and honestly; it helps the next worker. " +
		"kind decides what happens: blocked puts your reason to people as a question; wrong_spec fails the task until a lead fixes it; environment retries it after a cool-down; " +
		"not_now returns it with no failure counted; too_hard and other return it for another attempt.",
	props: []prop{
		{name: "claim", kind: text, must: true, about: claimAbout, also: claimNames},
		{name: "reason", kind: text, must: true, about: "what went wrong; for blocked: the question to people", also: []string{"summary", "message", "error", "note"}},
		{name: "kind", kind: text, enum: texts(board.FailureKinds), about: "other if not given", also: []string{"type"}},
		{name: "do_not_repeat", kind: text, about: "what the next attempt should not try again"},
	},
	hints: mcp.ToolAnnotations{IdempotentHint: true},
	run:   run(fail),
}

func fail(ctx context.Context, t *Tools, k *caller, in struct {
	Claim       string            `json:"claim"`
	Reason      string            `json:"reason"`
	Kind        board.FailureKind `json:"kind"`
	DoNotRepeat string            `json:"do_not_repeat"`
},
) (*answer, error) {
	e := errand{not: "Not recorded."}
	h, err := k.claim(ctx, e, in.Claim)
	if err != nil {
		return nil, err
	}
	e.claim = h
	if isBlank(in.Reason) {
		return nil, k.refuse(e, blank("reason"))
	}
	out, err := t.b.Fail(ctx, k.Actor, h, board.Failure{
		Kind: in.Kind, Reason: in.Reason, DoNotRepeat: in.DoNotRepeat, Where: t.where(ctx),
	})
	if err != nil {
		return nil, k.refuse(e, err)
	}
	if out.Question != 0 && !out.Again {
		t.tell(ctx, out.Question)
	}
	return failAnswer(out, in.Kind), nil
}

// isBlank reports whether a text is what stands in the calls that a hand-out shows:
// models copy those.
func isBlank(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && strings.Trim(s, ".… ") == ""
}

func blank(name string) error {
	return fmt.Errorf("%w: the %s is still the \"…\" of the example: put your own words there", board.ErrInvalid, name)
}

// texts are values of a string type as strings.
func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
