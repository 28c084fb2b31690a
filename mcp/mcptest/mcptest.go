// Package mcptest helps to test servers: it connects clients in memory or over HTTP,
// answers the server's questions from a script, and runs tests in every revision.
//
//	func TestGreet(t *testing.T) {
//		o := &mcptest.Options{Answers: []mcptest.Answer{{To: "name", With: "Ada"}}}
//		mcptest.EachRevision(t, newServer(), o, func(t *testing.T, c *mcp.Client) {
//			if got := mcptest.Call[string](t, c, "greet", nil); got != "Hello, Ada!" {
//				t.Errorf("greet = %q", got)
//			}
//		})
//	}
//
// A test fails if a question has no answer, an answer is not used, a handler panics or
// ignores the error of a question, or something does not end with the test.
package mcptest

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/internal/link"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// Options configures a test's client. Nil means a client of the latest revision
// that cannot be asked.
type Options struct {
	// Revision is what the client speaks. Default: the latest.
	Revision mcp.Revision
	// Client configures the client. Its Revision is ignored.
	Client mcp.ClientOptions
	// HTTP configures the handler of HTTP.
	HTTP streamable.Options
	// Answers answers the server's questions to the user and to the model. The
	// test fails if a question has no answer or an answer was not used. Nil: the
	// functions of Client answer.
	Answers []Answer
	// AllowPanic lets handlers panic. Otherwise a panic fails the test.
	AllowPanic bool
}

// endTimeout is how long a server may take to end after its client has closed.
const endTimeout = 10 * time.Second

// Connect connects a client to s in memory. Both end with the test, which fails if
// one returns an error or does not end, if a handler panics, or if a handler
// returns without the error of a question that was not answered.
func Connect(t testing.TB, s *mcp.Server, o *Options) *mcp.Client {
	t.Helper()
	p := prepare(t, o)
	near, far := jsonrpc.Pipe(jsonrpc.Limits{})
	served := make(chan error, 1)
	go func() { served <- s.Serve(p.ctx, far) }()
	c, err := mcp.Connect(t.Context(), near, &p.Client)
	if err != nil {
		t.Fatalf("Connect in %s: %v", p.Revision, err)
	}
	t.Cleanup(func() {
		p.close(c)
		p.wait("Serve", func() error { return <-served })
		p.end()
	})
	return c
}

// HTTP is Connect over HTTP, with an httptest.Server.
func HTTP(t testing.TB, s *mcp.Server, o *Options) *mcp.Client {
	t.Helper()
	p := prepare(t, o)
	h := streamable.NewHandler(s, &p.HTTP)
	web := httptest.NewUnstartedServer(h)
	web.Config.BaseContext = func(net.Listener) context.Context { return p.ctx }
	web.Start()
	c, err := streamable.Connect(t.Context(), web.URL, nil, &p.Client)
	if err != nil {
		h.Close()
		web.Close()
		t.Fatalf("Connect in %s: %v", p.Revision, err)
	}
	t.Cleanup(func() {
		p.close(c)
		h.Close()
		p.wait("Close of the HTTP server", func() error { web.Close(); return nil })
		p.end()
	})
	return c
}

// EachRevision runs test once for every revision, with a new client in memory each.
// Revisions before 2025-06-18, in which users cannot be asked, are skipped if
// o.Answers has any that is not a *mcp.SampleResult.
func EachRevision(t *testing.T, s *mcp.Server, o *Options, test func(t *testing.T, c *mcp.Client)) {
	t.Helper()
	var each Options
	if o != nil {
		each = *o
	}
	for _, r := range mcp.Revisions() {
		t.Run(r.String(), func(t *testing.T) {
			if r < mcp.R20250618 && asksUsers(each.Answers) {
				t.Skip("users cannot be asked in this revision")
			}
			own := each
			own.Revision = r
			test(t, Connect(t, s, &own))
		})
	}
}

// Call calls a tool and returns its result. The test fails if the call or the tool
// does.
func Call[Out any](t testing.TB, c *mcp.Client, tool string, args any) Out {
	t.Helper()
	out, err := mcp.CallAs[Out](t.Context(), c, tool, args, nil)
	if err != nil {
		t.Fatalf("call %s: %v", tool, err)
	}
	return out
}

// CallError calls a tool that must fail, and returns the text that the model sees.
// For an error of the protocol, such as one about arguments in revisions before
// 2025-11-25, that is its message.
func CallError(t testing.TB, c *mcp.Client, tool string, args any) string {
	t.Helper()
	res, err := c.Call(t.Context(), tool, args, nil)
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e.Message
	}
	switch {
	case err != nil:
		t.Fatalf("call %s: %v, want an error of the tool", tool, err)
	case !res.IsError:
		t.Fatalf("call %s succeeded: %s", tool, res.Text())
	}
	return res.Text()
}

// A prepared is a test's client and server before they are connected.
type prepared struct {
	Options
	t      testing.TB
	ctx    context.Context // of the server
	script *script
}

func prepare(t testing.TB, o *Options) *prepared {
	t.Helper()
	p := &prepared{t: t}
	if o != nil {
		p.Options = *o
	}
	p.Revision = cmp.Or(p.Revision, mcp.LatestRevision)
	p.Client.Revision = p.Revision
	p.script = &script{t: t, answers: p.Answers, used: make([]bool, len(p.Answers))}
	if p.Answers != nil {
		if p.Client.Elicit != nil || p.Client.Sample != nil {
			t.Fatal("mcptest: set Answers, or Elicit and Sample of the client")
		}
		p.Client.Elicit, p.Client.Sample = p.script.elicit, p.script.sample
	}
	watch := &link.Watch{
		Panicked: func(v any, stack []byte) {
			if !p.AllowPanic {
				p.script.fail("a handler panicked: %v\n%s", v, stack)
			}
		},
		Swallowed: func(what string) {
			p.script.fail("the handler of %s succeeded without the answer to a question: return the error of Ask", what)
		},
	}
	// The test's own context ends before Cleanup.
	p.ctx = link.WithWatch(context.WithoutCancel(t.Context()), watch)
	return p
}

func (p *prepared) close(c *mcp.Client) {
	if err := c.Close(); err != nil {
		p.t.Errorf("close the client: %v", err)
	}
}

// wait reports an error of f, or that it does not return.
func (p *prepared) wait(what string, f func() error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	timer := time.NewTimer(endTimeout)
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil {
			p.t.Errorf("%s in %s: %v", what, p.Revision, err)
		}
	case <-timer.C:
		p.t.Errorf("%s did not return within %v after the client closed: a handler ignores its context", what, endTimeout)
	}
}

// end checks that all answers were used.
func (p *prepared) end() { p.script.end() }
