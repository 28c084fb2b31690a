// Package compare has the same tasks, done with our packages, with go-sdk and with
// mcp-go, each as its documentation shows. Its test counts the lines and finds out
// in which revisions of the protocol each of them works; docs/compare.md has the
// table.
//
//	server.go      what all tasks share
//	typed.go       a typed tool with a choice and defaults
//	…
//	test_test.go   a test of two tools
package compare

// tasks are the files, in the order of the table.
var tasks = []struct{ file, what string }{
	{"server.go", "a server on stdio"},
	{"typed.go", "a typed tool with a choice, limits and defaults"},
	{"image.go", "a typed result with an image"},
	{"progress.go", "progress"},
	{"ask.go", "asking the user"},
	{"asktwice.go", "asking again, depending on the answer"},
	{"cancel.go", "cancelling a call"},
	{"resource.go", "a resource template with completion"},
	{"prompt.go", "a prompt"},
	{"http.go", "HTTP with bearer tokens and a health route"},
	{"middleware.go", "counting requests and changing arguments"},
	{"client.go", "a client with a model"},
	{"test_test.go", "a test with an answer of the user"},
}
