// Package gateway offers the tools, prompts and resources of other MCP servers, the
// upstreams, as part of one server.
//
//	client ──► mcp.Server ──► middleware: call_tool becomes a call of the tool that is meant
//	                │
//	                ▼
//	            callTool ──► forward: questions and progress go back to the caller (question.go)
//	                             │
//	                             ▼
//	                           send: the instance is started if it sleeps (supervisor.go),
//	                             │   the call waits for its turn (queue.go), the definition is
//	                             │   approved (pin.go), the Guard admits it
//	                             ▼
//	                        mcp.Client ──► upstream
//
// Definitions, arguments and results are passed on as the JSON that they are. We change a
// definition's name, omit its output schema and, if there is a Guard, add two properties to its
// input schema. Lists come from what was stored when the upstream ran last, so a client gets them at
// once; a call is sent only if the definition in the connection's own last list was approved.
//
// Large results are read by lines, where the Guard has kept them (artifact.go). An upstream may be a server with a gateway of its own (relay.go): that one approves and admits.
package gateway
