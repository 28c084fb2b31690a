package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/mcp"
)

// Instructions returns the text that tells a model when to use the board; it is meant for
// mcp.ServerOptions.Instructions.
func Instructions() string {
	return strings.Join([]string{
		"This is the repository's shared work board: get tasks with get_next_task.",
		"Asked to work, or unsure what you were doing: call get_next_task; it returns the task you hold, if any.",
		"Asked to plan: call create_plan. For steps inside one task, use your own to-do list.",
		"Finish each task with report_task_done or report_task_failed. Need a decision: call ask_question.",
		"Nothing to do: end your turn. Never poll.",
	}, "\n")
}

// prompts has the verb that each prompt tells the model to use: who may use it is
// shown the prompt.
var prompts = map[string]*access.Verb{"work": access.Next, "plan": access.CreatePlan, "review": access.Review}

func (t *Tools) addPrompts() {
	t.server.AddPrompt(mcp.Prompt{
		Name: "work", Title: "Work on the board", Description: "Take tasks from the board and do them one by one.",
		Arguments: []mcp.PromptArgument{{Name: "task", Description: "id of the task to start with"}},
	}, t.promptWork)
	t.server.AddPrompt(mcp.Prompt{
		Name: "plan", Title: "Plan work", Description: "Divide a goal into tasks for several agents.",
		Arguments: []mcp.PromptArgument{{Name: "goal", Description: "the goal", Required: true}},
	}, t.promptPlan)
	t.server.AddPrompt(mcp.Prompt{
		Name: "review", Title: "Review", Description: "Review tasks that were reported done, and tasks that failed.",
		Arguments: []mcp.PromptArgument{{Name: "task", Description: "id of the task to review; default: all in review or failed"}},
	}, t.promptReview)
}

// userPrompt is a prompt of one message from the user.
func userPrompt(format string, args ...any) (*mcp.PromptResult, error) {
	return &mcp.PromptResult{Messages: []mcp.PromptMessage{{Role: "user", Content: content(fmt.Sprintf(format, args...))}}}, nil
}

func (t *Tools) promptWork(_ context.Context, c *mcp.Call) (*mcp.PromptResult, error) {
	begin := call("get_next_task")
	if task := c.Argument("task"); task != "" {
		begin = call("get_next_task", "task", visible.Cut(task, 60))
	}
	return userPrompt(`Work on this repository's board.

1. %s gives you a task, a claim and a worker name. Pass that name in every later call of get_next_task.
2. Do the task as described, on a branch of its own. Record progress with report_progress at every milestone.
3. Check the result against DONE WHEN, then call report_task_done with the required evidence. If you cannot finish, call report_task_failed; an honest failure is better than a partial result.
4. For a decision you should not make yourself, call ask_question. If the task is then parked, take the next one.
5. Call get_next_task again. When there is nothing to do, end your turn; do not wait or poll.`, begin)
}

func (t *Tools) promptPlan(_ context.Context, c *mcp.Call) (*mcp.PromptResult, error) {
	return userPrompt(`Plan this as tasks on the board:
%s

Read the repository and the open tasks (list_tasks with status open). Then divide the goal into tasks:
* make each task about an hour of one agent's work, with a title, a self-contained description, and acceptance criteria that someone else can check;
* set after only where order matters, so that independent tasks run in parallel;
* set areas to the directories the task changes, so that two agents do not work on the same files.
First call create_plan with dry_run true and show me the plan; create it when I agree.`, block(c.Argument("goal")))
}

func (t *Tools) promptReview(_ context.Context, c *mcp.Call) (*mcp.PromptResult, error) {
	what := call("list_tasks", "status", "review") + " and " + call("list_tasks", "status", "failed")
	if task := c.Argument("task"); task != "" {
		what = call("get_task", "task", visible.Cut(task, 60), "detail", "full")
	}
	return userPrompt(`Review work on the board. Start with %s.

For each task, read the description, the report and the evidence. Then read the work itself, run its tests, and compare the result with the acceptance criteria. Call review_task to accept it, or to reject it with a note that tells the next worker exactly what is wrong. To retry a failed task, fix it with update_task, then call review_task with verdict retry. Do not review your own work.`, what)
}
