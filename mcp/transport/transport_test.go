package transport_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// sink remembers what a request has sent.
type sink struct{ methods []string }

func (s *sink) Notify(_ context.Context, method string, _ any) error {
	s.methods = append(s.methods, method)
	return nil
}

func (s *sink) Call(context.Context, string, any) (json.RawMessage, error) {
	return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "no calls here")
}

func message(t *testing.T, text string) *jsonrpc.Message {
	t.Helper()
	p, err := jsonrpc.Decode([]byte(text), jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Message
}

// A transport of somebody else's needs nothing but this package: single requests that describe
// themselves, and sessions that travel sealed.
func TestServer(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "x", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "hi", Description: "Greet."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		c.Progress(1, 2, "")
		return "hello " + c.Principal().ID, nil
	})
	ts := transport.NewServer(s)
	ada := mcp.Principal{ID: "ada"}
	r := ts.NewRequest(message(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hi","_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`), ada, nil)
	if !ts.Stateless(r) {
		t.Fatal("the request does not describe itself")
	}
	if err := ts.Prepare(r); err != nil {
		t.Fatal(err)
	}
	var out sink
	result, err := ts.Handle(t.Context(), r, &out)
	if err != nil || !strings.Contains(string(result), "hello ada") || !slices.Equal(out.methods, []string{"notifications/progress"}) {
		t.Errorf("Handle = %s, %v, having sent %v", result, err, out.methods)
	}
	ts.Release(result)

	r = ts.NewRequest(message(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`), ada, nil)
	x, err := ts.Initialize(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := x.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := ts.Keyring().Open("session", ts.Keyring().Seal("session", packed))
	if err != nil {
		t.Fatal(err)
	}
	y, err := ts.OpenSession(opened, nil)
	if err != nil || y.Revision() != mcp.R20250618 {
		t.Fatalf("OpenSession = %v, %v", y, err)
	}
	r = ts.NewRequest(message(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hi"}}`), ada, nil)
	y.Prepare(r, "")
	if result, err := ts.Handle(t.Context(), r, &out); err != nil || !strings.Contains(string(result), "hello ada") {
		t.Errorf("Handle in a session = %s, %v", result, err)
	}
	l := ts.Listen(y, ada)
	defer l.Close()
	s.Remove(mcp.KindTool, "hi")
	if events := l.Next(t.Context()); len(events) != 1 || events[0].Kind != mcp.EventTools {
		t.Errorf("Next = %v, want that the tools have changed", events)
	}
	if rules := transport.RulesOf(mcp.R20250326); !rules.Batches || rules.VersionHeader || transport.RulesOf(mcp.LatestRevision).Batches {
		t.Errorf("RulesOf = %+v", rules)
	}
}

// A transport of somebody else's settles a request by its exported fields alone.
func TestHandle_fromOutside(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "hello", Description: "Greet."},
		func(context.Context, *mcp.Call, struct{}) (string, error) { return "hello", nil })
	s.AddResource(mcp.Resource{URI: "test://a", Name: "a"},
		func(context.Context, *mcp.Call) (*mcp.ResourceResult, error) {
			return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: "A"}}}, nil
		})
	for _, r := range mcp.Revisions() {
		for _, c := range []struct{ method, params, want string }{
			{"tools/call", `{"name":"hello"}`, `"text":"hello"`},
			{"resources/read", `{"uri":"test://a"}`, `"text":"A"`},
			{"logging/setLevel", `{"level":"info"}`, "logging/setLevel"},
			{"resources/subscribe", `{"uri":"test://a"}`, "resources/subscribe"},
			{"nonsense", `{}`, "nonsense"},
		} {
			req := &mcp.Request{ID: jsonrpc.IntID(1), Method: c.method, Revision: r}
			if err := req.SetParams(json.RawMessage(c.params)); err != nil {
				t.Fatal(err)
			}
			b, err := transport.NewServer(s).Handle(t.Context(), req, &sink{})
			got := string(b)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) || strings.Contains(got, "internal") {
				t.Errorf("%s: Handle(%s) = %s, %v; want %s in it", r, c.method, b, err, c.want)
			}
		}
	}
}
