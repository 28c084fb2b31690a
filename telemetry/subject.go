package telemetry

import (
	"encoding/json"
	"errors"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

// A subject is the project and the task that a call is about, or the key that it created. Both are taken from the
// arguments or the result only if they have the form of one: sixteen lower-case
// letters and digits, and a number. So nothing else gets from there into a span or
// into the audit stream.
type subject struct {
	project, task string
	// key is the id of a created key, and machine what it is for.
	key, machine string
}

// refusedDenied is the code of a refusal for want of a right.
const refusedDenied = "denied"

// subjectOf looks at the arguments first. What it cannot read is left out.
func subjectOf(r *mcp.Request, res mcp.Result) (s subject) {
	var p struct {
		TaskID json.RawMessage `json:"taskId"` // of a plain method
		Args   json.RawMessage `json:"args"`   // of a laptop's
	}
	var args struct {
		Project json.RawMessage `json:"project"`
		Task    json.RawMessage `json:"task"`
		Claim   json.RawMessage `json:"claim"`
	}
	_ = jsonv2.Unmarshal(r.Params(), &p)
	if a := r.Arguments(); isObject(a) {
		_ = jsonv2.Unmarshal(a, &args)
	}
	switch {
	case s.setTask(textOf(args.Task)), s.setTask(textOf(p.TaskID)), s.setLaptop(p.Args):
	default:
		if h, err := board.ParseHandle(textOf(args.Claim)); err == nil {
			s.setTask(h.Task.String())
		}
	}
	if s.task == "" {
		s.setTask(resultTask(res))
	}
	if x, ok := res.(interface{ CreatedKey() (id, machine string) }); ok {
		s.key, s.machine = x.CreatedKey()
	}
	if project := textOf(args.Project); s.project == "" && board.ValidSlug(project) {
		s.project = project
	}
	return s
}

// setLaptop takes the task, or at least the project, from the arguments of a laptop's
// method, as package remote writes them, and reports whether there was a task.
func (s *subject) setLaptop(raw json.RawMessage) bool {
	if !isObject(raw) {
		return false
	}
	type about struct{ ID, Slug, Project, Task, Claim json.RawMessage }
	var args, claim, task about
	_ = jsonv2.Unmarshal(raw, &args)
	if isObject(args.Claim) {
		_ = jsonv2.Unmarshal(args.Claim, &claim)
	}
	if isObject(args.Task) { // one that is to be made
		_ = jsonv2.Unmarshal(args.Task, &task)
	}
	for _, project := range []json.RawMessage{args.Slug, args.Project, task.Project} {
		if slug := textOf(project); board.ValidSlug(slug) {
			s.project = slug
		}
	}
	return s.setTask(textOf(args.ID)) || s.setTask(textOf(claim.Task))
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// setTask reports whether the text is a task's id.
func (s *subject) setTask(id string) bool {
	if id == "" {
		return false
	}
	task, err := board.ParseID(id)
	if err != nil {
		return false
	}
	s.project, s.task = task.Project, task.String()
	return true
}

func textOf(raw json.RawMessage) (s string) {
	const most = 64
	if len(raw) < 2 || len(raw) > most || raw[0] != '"' || jsonv2.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// resultTask is the task that a result is about, where it says so itself.
func resultTask(res mcp.Result) string {
	type about interface{ Subject() string }
	if x, ok := res.(about); ok {
		return x.Subject()
	}
	tool, ok := res.(*mcp.ToolResult)
	if !ok || tool == nil {
		return ""
	}
	for _, v := range tool.Meta {
		if x, ok := v.(about); ok {
			return x.Subject()
		}
	}
	return ""
}

// refusalOf is the code with which a tool refused, where it says so.
func refusalOf(tool *mcp.ToolResult) string {
	for _, v := range tool.Meta {
		if x, ok := v.(interface{ Refusal() string }); ok {
			return x.Refusal()
		}
	}
	return ""
}

// isDenied reports whether an error means that the caller may not.
func isDenied(err error) bool {
	if errors.Is(err, board.ErrDenied) {
		return true
	}
	e, ok := errors.AsType[interface {
		error
		Denied() bool
	}](err)
	return ok && e.Denied()
}
