package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/board"
)

// Looking at a task, and making one.

var getTask = &definition{
	name:  "get_task",
	about: "Read a task: its text, state, links, questions and history.",
	props: []prop{
		{name: "task", kind: text, about: "its id; the one you hold if not given", also: append([]string{"claim"}, taskNames...)},
		{name: "detail", kind: text, enum: []string{"brief", "full"}, about: "full has the whole text and more history"},
	},
	run: run(get),
}

func get(ctx context.Context, t *Tools, k *caller, in struct {
	Task   string `json:"task"`
	Detail string `json:"detail"`
},
) (*answer, error) {
	id, err := k.task(ctx, in.Task)
	if err != nil {
		return nil, err
	}
	d, reasons, err := t.b.Why(ctx, id)
	if err != nil {
		return nil, k.refuse(errand{not: "Not found.", task: id}, err)
	}
	held, err := k.held(ctx)
	if err != nil {
		return nil, k.refuse(errand{not: "Not read.", task: id}, err)
	}
	w := wireOf(d.Task, d.Doc)
	for _, b := range d.Blockers {
		w.DependsOn = append(w.DependsOn, b.ID.String())
	}
	return &answer{text: taskText(d, reasons, held, in.Detail == "full"), result: w}, nil
}

// taskText is a task as it is read.
func taskText(d board.Dossier, reasons []board.Reason, held []board.Claim, full bool) string {
	t := &d.Task
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s\n%s, priority %s, made %s", t.ID, t.Title, stateOf(t), t.Priority, since(d.Now, t.CreatedAt))
	if t.Attempt > 0 {
		fmt.Fprintf(&b, ", attempt %d", t.Attempt)
	}
	if t.Failures > 0 {
		fmt.Fprintf(&b, ", %d of %d tries failed", t.Failures, t.MaxFailures)
	}
	b.WriteString(".")
	switch {
	case isOwn(held, d.Claim):
		fmt.Fprintf(&b, "\nYours: claim %v, worker %s; the lease has %s left.", d.Claim.Handle, d.Claim.Worker.Name, board.Span(d.Claim.LeaseUntil.Sub(d.Now)))
	case d.Claim != nil:
		fmt.Fprintf(&b, "\nHeld by another worker for %s.", board.Span(d.Now.Sub(d.Claim.GrantedAt)))
	default:
		for _, r := range reasons {
			if r.Code == board.WhyReserved {
				r.Text = "It is reserved for up to 10 minutes for the worker that asked about it."
			}
			if r.Code == board.WhyQuestion {
				r.Text = "It waits for an answer from people."
			}
			b.WriteString("\n" + r.Text)
		}
	}
	section := func(title, body string) {
		if body != "" {
			b.WriteString("\n\n" + title + "\n" + body)
		}
	}
	long, lines, events := 2500, 6, 5
	if full {
		long, lines, events = 200_000, 1000, 20
	}
	if d.Doc.Description != t.Title {
		section("DESCRIPTION", cutWithPointer(written(d.Doc.Description), long, t.ID))
	}
	section("DONE WHEN", cutWithPointer(written(d.Doc.Acceptance), long, t.ID))
	section("EVIDENCE WANTED", words(t.Wants))
	section("SKILLS", strings.Join(t.Skills, ", "))
	section("AREAS", strings.Join(t.Areas, ", "))
	section("PART OF", t.Parent.String())
	section("BUILDS ON", taskLines(d.Blockers, d.Results, lines))
	section("FREES", taskLines(d.Dependents, nil, lines))
	section("PARTS", taskLines(d.Children, nil, lines))
	section("QUESTIONS", questionLines(d.Questions, lines))
	section("RESULT", resultText(d.Doc.Result, long))
	section("HISTORY", historyText(d, events))
	return b.String()
}

// stateOf is a status, and what else keeps a pending task from being handed out.
func stateOf(t *board.Task) string {
	switch {
	case t.Status != board.Pending:
		return string(t.Status)
	case t.Hold:
		return "pending (held)"
	case t.OpenBlockers > 0 || t.OpenChildren > 0:
		return "pending (blocked)"
	case !t.NotBefore.IsZero():
		return "pending (later)"
	}
	return "pending (ready)"
}

func taskLines(ts []board.Task, results map[board.ID]board.Result, most int) string {
	var lines []string
	for i, t := range ts {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(ts)-i))
			break
		}
		line := fmt.Sprintf("%v (%s): %s", t.ID, t.Status, oneLine(t.Title, 100))
		if r, ok := results[t.ID]; ok {
			line += ": " + oneLine(r.Summary, 200)
			if at := resultPlace(r); at != "" {
				line += " (" + at + ")"
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func questionLines(qs []board.Question, most int) string {
	var lines []string
	for _, q := range qs {
		line := fmt.Sprintf("%v %s: %s", q.ID, q.State, oneLine(q.Text, 200))
		if q.State == board.QuestionAnswered {
			line += " → " + oneLine(q.Answer, 300) + " (" + answeredBy(q) + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

func resultText(r *board.Result, long int) string {
	if r == nil {
		return ""
	}
	lines := []string{cut(written(r.Summary), long)}
	for _, e := range r.Evidence {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Kind, oneLine(e.Ref, 200), oneLine(e.Detail, 200))))
	}
	for _, a := range r.Artifacts {
		lines = append(lines, "artifact "+oneLine(a, 200))
	}
	if r.Branch != "" {
		lines = append(lines, "branch "+r.Branch)
	}
	return strings.Join(lines, "\n")
}

func historyText(d board.Dossier, most int) string {
	var lines []string
	for _, e := range d.Events {
		line := fmt.Sprintf("%s: %s", since(d.Now, e.When()), e.Kind)
		if e.To != "" && e.From != e.To {
			line += ", now " + string(e.To)
		}
		if e.Detail.Text != "" {
			line += ": " + oneLine(e.Detail.Text, 160)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

var priorities = []string{"urgent", "high", "normal", "low"}

// taskProps are the arguments that making and changing a task share.
func taskProps(more ...prop) []prop {
	return append(more,
		prop{name: "acceptance", kind: text, about: "acceptance criteria that someone else can check", also: []string{"done_when", "acceptance_criteria"}, commas: true},
		prop{name: "priority", kind: text, enum: priorities, about: "normal if not given"},
		prop{name: "skills", kind: list, commas: true, about: "what its worker must be able to do"},
		prop{name: "areas", kind: list, commas: true, about: "directories the task changes; tasks with overlapping areas are handed out last", also: []string{"files", "paths"}},
		prop{name: "depends_on", kind: list, commas: true, about: "ids of tasks that must be done first", also: []string{"after", "blocked_by", "dependencies"}},
		prop{name: "parent", kind: text, about: "id of the task it is a part of"},
		prop{name: "evidence", kind: list, commas: true, enum: evidenceKinds, about: "evidence kinds that report_task_done must include", also: []string{"wants"}},
		prop{name: "hold", kind: flag, about: "true keeps it from being handed out until a lead starts it"},
	)
}

type taskInput struct {
	Description string               `json:"description"`
	Title       string               `json:"title"`
	Priority    string               `json:"priority"`
	Skills      []string             `json:"skills"`
	Areas       []string             `json:"areas"`
	DependsOn   []string             `json:"depends_on"`
	Parent      string               `json:"parent"`
	Acceptance  string               `json:"acceptance"`
	Evidence    []board.EvidenceKind `json:"evidence"`
	Hold        bool                 `json:"hold"`
	Project     string               `json:"project"`
	Key         string               `json:"idempotency_key"`
}

var createTask = &definition{
	name: "create_task",
	about: "Put one new task on the board, for somebody to work on later. For several that belong together a lead uses create_plan; " +
		"for steps inside your own task use your own to-do list.",
	props: append(taskProps(
		prop{name: "description", kind: text, must: true, about: "what to do, for someone who has not seen your conversation"},
		prop{name: "title", kind: text, about: "one line; the description's first if not given"},
	),
		prop{name: "project", kind: text, about: "the project it belongs to"},
		prop{name: "idempotency_key", kind: text, about: "any unique string; repeating the call with it creates nothing twice"},
	),
	run: run(create),
}

func create(ctx context.Context, t *Tools, k *caller, in taskInput) (*answer, error) {
	e := errand{not: "Not created."}
	project, err := k.project(in.Project)
	if err != nil {
		return nil, err
	}
	n, err := newTask(project, in)
	if err != nil {
		return nil, k.refuse(e, err)
	}
	task, doc, held, err := t.create(ctx, k, n, in.Key)
	if err != nil {
		if errors.Is(err, board.ErrNotFound) {
			err = fmt.Errorf("%w: a task that it depends on, or its parent, is not there", board.ErrInvalid)
		}
		if errors.Is(err, board.ErrConflict) && !k.isLead(project) {
			e.next = "Go on with your own task, and tell of the rest in its summary."
		}
		return nil, k.refuse(e, err)
	}
	a := &answer{text: createdText(task, doc), result: wireOf(task, doc)}
	if held {
		a.more = append(a.more, "It is held until a lead starts it. Go on with your own task.")
	}
	if more, err := t.unknownSkills(ctx, []string{project}, in.Skills); err == nil && more != "" {
		a.more = append(a.more, more)
	}
	return a, nil
}

// createdText is what create_task answers: the task as JSON.
func createdText(t board.Task, d board.Doc) string {
	return string(must(jsonv2.Marshal(struct {
		ID          string `json:"id"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Status      string `json:"status"`
	}{t.ID.String(), t.Title, d.Description, string(t.Status)})))
}

func newTask(project string, in taskInput) (board.NewTask, error) {
	n := board.NewTask{
		Project: project, Title: in.Title, Description: in.Description, Acceptance: in.Acceptance, Priority: board.Normal,
		Skills: in.Skills, Areas: in.Areas, Wants: in.Evidence, Hold: in.Hold,
	}
	var err error
	if in.Priority != "" {
		if n.Priority, err = board.ParsePriority(in.Priority); err != nil {
			return n, err
		}
	}
	if n.DependsOn, err = taskIDs(in.DependsOn); err != nil {
		return n, err
	}
	if in.Parent != "" {
		n.Parent, err = board.ParseID(in.Parent)
	}
	return n, err
}

// create makes a task. What a worker makes while it holds one is held, and bounded;
// with several claims on one connection the first with room is taken.
func (t *Tools) create(ctx context.Context, k *caller, n board.NewTask, key string) (task board.Task, doc board.Doc, held bool, err error) {
	var claims []board.Claim
	if !k.isLead(n.Project) {
		if claims, err = k.held(ctx); err != nil {
			return task, doc, false, err
		}
	}
	for _, c := range claims {
		if c.Task.Project != n.Project {
			continue
		}
		k.Worker = c.Worker.Name
		task, doc, err = t.b.CreateUnder(ctx, k.Actor, c.Handle, n, key)
		if !errors.Is(err, board.ErrConflict) {
			return task, doc, true, err
		}
	}
	if err != nil {
		return task, doc, false, err
	}
	task, doc, err = t.b.Create(ctx, k.Actor, n, key)
	return task, doc, false, err
}
