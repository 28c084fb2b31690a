package tools

import (
	"context"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

var createTask = &definition{
	name: "create_task",
	about: "Create one task, for some agent to work on later. For several related tasks, a lead calls create_plan. " +
		"For steps inside your own task, use your own to-do list.",
	props: append(taskProps(
		prop{name: "description", kind: text, about: "what to do, for someone who has not seen your conversation"},
		prop{name: "title", kind: text, about: "one line; default: the first line of the description"},
	),
		prop{name: "project", kind: text, about: "the project it belongs to"},
		prop{name: "idempotency_key", kind: text, about: "any unique string; repeating the call with it creates nothing twice"},
	),
	needs: []string{"description", "title"},
	run:   run(create),
}

var priorities = []string{"urgent", "high", "normal", "low"}

var evidenceKinds = toStrings(board.EvidenceKinds)

// taskProps returns the arguments that create_task and update_task share, after more.
func taskProps(more ...prop) []prop {
	return append(more,
		prop{name: "acceptance", kind: text, about: "acceptance criteria that someone else can check", aliases: []string{"done_when", "acceptance_criteria"}, commas: true},
		prop{name: "priority", kind: text, enum: priorities, about: "default normal"},
		prop{name: "skills", kind: list, commas: true, about: "skills its worker must have"},
		prop{name: "areas", kind: list, commas: true, about: "directories the task changes; tasks with overlapping areas are handed out last", aliases: []string{"files", "paths"}},
		prop{name: "depends_on", kind: list, commas: true, about: "ids of tasks that must be done first", aliases: []string{"after", "blocked_by", "dependencies"}},
		prop{name: "parent", kind: text, about: "id of the task it is a part of"},
		prop{name: "evidence", kind: list, commas: true, enum: evidenceKinds, about: "evidence kinds that report_task_done must include", aliases: []string{"wants"}},
		prop{name: "draft", kind: flag, about: "true: not handed out until a lead starts it", aliases: []string{"hold"}},
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
	Draft       bool                 `json:"draft"`
	Project     string               `json:"project"`
	Key         string               `json:"idempotency_key"`
}

func create(ctx context.Context, t *Tools, k *caller, in taskInput) (*answer, error) {
	e := action{what: "Not created."}
	project, err := k.project(in.Project)
	if err != nil {
		return nil, err
	}
	n, err := newTask(project, in)
	if err != nil {
		return nil, k.refuse(e, err)
	}
	task, doc, own, err := t.create(ctx, k, n, in.Key)
	if err != nil {
		err = missing(err, "a task that it depends on, or its parent, does not exist")
		if errors.Is(err, board.ErrConflict) && !k.isLead(project) {
			e.next = "Continue with your own task and mention the rest in its summary."
		}
		return nil, k.refuse(e, err)
	}
	a := &answer{text: createdText(task, doc), result: wireOf(task, doc)}
	switch {
	case own:
		a.more = append(a.more, fmt.Sprintf("%v is a draft: it is not handed out until a lead starts it. Continue with your own task.", task.ID))
	case task.Hold && k.isLead(project):
		a.more = append(a.more, fmt.Sprintf("%v is a draft: it is not handed out until you start it with %s.", task.ID, call("update_task", "task", task.ID.String(), "draft", false)))
	case task.Hold:
		a.more = append(a.more, fmt.Sprintf("%v is a draft: it is not handed out until a lead starts it.", task.ID))
	}
	if more, err := t.unknownSkills(ctx, []string{project}, in.Skills); err == nil && more != "" {
		a.more = append(a.more, more)
	}
	return a, nil
}

// maxEcho is how many bytes of a description create_task repeats to the model that wrote it.
const maxEcho = 200

// createdText is the answer of create_task: the task as JSON. The state is left out for a
// task that is ready.
func createdText(t board.Task, d board.Doc) string {
	var state string
	if s := t.State(); s != board.StateReady {
		state = string(s)
	}
	return string(visible.JSON(must(jsonv2.Marshal(struct {
		ID          string `json:"id"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Status      string `json:"status"`
		State       string `json:"state,omitzero"`
	}{t.ID.String(), t.Title, visible.Cut(d.Description, maxEcho), string(t.Status), state}))))
}

// newTask converts the arguments of create_task.
func newTask(project string, in taskInput) (board.NewTask, error) {
	n := board.NewTask{
		Project: project, Title: in.Title, Description: in.Description, Acceptance: in.Acceptance, Priority: board.Normal,
		Skills: in.Skills, Areas: in.Areas, Wants: in.Evidence, Hold: in.Draft,
	}
	var err error
	if in.Priority != "" {
		if n.Priority, err = board.ParsePriority(in.Priority); err != nil {
			return n, err
		}
	}
	if n.DependsOn, err = taskIDs(project, in.DependsOn); err != nil {
		return n, err
	}
	if in.Parent != "" {
		n.Parent, err = board.ParseIDIn(project, in.Parent)
	}
	return n, err
}

// create creates a task. A worker's task is created under a claim of its own in the project:
// it is a draft until a lead starts it, and counts against the claim's limit. With several
// claims on one connection, the first below its limit is used. What an agent that was started for
// one claim creates is under that, also when it has ended: else agents could go on giving
// each other work. In another project it is a draft.
func (t *Tools) create(ctx context.Context, k *caller, n board.NewTask, key string) (task board.Task, doc board.Doc, own bool, err error) {
	switch bound := t.claimBound(); {
	case !bound.IsZero() && bound.Task.Project != n.Project:
		n.Hold = true
		task, doc, err = t.b.Create(ctx, k.Actor, n, key)
		return task, doc, false, err
	case !bound.IsZero():
		k.Worker = t.workerOf(bound)
		task, doc, err = t.b.CreateUnder(ctx, k.Actor, bound, n, key)
		return task, doc, true, err
	}
	var claims []board.Claim
	if !k.isLead(n.Project) {
		if claims, err = k.held(ctx); err != nil {
			return task, doc, false, err
		}
	}
	for _, c := range claims {
		if c.Task.Project != n.Project || c.IsReview() {
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
