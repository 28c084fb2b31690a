package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/planfile"
	"github.com/bossman-dev/bossman/internal/visible"
)

// maxPlanRows is how many tasks of a plan the preview lists.
const maxPlanRows = 200

// planPage is what plan.html shows: a form, and what the tasks would be.
type planPage struct {
	Path, BackPath string
	Projects       []choice
	Project        string
	Text           string
	Hold           bool
	Error          string
	// Seen names the text of the preview; empty if there is none.
	Seen        string
	Goal, Words string
	Graph       *graphView
	Rows        []planRow
	More        int
}

// A planRow is a task of a plan.
type planRow struct {
	Name, Path, Title string
	State             shape
	Facts             []string
}

// showPlan shows the empty form.
func showPlan(q *request) error { return q.showPlanOf(planPage{Project: q.project}, 0) }

func (q *request) showPlanOf(p planPage, status int) error {
	p.Path, p.BackPath = q.link("/board/plan"), q.link("/board")
	for _, slug := range q.caller.Projects(access.CreatePlan) {
		p.Projects = append(p.Projects, choice{slug, slug, slug == p.Project})
	}
	return q.show(page{Template: "plan", Title: "Plan", Current: "/board", Follow: "", Status: status, Main: p})
}

// postPlan shows what a plan would create, or creates it if the person has seen that.
func postPlan(q *request) error {
	p := planPage{Project: strings.TrimSpace(q.PostForm.Get("in")), Text: strings.ReplaceAll(q.PostForm.Get("text"), "\r\n", "\n"), Hold: q.PostForm.Get("draft") != ""}
	if p.Project == "" {
		p.Project = q.project
	}
	again := func(why string, status int) error {
		p.Error = why
		return q.showPlanOf(p, status)
	}
	if p.Project == "" {
		return again("Choose a project.", http.StatusUnprocessableEntity)
	}
	if err := q.mayDo(access.CreatePlan, p.Project); err != nil {
		return err
	}
	plan, err := planfile.Parse([]byte(p.Text))
	if err != nil {
		return again("This is not a plan: "+cut(visible.Text(err.Error()), 300)+".", http.StatusUnprocessableEntity)
	}
	plan.Project, plan.DryRun, plan.Key = p.Project, true, ""
	plan.Hold = plan.Hold || p.Hold
	made, err := q.site.board.CreatePlan(q.Context(), q.caller.Actor, plan)
	if why, status := planRefusal(err); why != "" {
		return again(why, status)
	}
	if err != nil {
		return err
	}
	p.preview(&plan, &made)
	create := q.PostForm.Get("act") == "create"
	if create && q.PostForm.Get("seen") != p.Seen {
		return again("Not created. The plan is not the one that you saw. This is what it would create now.", http.StatusConflict)
	}
	if !create {
		q.act.Verb = "" // nothing was done
		return q.showPlanOf(p, 0)
	}
	plan.DryRun = false
	_, err = q.site.board.CreatePlan(q.Context(), q.caller.Actor, plan)
	if why, status := planRefusal(err); why != "" {
		return again("Not created. "+why, status)
	}
	if err != nil {
		return err
	}
	return q.redirect("/board?project="+p.Project, "planned")
}

// planRefusal is refusal for the errors of a plan.
func planRefusal(err error) (string, int) {
	if cycle, ok := errors.AsType[*board.CycleError](err); ok {
		return "The tasks depend on each other in a cycle: " + cut(visible.Line(strings.Join(cycle.Path, " → ")), 400) + ".", http.StatusUnprocessableEntity
	}
	if errors.Is(err, board.ErrNotFound) {
		return "The plan names a task that does not exist.", http.StatusUnprocessableEntity
	}
	return refusal(err)
}

// preview fills in what a plan would create.
func (p *planPage) preview(plan *board.Plan, made *board.Planned) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %v %+v", p.Project, p.Text, p.Hold, made))
	p.Seen, p.Goal = hex.EncodeToString(sum[:8]), line(plan.Goal, 200)
	index := map[string]int{}
	var nodes []node
	ready, existed := 0, 0
	for i, t := range made.Tasks {
		n := node{Name: line(t.Key, 40), Title: line(t.Title, 160), Shape: stateShape(board.StateBlocked), Class: "wait"}
		switch {
		case t.Existed:
			n.Name, n.Path, n.Shape, n.Class = t.ID.String(), taskPath(t.ID), shape{"done", "", "There already"}, "done"
			existed++
		case t.Ready:
			n.Shape, n.Class = stateShape(board.StateReady), ""
			ready++
		case plan.Hold || plan.Tasks[i].Hold:
			n.Shape = stateShape(board.StateDraft)
		}
		index[t.Key] = i
		nodes = append(nodes, n)
	}
	var edges []edge
	for i, t := range plan.Tasks {
		row := planRow{Name: nodes[i].Name, Path: nodes[i].Path, Title: nodes[i].Title, State: nodes[i].Shape}
		if t.Priority != board.Normal {
			row.Facts = append(row.Facts, t.Priority.String())
		}
		if len(t.After) > 0 {
			row.Facts = append(row.Facts, "after "+line(strings.Join(t.After, ", "), 200))
		}
		if t.Within != "" {
			row.Facts = append(row.Facts, "part of "+line(t.Within, 40))
		}
		if len(t.Skills) > 0 {
			row.Facts = append(row.Facts, "skill: "+line(strings.Join(t.Skills, ", "), 80))
		}
		if len(p.Rows) < maxPlanRows {
			p.Rows = append(p.Rows, row)
		}
		for _, from := range waitsFor(plan, index, i) {
			edges = append(edges, edge{from: from, to: i})
		}
		if to, ok := index[t.Within]; ok && t.Within != "" {
			edges = append(edges, edge{from: i, to: to, part: true})
		}
	}
	p.More = len(plan.Tasks) - len(p.Rows)
	setLayers(nodes, edges)
	label := fmt.Sprintf("The plan: %s, longest chain %d", plural(len(nodes), "task", "tasks"), made.Longest)
	p.Graph = drawGraph(label, "plan", nodes, edges, 5, 176)
	p.Words = fmt.Sprintf("%s, %d ready at once, longest chain %d.", plural(len(nodes)-existed, "new task", "new tasks"), ready, made.Longest)
	if existed > 0 {
		p.Words += fmt.Sprintf(" %d are there already: an earlier plan created them.", existed)
	}
	if existed == len(nodes) {
		p.Words, p.Seen = "All its tasks are there already: this plan was read before. Nothing would be created.", ""
	}
}

// waitsFor returns the tasks of a plan that one of them waits for: its own, and those of what it is a part of,
// but for other parts of that.
func waitsFor(plan *board.Plan, index map[string]int, task int) (list []int) {
	above := map[int]bool{}
	for at := task; !above[at]; {
		above[at] = true
		for _, name := range plan.Tasks[at].After {
			from, ok := index[name]
			part := at != task && ok && isWithin(plan, index, from, at)
			if ok && !part && !slices.Contains(list, from) {
				list = append(list, from)
			}
		}
		if up, ok := index[plan.Tasks[at].Within]; ok && plan.Tasks[at].Within != "" {
			at = up
		}
	}
	return list
}

// isWithin reports whether a task of a plan is a part of another one, or of its parts.
func isWithin(plan *board.Plan, index map[string]int, task, of int) bool {
	for range plan.Tasks {
		up, ok := index[plan.Tasks[task].Within]
		if !ok || plan.Tasks[task].Within == "" {
			return false
		}
		if task = up; task == of {
			return true
		}
	}
	return false
}
