// Package mcp is the Model Context Protocol: a server and a client for all five
// revisions, 2024-11-05 to 2026-07-28.
//
// A server offers tools to call, prompts to choose and resources to read. The
// program registers them as Go functions, once; which revision a client speaks,
// and over which transport, is the package's business:
//
//	s := mcp.NewServer(mcp.Implementation{Name: "add", Version: "1.0.0"}, nil)
//	mcp.AddTool(s, mcp.Tool{Name: "add", Description: "Add two numbers."}, add)
//	err := s.Serve(ctx, mcp.Stdio())
//
// # A request's way
//
//	bytes ─► jsonrpc ─► era ─► middleware ─► method ─► handler
//	                     │                               │
//	     session.go: a handshake has settled it          │ answers, or asks first (ask.go)
//	     stateless.go: the request says it itself        ▼
//	bytes ◄─ jsonrpc ◄─ result.go, shape.go ◄────────────┘
//
// There are two eras. Up to 2025-11-25 a conversation begins with a handshake,
// initialize, which settles revision and capabilities. From 2026-07-28 on each
// request says in its _meta who asks. The era is decided at the door, for each
// message, so both may be held on one pipe at the same time. Behind the door a
// Request knows its revision, and handlers do not see the difference.
//
// Everything is written for the newest revision and adapted down. What differs
// is found in one of four places: facts in revision.go, words in method.go,
// shapes in shape.go, and the conversation itself in session.go and
// stateless.go.
//
// # Asking the client
//
// A handler may need an answer from the person behind the client, from its
// model, or about its directories:
//
//	name, err := mcp.Ask[string](call, "name", "What is your name?")
//	if err != nil {
//		return nil, err
//	}
//
// The first time, Ask returns an error that carries the question. The handler
// returns it, and is run again from the top when the answer is there. In a
// session the question is a request of the server's own; without one it is the
// answer to the request, and the client comes again; in a task it waits on the
// task. The handler cannot tell which. What must happen only once goes into
// Once, and several questions go out together with Need.
//
// # A client
//
// A client is connected to a server that runs as a child process, or over any
// transport:
//
//	c, err := mcp.Start(ctx, "uvx", "mcp-server-fetch")
//
// It finds out which revision the server speaks (client_era.go). How requests
// travel is in client_link.go, how long they may take in client_request.go; what
// the server asks meanwhile is answered in client_answer.go by the functions of
// [ClientOptions]. [Client.Health] tells whether the server can still be relied on.
//
// # Errors
//
// What a model should see is a *ToolError. A *jsonrpc.Error goes out as it is.
// Any other error is logged with a reference, and the client is told only that.
package mcp
