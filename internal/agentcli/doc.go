// Package agentcli has the commands of agents that have a shell and no MCP: bossman next,
// note, done, fail and ask; and bossman prime and hook, for sessions of agents that have it.
//
//	command ──► session ──► the tools of package tools, in this process
//	   │           │
//	   │           └─ words calls as commands (voice.go)
//	   └─ claim.json in the worktree's git directory: owner, worker, claim
//
// A command does what its tool does, and prints what the tool answers. Each is a process of
// its own, so what a connection knows of its agent is in a file: the next command in the
// same directory goes on with the same claim, which no process keeps alive. It has the lease
// of a worker that cannot be observed, and every command under it renews that.
package agentcli
