// Package crew runs agents: it keeps a number of slots busy with the tasks of a board.
//
//	Runner ──► slot ──► job: one attempt at one task
//	             │        │
//	             │        ├─ worktree on the branch of the task, from its last state
//	             │        ├─ agent, under a minder, with the hand-out as its prompt
//	             │        ├─ socket: the board's tools, bound to the claim
//	             │        └─ snapshot under refs/bossman when it reports, and when it ends
//	             └─ a worker of its own, and a worktree that it uses again
//
// A slot waits for a task without a model. Only the runner renews the claim of a job, and only as
// long as the job is within its limits. A job whose claim has ended is ended, with everything
// that it started; its files are in a snapshot, and its worktree is used again only after all of
// its processes were seen to end.
package crew
