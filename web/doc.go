// Package web shows the board to people: pages in a browser that say what needs them, who
// works on what, and let them answer, review and create.
//
//	browser ── GET /inbox ──► ServeHTTP ── headers, host, origin, session
//	                             │
//	                             ▼
//	                          routes (route.go): method, pattern, verb ──► handler of one page
//	                                                                         │
//	        access.Board ◄── reads and writes, each checked with May ────────┤
//	                                                                         ▼
//	browser ◄── layout.html and the page's template ◄──────────── a struct for the template
//
//	browser ── GET /live ──► stream ◄── hub ◄── follower (Run) ◄── the board's feed
//	   └─ an event that concerns the page: fetch it again, and patch what differs
//
// A page is one Go file that builds the struct, one template of the same name, and one test
// file; it is registered by a row in the table of routes. Templates have no logic beyond
// range and if. Text that others wrote goes through visible.Text or visible.Line in the Go
// file, and through the escaping of html/template; Markdown goes through markdown.
//
// A Door decides who comes in: KeyDoor makes a session of a person's key, SoloDoor of a link
// that works once. The session is a secret in a cookie; everything else is in the address.
// Forms carry a token that is derived from the session, see session.go.
//
// To add a page: a row in routes, a handler that checks May for each project that the address
// names (see request.task and request.question), a struct, a template with "main", an entry in
// navigation if it has one. TestRoutes_roles and TestHostileText then cover it; a wildcard that
// they do not know goes into address in guard_test.go. What is read through request.show is
// read for each request; showCached shares a rendering among those with the same rights. A form
// sends its token ({{token}}) by POST to a route of its own, which answers with redirect.
//
// Pages work without the script. It adds live updates, clocks that tick, and the keyboard.
package web
