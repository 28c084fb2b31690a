// Package e2e holds the tests that need more than Go: real MCP clients, as
// people install them, talking to our servers over a pipe and over HTTP, and the
// official conformance suite.
//
//	            stdin/stdout         stdin/stdout
//	client  <---------------->  tee  <---------->  examples/add
//	(npm)                        |                 internal/conformance/server
//	                             v                 cmd/bossman
//	                        conversation, line by line
//
//	            HTTP                 HTTP
//	clients <----------------> front <---------->  internal/conformance/server,
//	(npm)                        |                 one process for all of them
//	                             v
//	                        conversation, message by message
//
// The folder tee is a program between the two, and a front, in the harness, is
// the same for HTTP. They change nothing and keep a record, and from the record a
// test tells which revision was really spoken and which methods were used,
// instead of believing what either side says.
//
//	clients      the Inspector, both TypeScript SDKs, mcp-remote; go test ./clients
//	agents       coding agents; BOSSMAN_E2E_AGENTS=1 go test ./agents
//	crew         bossman work with Claude Code, Codex and a program; recordings of the first two where
//	             they are not installed, which BOSSMAN_CREW_RECORD=DIR makes
//	conformance  the official suite, over HTTP, against one process
//	board        bossman processes, as agents and people use them; needs no npm
//	load         very many clients over HTTP, and hostile ones; needs none either
//	faults       programs and databases that are killed in the middle of their work
//	failover     a standby that takes over the database under a server's replicas
//	hostile      every command and tool in clones, archives and shared directories that attack
//	land         laptops that land on a branch of one remote repository, while people push there
//	release      the packages of a release, installed; BOSSMAN_DIST=DIR go test ./release
//	team         replicas of a server behind a load balancer, killed and told to end
//
// Each of the first three folders has a package.json with exact versions. The tests
// install from it once, into node_modules beside it, and run everything with the
// Node that is pinned there.
//
// BOSSMAN_E2E_ADD and BOSSMAN_E2E_FEATURES each name another command to test in
// place of one of the two servers, to find out on which side a fault is. To serve
// HTTP, the command is given -http ADDRESS.
//
// BOSSMAN_E2E_SQLITE_TASKS, BOSSMAN_E2E_PG_TASKS and BOSSMAN_E2E_TEAM_TASKS say how
// much a crowd has to do on a board; 20000 is the full size of the last two, which are
// 4000 and 1500 where nobody says. BOSSMAN_E2E_FAILOVERS is how often the database fails
// over, 2 where nobody says, and 20 in full. BOSSMAN_E2E_RACE=1 builds the team's server
// with the race detector. BOSSMAN_E2E_MODEL_LOG names a file for what agents send to the
// scripted model.
package e2e
