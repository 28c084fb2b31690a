package tools

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

var createPlan = &definition{
	name: "create_plan",
	about: "Create several related tasks, all or none. Make each one agent's work with a checkable result; " +
		"set after only where order matters. dry_run validates and creates nothing.",
	props: []prop{
		{name: "tasks", kind: objects, required: true, about: "the tasks", items: []prop{
			{name: "key", kind: text, required: true, about: "a short name inside this plan", aliases: []string{"id", "name"}},
			{name: "title", kind: text, required: true, about: "one line"},
			{name: "description", kind: text, about: "what to do, for someone who has not seen your conversation"},
			{name: "acceptance", kind: text, about: "acceptance criteria that someone else can check", commas: true, aliases: []string{"done_when", "acceptance_criteria"}},
			{name: "after", kind: text, about: "keys or ids of tasks that must be done first, comma-separated", commas: true, aliases: []string{"depends_on", "dependencies", "blocked_by"}},
			{name: "priority", kind: text, enum: priorities, about: "default normal"},
			{name: "parent", kind: text, about: "key or id of the task it is a part of"},
			{name: "areas", kind: text, about: "directories the task changes, comma-separated", commas: true, aliases: []string{"files", "paths"}},
			{name: "skills", kind: text, about: "skills its worker must have, comma-separated", commas: true},
			{name: "evidence", kind: text, about: "evidence kinds its report must include, comma-separated: " + strings.Join(evidenceKinds, ", "), commas: true, aliases: []string{"wants"}},
		}},
		{name: "goal", kind: text, about: "what the plan is for"},
		{name: "draft", kind: flag, about: "true: none is handed out until a lead starts it", aliases: []string{"hold"}},
		{name: "dry_run", kind: flag, about: "validate only; create nothing"},
		{name: "project", kind: text, about: "the project it belongs to"},
		{name: "idempotency_key", kind: text, about: "any unique string; repeating the call with it creates nothing twice"},
	},
	run: run(plan),
}

type planInput struct {
	Tasks []struct {
		Key         string `json:"key"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Acceptance  string `json:"acceptance"`
		After       string `json:"after"`
		Priority    string `json:"priority"`
		Parent      string `json:"parent"`
		Areas       string `json:"areas"`
		Skills      string `json:"skills"`
		Evidence    string `json:"evidence"`
	} `json:"tasks"`
	Goal    string `json:"goal"`
	Draft   bool   `json:"draft"`
	DryRun  bool   `json:"dry_run"`
	Project string `json:"project"`
	Key     string `json:"idempotency_key"`
}

func plan(ctx context.Context, t *Tools, k *caller, in planInput) (*answer, error) {
	e := action{what: "No plan created."}
	project, err := k.project(in.Project)
	if err != nil {
		return nil, err
	}
	p := board.Plan{Project: project, Goal: in.Goal, Hold: in.Draft, DryRun: in.DryRun, Key: in.Key}
	var skills []string
	for _, x := range in.Tasks {
		n := board.NewTask{
			Title: x.Title, Description: x.Description, Acceptance: x.Acceptance, Priority: board.Normal,
			Areas: board.SplitList(x.Areas), Skills: board.SplitList(x.Skills),
		}
		if x.Priority != "" {
			if n.Priority, err = board.ParsePriority(x.Priority); err != nil {
				return nil, k.refuse(e, err)
			}
		}
		for _, kind := range board.SplitList(x.Evidence) {
			n.Wants = append(n.Wants, board.EvidenceKind(strings.ToLower(kind)))
		}
		skills = append(skills, n.Skills...)
		p.Tasks = append(p.Tasks, board.PlanTask{Key: x.Key, After: board.SplitList(x.After), Within: x.Parent, NewTask: n})
	}
	made, err := t.b.CreatePlan(ctx, k.Actor, p)
	if err != nil {
		return nil, k.refuse(e, missing(err, "the plan names a task id that does not exist"))
	}
	a := planAnswer(made)
	if more, err := t.unknownSkills(ctx, []string{project}, skills); err == nil && more != "" {
		a.more = append(a.more, more)
	}
	return a, nil
}

// planAnswer lists the tasks of a plan: how many, which are ready, and the id of each key.
func planAnswer(p board.Planned) *answer {
	w := wirePlan{Longest: p.Longest, Draft: p.Held, DryRun: p.DryRun}
	short := func(id board.ID) string { return strings.TrimPrefix(id.String(), id.Project+"-") }
	ids := map[string]string{}
	for _, x := range p.Tasks {
		ids[x.Key] = short(x.ID)
	}
	var ready, rows []string
	for _, x := range p.Tasks {
		w.Tasks = append(w.Tasks, wirePlanned{Key: x.Key, ID: x.ID.String(), Title: x.Title, After: x.After, Ready: x.Ready})
		name := inline(x.Key, 60)
		if !p.DryRun {
			name += "=" + short(x.ID)
		}
		if x.Ready {
			ready = append(ready, cmp.Or(short(x.ID), inline(x.Key, 60)))
		}
		var after []string
		for _, key := range x.After {
			after = append(after, cmp.Or(ids[key], inline(key, 60)))
		}
		if len(after) > 0 {
			name += " (after " + strings.Join(after, ", ") + ")"
		}
		rows = append(rows, name)
	}
	n := len(p.Tasks)
	var s string
	switch {
	case p.DryRun:
		s = fmt.Sprintf("Checked, nothing created: %s, ", count(n, "task", "tasks"))
	case n == 1:
		s = "Created 1 task " + p.Tasks[0].ID.String() + ": "
	default:
		s = fmt.Sprintf("Created %d tasks %v…%s: ", n, p.Tasks[0].ID, short(p.Tasks[n-1].ID))
	}
	s += fmt.Sprintf("%d ready now", len(ready))
	if len(ready) > 0 {
		s += " (" + joinUpTo(ready, ", ", 400) + ")"
	}
	s += fmt.Sprintf(", longest chain %d. %s.", p.Longest, joinUpTo(rows, ", ", 4000))
	if p.Held {
		s += " All are drafts; start each with update_task draft:false."
	}
	return &answer{text: s, result: w}
}
