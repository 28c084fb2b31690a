// Package check runs the command that decides whether work is done, and remembers
// what it decided.
//
//	worktree ── git.Snapshot ──► tree ── Command ──► exit status ──► Verdict
//	                               │                                   │
//	                               └── git.Snapshot again: unchanged? ─┘
//
// A verdict belongs to a tree and a command. A second call for the same tree joins the
// run that is under way, a tree that was found green is not checked again, and a call
// for another tree of the same worktree stops the run of the older one.
//
// A check runs code that an agent wrote, with the rights of the user. It gets a short
// list of environment variables, no standard input, and a time limit, and when it
// ends, everything that it started ends with it.
package check
