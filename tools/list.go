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

var listTasks = &definition{
	name:  "list_tasks",
	about: "List tasks, oldest first, one short line each. For details, call get_task.",
	props: []prop{
		{name: "status", kind: text, enum: append([]string{"ready", "open"}, toStrings(board.Statuses)...), about: "filter by status; open means not done and not cancelled", aliases: []string{"state"}},
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
	switch in.Status {
	case "":
	case "ready":
		f.Ready = true
	case "open":
		f.Statuses = []board.Status{board.Pending, board.InProgress, board.Waiting, board.InReview, board.Failed}
	default:
		f.Statuses = []board.Status{board.Status(in.Status)}
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
	f.Limit = rows + 1
	tasks, err := t.b.List(ctx, f)
	if err != nil {
		return nil, k.refuse(e, err)
	}
	w := wireList[wireTask]{Items: []wireTask{}}
	if len(tasks) > rows {
		tasks = tasks[:rows]
		w.Cursor = tasks[rows-1].ID.String()
	}
	holders := map[board.ID]string{}
	for _, p := range f.Projects {
		claims, err := t.b.Claims(ctx, board.ClaimFilter{Project: p})
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
	if lines == nil {
		lines = append(lines, "No matching tasks.")
	}
	if w.Cursor != "" {
		lines = append(lines, fmt.Sprintf("For more, repeat the call with \"cursor\":%q.", w.Cursor))
	}
	return &answer{text: strings.Join(lines, "\n"), result: w}, nil
}

// taskRow describes a task in one line.
func taskRow(t *board.Task, holder string) string {
	row := t.ID.String() + " " + stateOf(t)
	if t.Priority != board.Normal {
		row += " " + t.Priority.String()
	}
	if holder != "" {
		row += " by " + holder
	}
	if t.Failures > 0 {
		row += fmt.Sprintf(" (%d of %d attempts failed)", t.Failures, t.MaxFailures)
	}
	return row + ": " + oneLine(t.Title, 80)
}
