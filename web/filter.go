package web

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// A filterView is the form that narrows the board.
type filterView struct {
	Project, Text, Skill, Worker, State string
	Skills, Workers                     []choice
	States                              []choice // of a list
	Set                                 bool
	ClearPath                           string
}

// A choice is an entry of a select.
type choice struct {
	Value, Word string
	Chosen      bool
}

// filter reads the filter from the address.
func (q *request) filter(ctx context.Context) (f board.TaskFilter, v filterView, err error) {
	get := func(name string) string { return cut(strings.TrimSpace(q.URL.Query().Get(name)), 200) }
	v = filterView{Project: q.URL.Query().Get("project"), Text: get("q"), Skill: strings.ToLower(get("skill")), Worker: strings.ToLower(get("worker")), State: get("state")}
	v.Set = v.Text != "" || v.Skill != "" || v.Worker != ""
	v.ClearPath = q.link("/board", "state", v.State)
	f = board.TaskFilter{Projects: q.slugs, Query: v.Text, Skill: v.Skill, Worker: v.Worker}
	skills, workers := map[string]bool{v.Skill: true}, map[string]bool{v.Worker: true}
	for _, slug := range q.slugs {
		o, err := q.site.summary(ctx, slug)
		if err != nil {
			return f, v, err
		}
		for _, s := range o.Project.Skills {
			skills[s] = true
		}
		for _, c := range o.Claims {
			workers[c.Worker.Name] = true
		}
	}
	v.Skills, v.Workers = choices(skills, v.Skill, "Any skill"), choices(workers, v.Worker, "Any worker")
	return f, v, nil
}

// choices are the entries of a select, the empty one first.
func choices(values map[string]bool, chosen, any string) []choice {
	list := []choice{{Value: "", Word: any, Chosen: chosen == ""}}
	delete(values, "")
	for _, s := range slices.Sorted(maps.Keys(values)) {
		list = append(list, choice{Value: s, Word: line(s, 40), Chosen: s == chosen})
	}
	return list
}
