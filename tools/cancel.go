package tools

import (
	"context"
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

var cancelTask = &definition{
	name:  "cancel_task",
	about: "Cancel a task for good, unless a person wrote it. Its holder is told to stop.",
	props: []prop{
		{name: "task", kind: text, required: true, about: "task id", aliases: taskNames},
		{name: "reason", kind: text, about: "why; required if a worker holds the task"},
		{name: "dependents", kind: text, enum: []string{"keep", "unblock", "cancel"}, about: "what happens to its dependents; default keep, which leaves them blocked"},
	},
	hints: mcp.ToolAnnotations{DestructiveHint: new(true)},
	run:   run(cancel),
}

func cancel(ctx context.Context, t *Tools, k *caller, in struct {
	Task       string           `json:"task"`
	Reason     string           `json:"reason"`
	Dependents board.Dependents `json:"dependents"`
},
) (*answer, error) {
	id, err := k.task(ctx, in.Task)
	if err != nil {
		return nil, err
	}
	if in.Dependents == "" {
		in.Dependents = board.DependentsKeep
	}
	ids, err := t.b.Cancel(ctx, k.Actor, id, in.Reason, in.Dependents)
	if err != nil {
		e := action{what: "Not cancelled.", task: id}
		if errors.Is(err, board.ErrDenied) {
			e.next = k.leaveToPeople(ctx, "bossman task cancel", id)
		}
		return nil, k.refuse(e, err)
	}
	s := "Cancelled: " + idList(ids) + "."
	d, err := t.b.Get(ctx, id, 1)
	if err == nil && in.Dependents == board.DependentsKeep {
		var blocked []board.ID
		for _, dep := range d.Dependents {
			if !dep.Status.Terminal() {
				blocked = append(blocked, dep.ID)
			}
		}
		if len(blocked) > 0 {
			s += fmt.Sprintf(" Still blocked by it: %s. To unblock, change depends_on with update_task, or cancel those too.", idList(blocked))
		}
	}
	return &answer{text: s, result: wireList[string]{Items: idStrings(ids)}}, nil
}
