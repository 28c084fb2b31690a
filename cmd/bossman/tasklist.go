package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/cli"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) taskList() *cobra.Command {
	var all bool
	var wanted []string
	var f board.TaskFilter
	var parent, after string
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List tasks, oldest first", Args: cobra.NoArgs,
		Long: "List shows open tasks; --all adds done and cancelled ones.",
		Example: `  bossman task list --state ready
  bossman task list --state done,failed --query login`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			o, slug, err := a.openProject(ctx)
			if err != nil {
				return err
			}
			f.Projects = []string{slug}
			f.Worker = strings.ToLower(f.Worker)
			if parent != "" {
				if f.Parent, err = o.taskID(parent); err != nil {
					return err
				}
			}
			if after != "" {
				if f.After, err = o.taskID(after); err != nil {
					return err
				}
			}
			narrow := stateFilter(&f, wanted, all)
			page, more, err := o.page(cmd, f, narrow)
			if err != nil {
				return err
			}
			s, err := o.Summary(ctx, slug)
			if err != nil {
				return err
			}
			f := board.ClaimFilter{Project: slug, Tasks: []board.ID{}}
			for _, t := range page {
				f.Tasks = append(f.Tasks, t.ID)
			}
			held, err := o.Claims(ctx, f)
			if err != nil {
				return err
			}
			holders := map[board.ID]board.Claim{}
			for _, c := range held {
				if c.Killed { // on a board that cannot be written
					c.Worker.Name += " (killed)"
				}
				holders[c.Task] = c
			}
			if a.JSON {
				out := struct {
					Tasks []boardjson.Task `json:"tasks"`
					Next  string           `json:"next,omitzero"`
				}{Tasks: boardjson.FromTasks(page)}
				for i, t := range page {
					out.Tasks[i].Worker = holders[t.ID].Worker.Name
				}
				if more {
					out.Next = page[len(page)-1].ID.String()
				}
				return a.PrintJSON(out)
			}
			var rows []console.Row
			for _, t := range page {
				priority := ""
				if t.Priority != board.Normal {
					priority = t.Priority.String()
				}
				rows = append(rows, console.Row{
					console.Cyan.Cell(t.ID.String()),
					boardtext.StateCell(t.State()),
					boardtext.PriorityStyle(t.Priority).Cell(priority),
					console.Text(t.Title),
					console.Text(holders[t.ID].Worker.Name),
					console.Dim.Cell(boardtext.Ago(s.Now, t.CreatedAt)),
				})
			}
			if len(rows) > 0 {
				a.Table("", []console.Column{
					{Head: "TASK"},
					{Head: "STATE"},
					{Head: "PRIORITY", Drop: 2},
					{Head: "TITLE", Flex: true},
					{Head: "WORKER", Drop: 1},
					{Head: "CREATED", Right: true, Drop: 3},
				}, rows)
			}
			a.listFoot(cmd, page, more, s.Counts)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.BoolVarP(&all, "all", "a", false, "also list done and cancelled tasks")
	fl.StringSliceVarP(&wanted, "state", "s", nil, strings.Join(cli.States, ", "))
	fl.StringVarP(&f.Query, "query", "q", "", "search in titles and descriptions")
	fl.StringVar(&f.Skill, "skill", "", "only tasks that require this skill")
	fl.StringVar(&f.Worker, "worker", "", "only tasks held by this worker")
	fl.StringVar(&parent, "parent", "", "only parts of this task")
	fl.StringVar(&after, "after", "", "start after this task")
	fl.IntVarP(&f.Limit, "limit", "n", 100, "maximum number of tasks")
	return cmd
}

// stateFilter adds states to a filter, and returns a predicate for what a store cannot
// filter by; nil if there is none.
func stateFilter(f *board.TaskFilter, wanted []string, all bool) func(board.Task) bool {
	if len(wanted) == 0 {
		if !all {
			f.Statuses = board.Open
		}
		return nil
	}
	for _, w := range wanted {
		status := board.State(w).Status()
		if !slices.Contains(f.Statuses, status) {
			f.Statuses = append(f.Statuses, status)
		}
	}
	f.Ready = len(wanted) == 1 && wanted[0] == "ready"
	return func(t board.Task) bool {
		return slices.Contains(wanted, string(t.State())) || slices.Contains(wanted, string(t.Status))
	}
}

// page reads up to f.Limit tasks, and reports whether there are more.
func (o *openBoard) page(cmd *cobra.Command, f board.TaskFilter, narrow func(board.Task) bool) ([]board.Task, bool, error) {
	if f.Limit < 1 {
		return nil, false, console.Usagef("--limit must be at least 1")
	}
	return board.Page(f, narrow, func(f board.TaskFilter) ([]board.Task, error) { return o.List(cmd.Context(), f) })
}

// searchesAll reports whether the command looks at all tasks that it was asked for.
func searchesAll(cmd *cobra.Command, c board.Counts) bool {
	chosen := cmd.Flags().Changed
	of := c.Total()
	if !chosen("all") && !chosen("state") {
		of -= c.Status[board.Done] + c.Status[board.Cancelled]
	}
	return !chosen("query") || of <= board.Searched
}

// listFoot prints what the list does not show.
func (a *app) listFoot(cmd *cobra.Command, page []board.Task, more bool, c board.Counts) {
	chosen := slices.ContainsFunc([]string{"all", "state", "query", "skill", "worker", "parent", "after"}, cmd.Flags().Changed)
	ended := c.Status[board.Done] + c.Status[board.Cancelled]
	var text string
	switch {
	case more:
		text = fmt.Sprintf("more: %s --after %v", cli.Given(cmd, "after", "db"), page[len(page)-1].ID)
	case c.Total() == 0:
		text = `No tasks yet. Add one: bossman task add "What to do"`
	case len(page) == 0 && chosen:
		text = "No task matches."
	case len(page) == 0:
		text = fmt.Sprintf("Nothing is open. %s ended: bossman task list --all", console.Count(ended, "task"))
	case !chosen && ended > 0:
		text = fmt.Sprintf("%s ended: --all", console.Count(ended, "task"))
	case !searchesAll(cmd, c):
	default:
		return
	}
	if !more && !searchesAll(cmd, c) {
		text = strings.TrimSpace(fmt.Sprintf("%s A search covers at least the newest %d tasks, and the newest %[2]d that are open.", text, board.Searched))
	}
	if len(page) == 0 {
		a.Linef("%s", text)
		return
	}
	if a.OutIsTerminal() {
		a.Linef("%s", a.Styled(console.Dim, text))
	} else if more {
		a.Infof("%s", text)
	}
}
