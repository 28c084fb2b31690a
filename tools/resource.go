package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/mcp"
)

const (
	boardURI     = "bossman://board"
	questionsURI = "bossman://questions"
	taskURI      = "bossman://tasks/"
	taskTemplate = taskURI + "{id}"
	markdown     = "text/markdown"
)

// Watched returns the URIs of the resources that change whenever anything on the board
// does.
func Watched() []string { return []string{boardURI, questionsURI} }

func (t *Tools) addResources() {
	t.server.AddResource(mcp.Resource{
		URI: boardURI, Name: "board", Title: "The board at a glance", MIMEType: markdown,
		Description: "The number of tasks by state, the tasks in progress, and the open questions.",
	}, t.readBoard)
	t.server.AddResource(mcp.Resource{
		URI: questionsURI, Name: "questions", Title: "Open questions", MIMEType: markdown,
		Description: "Questions from agents that nobody has answered yet.",
	}, t.readQuestions)
	t.server.AddResourceTemplate(mcp.ResourceTemplate{
		URITemplate: taskTemplate, Name: "task", Title: "A task", MIMEType: markdown,
		Description: "A task: its text, state, links, questions and history.",
	}, t.readTask)
}

func (t *Tools) readBoard(ctx context.Context, c *mcp.Call) (*mcp.ResourceResult, error) {
	var b strings.Builder
	for i, slug := range t.caller(ctx, c, access.Summary).projects {
		s, err := t.b.Summary(ctx, slug)
		if err != nil {
			return nil, readError(err)
		}
		if i > 0 {
			b.WriteString("\n")
		}
		c := s.Counts
		var states []string
		for _, s := range board.States {
			states = append(states, fmt.Sprintf("%d %s", c.In(s), s))
		}
		fmt.Fprintf(&b, "# %s\n\n%s: %s.\n", slug, count(c.Total(), "task", "tasks"), strings.Join(states, ", "))
		if len(s.Claims) > 0 {
			b.WriteString("\n## In progress\n\n")
		}
		for i, c := range s.Claims {
			if i == maxRows {
				fmt.Fprintf(&b, "* and %d more\n", max(len(s.Claims), s.Counts.Status[board.InProgress])-i)
				break
			}
			fmt.Fprintf(&b, "* %v, attempt %d, since %s; the lease has %s left\n", c.Task, c.Attempt, board.Span(s.Now.Sub(c.GrantedAt)), board.Span(c.LeaseUntil.Sub(s.Now)))
		}
		if len(s.Reviews) > 0 {
			b.WriteString("\n## In review\n\n")
		}
		for i, c := range s.Reviews {
			if i == maxRows {
				fmt.Fprintf(&b, "* and %d more\n", len(s.Reviews)-i)
				break
			}
			fmt.Fprintf(&b, "* %v by %s, since %s; the lease has %s left\n", c.Task, inline(c.Worker.Name, 80), board.Span(s.Now.Sub(c.GrantedAt)), board.Span(c.LeaseUntil.Sub(s.Now)))
		}
		if len(s.Open) > 0 {
			b.WriteString("\n## Waiting for people\n\n")
		}
		for i, q := range s.Open {
			if i == maxRows {
				fmt.Fprintf(&b, "* and %d more\n", len(s.Open)-i)
				break
			}
			b.WriteString("* " + questionRow(q, s.Now) + "\n")
		}
	}
	return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: visible.Text(b.String())}}}, nil
}

func (t *Tools) readQuestions(ctx context.Context, c *mcp.Call) (*mcp.ResourceResult, error) {
	qs, err := t.b.Questions(ctx, board.QuestionFilter{Projects: t.caller(ctx, c, access.Questions).projects, State: board.QuestionOpen, Limit: 100})
	if err != nil {
		return nil, readError(err)
	}
	_, now, err := t.b.Workers(ctx, 0)
	if err != nil {
		return nil, readError(err)
	}
	var b strings.Builder
	b.WriteString("# Open questions\n\n")
	for _, q := range qs {
		b.WriteString("* " + questionRow(q, now) + "\n")
	}
	if len(qs) == 0 {
		b.WriteString("None.\n")
	}
	return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: visible.Text(b.String())}}}, nil
}

func (t *Tools) readTask(ctx context.Context, c *mcp.Call) (*mcp.ResourceResult, error) {
	k := t.caller(ctx, c, access.Get)
	id, err := k.taskID(c.Argument("id"))
	if err != nil || !k.may(id.Project) {
		return nil, mcp.ErrNotFound
	}
	d, reasons, err := t.b.Why(ctx, id)
	if err != nil {
		return nil, readError(err)
	}
	held, err := k.held(ctx)
	if err != nil {
		return nil, readError(err)
	}
	return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: visible.Text("# " + taskText(d, reasons, held, true) + "\n")}}}, nil
}

// readError returns mcp.ErrNotFound for what does not exist, and otherwise an error that
// says that the board cannot be read.
func readError(err error) error {
	if errors.Is(err, board.ErrNotFound) {
		return mcp.ErrNotFound
	}
	return rpcError("The board cannot be read", err)
}

// Complete completes task ids; it is meant for mcp.ServerOptions.Complete.
func (t *Tools) Complete(ctx context.Context, c *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, error) {
	template := p.Ref.URI == taskTemplate && p.Argument.Name == "id"
	prompt := p.Ref.Type == "ref/prompt" && p.Argument.Name == "task"
	if !t.isOpen() || !template && !prompt {
		return nil, nil
	}
	f := board.TaskFilter{Projects: t.caller(ctx, c, access.List).projects, Limit: 1000}
	if prompt && p.Ref.Name == "review" {
		f.Statuses = []board.Status{board.InReview, board.Failed}
	}
	done := &mcp.Completion{}
	for range 20 { // at most 20,000 tasks: a board may be large
		tasks, err := t.b.List(ctx, f)
		if err != nil {
			return nil, readError(err)
		}
		for _, task := range tasks {
			id := task.ID.String()
			if strings.HasPrefix(id, p.Argument.Value) || strings.HasPrefix(id, task.ID.Project+"-"+p.Argument.Value) {
				done.Values = append(done.Values, id)
			}
		}
		if len(tasks) < f.Limit || len(done.Values) > 100 {
			break
		}
		f.After = tasks[len(tasks)-1].ID
	}
	return done, nil
}
