// Package mcp implements the Model Context Protocol: servers that offer tools,
// resources and prompts to language models, and clients that use them. It speaks
// all five revisions of the protocol, 2024-11-05 to 2026-07-28. Programs are
// written once, against the latest one; the package negotiates and translates.
//
//	s := mcp.NewServer(mcp.Implementation{Name: "add", Version: "1.0.0"}, nil)
//	mcp.AddTool(s, mcp.Tool{Name: "add", Description: "Add two numbers."}, add)
//	err := s.Serve(ctx, mcp.Stdio())
//
// Package streamable serves the same Server over HTTP.
//
// # The path of a request
//
//	bytes ─► jsonrpc ─► era ─► middleware ─► method ─► handler
//	                     │                               │
//	     session.go: negotiated by initialize            │ returns a result,
//	     stateless.go: stated in the request itself      │ or asks first (ask.go)
//	                                                     ▼
//	bytes ◄─ jsonrpc ◄─ result.go, shape.go ◄────────────┘
//
// There are two eras. Up to 2025-11-25 a session begins with a handshake,
// initialize, which negotiates revision and capabilities. From 2026-07-28 on each
// request states both in its _meta. The era is decided for each message on
// arrival, so one connection can carry both. After that point a [Request] knows
// its revision, and handlers do not see the difference.
//
// Everything is written for the latest revision and adapted for older ones. The
// differences are in four places: facts in revision.go, methods in method.go,
// shapes in shape.go, and the two eras in session.go and stateless.go.
//
// # Results and errors
//
// A *[ToolError] is shown to the model, which can correct itself and retry. A
// *jsonrpc.Error is sent as it is. Any other error is logged with a reference, and
// the client is told "Internal error: ref X", because its text may contain
// secrets.
//
// # Asking the user
//
// A handler can ask the user behind the client, the client's model, or for the
// client's directories, in every revision:
//
//	name, err := mcp.Ask[string](call, "name", "What is your name?")
//	if err != nil {
//		return nil, err
//	}
//
// On the first run Ask returns an error that carries the question. Return it. When
// the user has answered, the handler runs again from the top, and the same Ask
// returns the answer. In a session the question is a request to the client;
// without one it is the result of the request, and the client retries with the
// answer; in a task it is attached to the task. The handler cannot tell which. Use
// [Once] for work that must not be repeated and [Need] to ask several questions in
// one round.
//
// # Clients
//
// [Start] runs a server as a child process and connects to it; [Connect] connects
// over any transport:
//
//	c, err := mcp.Start(ctx, "uvx", "mcp-server-fetch")
//
// The client finds out which revision the server speaks (client_negotiate.go).
// The functions of [ClientOptions] answer a server's questions
// (client_answer.go). client_send.go sends requests, and client_timer.go limits
// how long they may take. [Client.Health] reports whether the server still
// responds properly.
package mcp
