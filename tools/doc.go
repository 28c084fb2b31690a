// Package tools shows a board to agents: its rules as MCP tools, prompts and
// resources, with answers that a model can act on.
//
//	model ─► tools/call ─► repair.go ─► a file for each tool:                    ─► board
//	                       mends what    next.go, progress.go, report.go, task.go, …   │
//	                       models slip                                                 │
//	model ◄── text ◄── handout.go, nothing.go (answers), error.go (refusals) ◄─────────┘
//
// # Answers
//
// An answer is text and nothing else, since some clients show a model only
// structured content where there is any. The same facts are for programs in the
// result's _meta, under the name [ResultKey].
//
// A refusal has four parts: what was refused, the state now, why, and the exact
// next call. Nothing to do is no refusal, and ends with "End your turn now".
//
// # Who calls
//
// A worker is one running agent. Sub-agents share their parent's pipe and do not
// know that they are sub-agents, and models copy names that they see. So names are
// drawn by the board, and no definition, prompt or document contains one:
//
//	get_next_task {}                 no claim on this pipe: a new worker, a task
//	get_next_task {}                 some claim on it: which one, and the two calls below
//	get_next_task {"worker":"new"}   another agent on the same pipe
//	get_next_task {"worker": own}    what this worker holds, again, or its next task
//
// # Questions
//
// A question goes into the inbox. If the call waits, a person at the client is asked
// as well, where the client can do that. Saying no, closing the form or taking too
// long is not an answer. What is blocking parks its task when the wait is over.
package tools
