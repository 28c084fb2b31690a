// Package server is the HTTP server of a team: a board for agents and laptops, behind keys
// and limits.
//
//	listener ──► connections ──► routes ──► / /livez /readyz    without a key
//	                                   └──► /mcp ──► authenticate ──► limits ──► tools, remote, login
//	admin listener ──► /metrics /debug/pprof /livez /readyz     without a key, not for web pages
//
// Replicas on one PostgreSQL are equal: what a client's next request needs is in the
// database (shared.go), so any load balancer works. With a board in a file there is one server.
//
// Run serves until its context ends. It then reports not ready, keeps serving for
// Options.Linger, ends event streams and waits, and finishes calls; claims stay.
package server
