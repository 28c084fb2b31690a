package mcptest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

type size string

func (size) Enum() []string { return []string{"s", "l"} }

// newServer returns a server with tools that ask, panic, ignore questions, and do not end.
func newServer() *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "shop", Version: "1.0.0"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	type order struct {
		Size size   `json:"size"`
		Note string `json:"note"`
	}
	mcp.AddTool(s, mcp.Tool{Name: "order", Description: "Order a shirt."}, func(_ context.Context, c *mcp.Call, _ struct{}) (order, error) {
		chosen, err1 := mcp.Ask[size](c, "size", "Which size?")
		if errors.Is(err1, mcp.ErrDeclined) {
			return order{}, mcp.Errorf("no size, no shirt")
		}
		form, err2 := mcp.Ask[struct {
			Text string `json:"text" jsonschema:"what to print"`
			Bold bool   `json:"bold,omitempty" jsonschema:"in bold type"`
		}](c, "print", "What shall we print?")
		return order{chosen, form.Text}, mcp.JoinAsks(err1, err2)
	})
	mcp.AddTool(s, mcp.Tool{Name: "panic", Description: "Panic."}, func(context.Context, *mcp.Call, struct{}) (string, error) {
		panic("oh")
	})
	mcp.AddTool(s, mcp.Tool{Name: "ignore", Description: "Ignore that there is no answer."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		chosen, _ := mcp.Ask[size](c, "size", "Which size?")
		return string(chosen), nil
	})
	return s
}

var both = []mcptest.Answer{{To: "print", With: map[string]any{"text": "hi", "bold": true}}, {To: "Which size", With: "l"}}

func TestEachRevision(t *testing.T) {
	n := 0
	mcptest.EachRevision(t, newServer(), &mcptest.Options{Answers: both}, func(t *testing.T, c *mcp.Client) {
		n++
		got := mcptest.Call[map[string]string](t, c, "order", nil)
		if fmt.Sprint(got) != "map[note:hi size:l]" {
			t.Errorf("order = %v", got)
		}
	})
	if n != 3 {
		t.Errorf("ran in %d revisions, want the 3 in which users can be asked", n)
	}
	n = 0
	mcptest.EachRevision(t, newServer(), nil, func(t *testing.T, c *mcp.Client) {
		n++
		if text := mcptest.CallError(t, c, "order", map[string]any{"x": 1}); text == "" {
			t.Error("CallError = nothing")
		}
	})
	if n != len(mcp.Revisions()) {
		t.Errorf("ran in %d revisions", n)
	}
}

func TestHTTP(t *testing.T) {
	for _, r := range []mcp.Revision{mcp.R20250618, mcp.R20260728} {
		c := mcptest.HTTP(t, newServer(), &mcptest.Options{Revision: r, Answers: both})
		if got := mcptest.Call[map[string]string](t, c, "order", nil); got["size"] != "l" || c.Revision() != r {
			t.Errorf("%s: order = %v in %s", r, got, c.Revision())
		}
	}
	c := mcptest.HTTP(t, newServer(), &mcptest.Options{Answers: []mcptest.Answer{{To: "size", With: mcptest.Decline}, both[0]}})
	if got := mcptest.CallError(t, c, "order", nil); got != "no size, no shirt" {
		t.Errorf("order = %q", got)
	}
}

// A recorder is a test that remembers its failures.
type recorder struct {
	testing.TB
	errors  []string
	cleanup []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }
func (r *recorder) Failed() bool      { return len(r.errors) > 0 }
func (r *recorder) Skipped() bool     { return false }
func (r *recorder) Cleanup(f func())  { r.cleanup = append(r.cleanup, f) }

// record runs a test and returns its failures.
func record(t *testing.T, test func(t testing.TB)) string {
	r := &recorder{TB: t}
	func() {
		defer func() {
			if v := recover(); v != nil && v != any(r) {
				panic(v)
			}
		}()
		test(r)
	}()
	for _, f := range r.cleanup {
		f()
	}
	return strings.Join(r.errors, "\n")
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name, want string
		o          mcptest.Options
		tool       string
		fails      bool
	}{
		{"no answer", `there is no answer to "What shall we print?"`, mcptest.Options{Answers: both[1:]}, "order", true},
		{"unused answer", `nothing was asked that the answer to "colour" is for`, mcptest.Options{Answers: append(both[:2:2], mcptest.Answer{To: "colour"})}, "order", false},
		{"one value for two fields", `a form with 2 fields`, mcptest.Options{Answers: []mcptest.Answer{{To: "print", With: 1}, {With: "l"}}}, "order", true},
		{"panic", "a handler panicked: oh", mcptest.Options{}, "panic", true},
		{"allowed panic", "", mcptest.Options{AllowPanic: true}, "panic", true},
		{"swallowed question", "the handler of tools/call ignore succeeded", mcptest.Options{Answers: []mcptest.Answer{}}, "ignore", false},
		{"the tool fails", "call panic", mcptest.Options{AllowPanic: true}, "panic", false},
		{"the tool does not fail", "call order succeeded", mcptest.Options{Answers: both}, "order", true},
		{"two scripts", "set Answers", mcptest.Options{Answers: both, Client: mcp.ClientOptions{
			Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, nil },
		}}, "order", false},
	} {
		for _, r := range []mcp.Revision{mcp.R20251125, mcp.R20260728} {
			c.o.Revision = r
			c.o.Client.Logger = slog.New(slog.DiscardHandler)
			for kind, connect := range map[string]func(testing.TB, *mcp.Server, *mcptest.Options) *mcp.Client{"memory": mcptest.Connect, "HTTP": mcptest.HTTP} {
				got := record(t, func(t testing.TB) {
					client := connect(t, newServer(), &c.o)
					if c.fails {
						mcptest.CallError(t, client, c.tool, nil)
					} else {
						mcptest.Call[any](t, client, c.tool, nil)
					}
				})
				if c.want == "" && got != "" || !strings.Contains(got, c.want) {
					t.Errorf("%s, %s in %s: the test says %q, want %q", c.name, kind, r, got, c.want)
				}
			}
		}
	}
}

// A handler that goes on after its client has gone fails the test.
func TestFailures_endless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		stop := make(chan struct{})
		mcp.AddTool(s, mcp.Tool{Name: "endless", Description: "Ignore the context."}, func(context.Context, *mcp.Call, struct{}) (string, error) {
			<-stop
			return "", nil
		})
		got := record(t, func(t testing.TB) {
			c := mcptest.Connect(t, s, nil)
			go c.Call(context.Background(), "endless", nil, nil) //nolint:errcheck
			synctest.Wait()
		})
		close(stop)
		if !strings.Contains(got, "a handler is still running") {
			t.Errorf("the test says %q", got)
		}
	})
}
