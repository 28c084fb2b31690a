// Package mcp implements the Model Context Protocol: servers that offer tools,
// resources and prompts to language models, and clients that use them. It speaks all
// five revisions of the protocol, 2024-11-05 to 2026-07-28. Programs are written once,
// against the latest one; the package negotiates and translates.
//
// # A tool
//
// A tool is a Go function. Its arguments and its result are Go values, and their JSON
// Schemas are inferred from the types:
//
//	type Args struct {
//		City string `json:"city" jsonschema:"name of the city"`
//		Days int    `json:"days,omitempty" jsonschema:"days to forecast" default:"3" minimum:"1" maximum:"10"`
//	}
//
//	func forecast(ctx context.Context, c *mcp.Call, in Args) (Forecast, error) { … }
//
//	func main() {
//		s := mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
//		mcp.AddTool(s, mcp.Tool{Name: "forecast", Description: "Forecast the weather."}, forecast)
//		if err := s.Serve(context.Background(), mcp.Stdio(nil)); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// The handler is called only with arguments that match the schema. See [AddTool] for
// the types and struct tags it accepts. Package streamable serves the same Server over
// HTTP.
//
// # Results and errors
//
// A result becomes structured content and the same JSON as text. To add images, links
// or metadata, return an [Output]; to control everything, return a *[ToolResult].
//
// Errors made by [Errorf] are shown to the model, which can correct itself and retry.
// A *jsonrpc.Error is sent as it is. Any other error may hold secrets: it is logged,
// and the client gets "Internal error: ref X", where X finds the log entry.
//
// # Asking the user
//
// A handler can ask the user behind the client, in the same way in every revision that
// has questions, 2025-06-18 and later:
//
//	size, err := mcp.Ask[Size](c, "size", "Which size?")
//	if err != nil {
//		return Order{}, err
//	}
//
// On the first run Ask returns an error that carries the question. Return it. When the
// user has answered, the handler runs again from the top, and the same Ask returns the
// answer. Use [Once] for work that must not be repeated and [JoinAsks] to ask several
// questions in one round. A user who declines yields [ErrDeclined].
//
// # Clients
//
// [Start] runs a server as a child process and connects to it; streamable.Connect
// connects over HTTP:
//
//	c, err := mcp.Start(ctx, "uvx", "mcp-server-fetch")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	page, err := mcp.CallAs[string](ctx, c, "fetch", map[string]any{"url": url}, nil)
//
// [ClientOptions] holds the functions that answer a server's questions. Setting one
// declares the capability.
//
// # Middleware
//
// [Server.Use] wraps every request of every revision and transport. Middleware can
// read and replace arguments and results: authorize, redact, count.
//
// # Testing
//
// Package mcptest connects a client to a Server in memory, scripts the user's answers,
// and runs a test once per revision.
//
// # Compatibility
//
// Handlers do not depend on the revision; docs/revisions.md lists the differences.
// Sampling, roots and logging are deprecated by revision 2026-07-28 and may be removed
// from the protocol after July 2027; this package keeps them for older revisions.
// Package transport is for authors of transports, and is not needed otherwise.
package mcp

// The path of a request:
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
// arrival, so one connection can carry both. After that point a Request knows
// its revision, and handlers do not see the difference.
//
// Everything is written for the latest revision and adapted for older ones. The
// differences are in four places: facts in revision.go, methods in method.go,
// shapes in shape.go, and the two eras in session.go and stateless.go.
//
// A question to the user (ask.go) is a request to the client in a session, the result
// of the request without one, where the client retries with the answer, and attached
// to the task in a task. The handler cannot tell which.
//
// A client finds out which revision the server speaks (client_negotiate.go).
// client_answer.go answers a server's questions, client_send.go sends requests, and
// client_timer.go limits how long they may take.
