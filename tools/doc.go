// Package tools exposes a board to agents as MCP tools, prompts and resources, with
// answers that a model can act on.
//
//	model ─► tools/call ─► repair.go ─► a file for each tool: ─► board
//	                       fixes known   next.go, progress.go,     │
//	                       mistakes      report.go, task.go, …     │
//	                                                               │
//	model ◄─ text ◄─ handout.go, nothing.go: answers ◄─────────────┘
//	                 error.go: refusals
//
// # Answers
//
// An answer consists of text blocks only, because some clients show a model nothing but
// the structured content if there is any. Programs find the same facts in the result's
// _meta, under [ResultKey].
//
// A refusal has four parts: what was refused, the state now, why, and the exact next call.
// Having no task to hand out is not a refusal; that answer ends with "End your turn now".
//
// # Workers
//
// A worker is one running agent. Sub-agents share their parent's pipe and do not know that
// they are sub-agents, and models copy names that they see. Therefore the board generates
// the names, and no definition, prompt or document contains one:
//
//	get_next_task {}                 no claim on this pipe: a new worker and a task
//	get_next_task {}                 claims on this pipe: which, and the two calls below
//	get_next_task {"worker":"new"}   another agent on the same pipe
//	get_next_task {"worker":NAME}    the task this worker holds, or its next one
//
// # Questions
//
// A question goes to the inbox. If the call waits and the client supports elicitation, the
// person at the client is asked too. A form that is declined, closed or not answered in
// time is not an answer. A blocking question that is still open at the end of the wait
// parks its task.
package tools
