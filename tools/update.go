package tools

import (
	"context"
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

var updateTask = &definition{
	name:  "update_task",
	about: "Edit a task. Omitted fields stay unchanged; lists are replaced. draft:false starts a draft. Its holder is notified. Only people change the text and evidence of what a person wrote, or you held. To change the status, use the report, cancel and review tools.",
	props: append(taskProps(
		prop{name: "task", kind: text, required: true, about: "task id", aliases: taskNames},
		prop{name: "title", kind: text, about: "one line"},
		prop{name: "description", kind: text, about: "what to do"},
	),
		prop{name: "max_failures", kind: number, about: "how many attempts may fail", max: 100},
	),
	hints:     mcp.ToolAnnotations{IdempotentHint: true},
	elsewhere: map[string]string{"status": "To change the status, use report_task_done, report_task_failed, cancel_task or review_task; draft:false starts a draft."},
	run:       run(update),
}

func update(ctx context.Context, t *Tools, k *caller, in struct {
	Task        string                `json:"task"`
	Title       *string               `json:"title"`
	Description *string               `json:"description"`
	Acceptance  *string               `json:"acceptance"`
	Priority    *string               `json:"priority"`
	Skills      *[]string             `json:"skills"`
	Areas       *[]string             `json:"areas"`
	DependsOn   *[]string             `json:"depends_on"`
	Parent      *string               `json:"parent"`
	Evidence    *[]board.EvidenceKind `json:"evidence"`
	Draft       *bool                 `json:"draft"`
	MaxFailures *int                  `json:"max_failures"`
},
) (*answer, error) {
	id, err := k.task(ctx, in.Task)
	if err != nil {
		return nil, err
	}
	e := action{what: "Not changed.", task: id}
	edit := board.Edit{
		Title: in.Title, Description: in.Description, Acceptance: in.Acceptance, Skills: in.Skills, Areas: in.Areas,
		Wants: in.Evidence, Hold: in.Draft, MaxFailures: in.MaxFailures,
	}
	if in.Priority != nil {
		p, err := board.ParsePriority(*in.Priority)
		if err != nil {
			return nil, k.refuse(e, err)
		}
		edit.Priority = &p
	}
	if in.DependsOn != nil {
		ids, err := taskIDs(id.Project, *in.DependsOn)
		if err != nil {
			return nil, k.refuse(e, err)
		}
		edit.DependsOn = &ids
	}
	if in.Parent != nil {
		edit.Parent = new(board.ID{})
		if *in.Parent != "" {
			if *edit.Parent, err = board.ParseIDIn(id.Project, *in.Parent); err != nil {
				return nil, k.refuse(e, err)
			}
		}
	}
	if edit == (board.Edit{}) {
		e.next = "Next: repeat the call with the fields to change."
		return nil, k.refuse(e, fmt.Errorf("%w: the call changes nothing", board.ErrInvalid))
	}
	task, err := t.b.Update(ctx, k.Actor, id, edit)
	if err != nil {
		if errors.Is(err, board.ErrDenied) {
			e.next = k.leaveToPeople(ctx, "bossman task edit", id)
		}
		return nil, k.refuse(e, err)
	}
	s := fmt.Sprintf("Changed. %s.", taskRow(&task, ""))
	if task.Status == board.InProgress {
		s += " Its holder is notified with its next report_progress."
	}
	a := &answer{text: s, result: wireOf(task, board.Doc{})}
	if in.Skills != nil {
		if more, err := t.unknownSkills(ctx, []string{id.Project}, *in.Skills); err == nil && more != "" {
			a.more = append(a.more, more)
		}
	}
	return a, nil
}

// leaveToPeople tells an agent what to do instead of an act that is a person's. command is
// what the person runs.
func (k *caller) leaveToPeople(ctx context.Context, command string, id board.ID) string {
	s := fmt.Sprintf("Leave it to a person, who can run `%s %v`. Next: ", command, id)
	held, _ := k.held(ctx)
	for _, c := range held {
		if h := c.Handle.String(); c.Task == id {
			return s + call("report_task_failed", "claim", h, "kind", "wrong_spec", "reason", "…") + " if its text is wrong, or " +
				call("ask_question", "claim", h, "question", "…") + "."
		}
	}
	return s + call("ask_question", "question", "…") + " if they should know why; otherwise continue, or end your turn."
}
