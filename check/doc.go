// Package check runs the command that decides whether work is done, and remembers
// what it decided.
//
//	worktree ── git.Snapshot ──► tree ── Command ──► exit status ──► Verdict
//	                               │                                   │
//	                               └── git.Snapshot again: unchanged? ─┘
//
// A verdict belongs to a tree and a command. A call joins the run that is under way in its
// worktree, and a tree that was found green is not checked again. If files change while
// the check runs, there is no verdict.
//
// A check runs code that an agent wrote, with the rights of the user. It gets a short
// list of environment variables, no standard input, and a time limit. When it ends,
// package proc ends what it started.
package check
