// Package remote is a board on another machine: a team's laptop works with the
// board of its server as if it were its own.
//
//	laptop                                         server
//	tools, command line                            remote.Register
//	       │                                              │
//	    *Board  ── bossman/next, bossman/done, … ──►  *board.Board
//
// Each method of a board is a method of the server's MCP endpoint, called in the
// newest revision, with the same keys, limits and records as every other call. Who
// acts is settled by the server: a client may say less about itself than its key
// says, never more. What is not the caller's is not found.
//
// The values on the wire are those of package board, field by field. Fields may be
// added; a reader ignores those that it does not know. So a laptop and a server of
// neighbouring versions understand one another.
package remote
