// Package e2e holds the tests that need more than Go: real MCP clients, as
// people install them, talking to our servers over a pipe,
// and the official conformance suite over HTTP.
//
//	            stdin/stdout         stdin/stdout
//	client  <---------------->  tee  <---------->  examples/add
//	(npm)                        |                 internal/conformance/server
//	                             v
//	                        conversation, line by line
//
// The folder tee is a program between the two. It changes nothing and keeps a
// record, and from the record a test tells which revision was really spoken and
// which methods were used, instead of believing what either side says.
//
//	clients      the Inspector and both TypeScript SDKs; go test ./clients
//	agents       coding agents; BOSSMAN_E2E_AGENTS=1 go test ./agents
//	conformance  the official suite, over HTTP, against one process
//
// Each of these folders has a package.json with exact versions. The tests
// install from it once, into node_modules beside it, and run everything with the
// Node that is pinned there.
//
// BOSSMAN_E2E_ADD and BOSSMAN_E2E_FEATURES each name another command to test in
// place of one of the two servers, to find out on which side a fault is.
package e2e
