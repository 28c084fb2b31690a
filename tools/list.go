package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

const (
	defaultRows = 20 // of a list, unless the call says otherwise
	maxRows     = 50
)

// listed are the values of status: what is open, all, every state, and pending.
var listed = append([]string{"open", "all", string(board.Pending)}, toStrings(board.States)...)

var listTasks = &definition{
	name:  "list_tasks",
	about: "List tasks, oldest first, one short line each. For details, call get_task.",
	props: []prop{
		{name: "status", kind: text, enum: listed, about: "default open: neither done nor cancelled", aliases: []string{"state"}},
		{name: "query", kind: text, about: "words in the title or description", aliases: []string{"search", "text"}},
		{name: "skill", kind: text, about: "only tasks that require this skill"},
		{name: "worker", kind: text, about: "only tasks this worker holds"},
		{name: "project", kind: text, about: "only tasks of this project"},
		{name: "limit", kind: number, about: "how many; default 20", max: maxRows},
		{name: "cursor", kind: text, about: "cursor from the previous answer"},
	},
	run: run(findTasks),
}

func findTasks(ctx context.Context, t *Tools, k *caller, in struct {
	Status  string `json:"status"`
	Query   string `json:"query"`
	Skill   string `json:"skill"`
	Worker  string `json:"worker"`
	Project string `json:"project"`
	Limit   int    `json:"limit"`
	Cursor  string `json:"cursor"`
},
) (*answer, error) {
	e := action{what: "Not listed."}
	f := board.TaskFilter{Query: in.Query, Skill: strings.ToLower(in.Skill), Worker: in.Worker}
	var err error
	if f.Projects, err = k.among(in.Project); err != nil {
		return nil, err
	}
	var fits func(board.Task) bool
	switch in.Status {
	case "all":
	case "", "open":
		f.Statuses = board.Open
	case string(board.Pending):
		f.Statuses = []board.Status{board.Pending}
	default:
		state := board.State(in.Status)
		f.Statuses = []board.Status{state.Status()}
		switch {
		case state == board.StateReady:
			f.Ready = true
		case f.Statuses[0] == board.Pending:
			fits = func(t board.Task) bool { return t.State() == state }
		}
	}
	if in.Cursor != "" {
		f.After, err = board.ParseID(in.Cursor)
		if err == nil && !slices.Contains(f.Projects, f.After.Project) {
			err = fmt.Errorf("%w: the cursor belongs to another list", board.ErrInvalid)
		}
		if err != nil {
			e.next = "Next: repeat the call without a cursor."
			return nil, k.refuse(e, err)
		}
	}
	rows := in.Limit
	if rows == 0 {
		rows = defaultRows
	}
	f.Limit = rows
	tasks, more, err := board.Page(f, fits, func(f board.TaskFilter) ([]board.Task, error) { return t.b.List(ctx, f) })
	if err != nil {
		return nil, k.refuse(e, err)
	}
	w := wireList[wireTask]{Items: []wireTask{}}
	if more {
		w.Cursor = tasks[rows-1].ID.String()
	}
	held := map[string][]board.ID{}
	for _, task := range tasks {
		held[task.ID.Project] = append(held[task.ID.Project], task.ID)
	}
	holders := map[board.ID]string{}
	for p, ids := range held {
		claims, err := t.b.Claims(ctx, board.ClaimFilter{Project: p, Tasks: ids})
		if err != nil {
			return nil, k.refuse(e, err)
		}
		for _, c := range claims {
			holders[c.Task] = c.Worker.Name
		}
	}
	var lines []string
	for _, task := range tasks {
		w.Items = append(w.Items, wireOf(task, board.Doc{}))
		lines = append(lines, taskRow(&task, holders[task.ID]))
	}
	switch {
	case lines != nil:
		lines = append(lines, strings.TrimSpace(quotedNote))
	case in.Status == "":
		lines = append(lines, "No matching tasks are open. For those that are done or cancelled: "+call("list_tasks", "status", "all")+".")
	default:
		lines = append(lines, "No matching tasks.")
	}
	switch {
	case w.Cursor != "":
		lines = append(lines, fmt.Sprintf("For more, repeat the call with \"cursor\":%q.", w.Cursor))
	case f.Query != "":
		lines = append(lines, fmt.Sprintf("A search covers at least the newest %d tasks, and the newest %[1]d that are open.", board.Searched))
	}
	return &answer{text: strings.Join(lines, "\n"), result: w}, nil
}

// taskRow describes a task in one line.
func taskRow(t *board.Task, holder string) string {
	row := t.ID.String() + " " + t.State().String()
	if t.Priority != board.Normal {
		row += " " + t.Priority.String()
	}
	if holder != "" {
		row += " by " + inline(holder, 80)
	}
	if t.Failures > 0 {
		row += fmt.Sprintf(" (%d of %d attempts failed)", t.Failures, t.MaxFailures)
	}
	return row + ": " + inline(t.Title, 80)
}
