package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// dial connects to a modern server that answers everything else as serve says.
func dial(t *testing.T, o mcp.ClientOptions, serve script) *mcp.Client {
	t.Helper()
	tr := play(t, func(m *jsonrpc.Message, say func(*jsonrpc.Message)) *jsonrpc.Message {
		if m.Method == "server/discover" {
			return answer(m, discovered)
		}
		return serve(m, say)
	})
	c, err := mcp.Connect(t.Context(), tr, quiet(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Answers that nobody waits for are dropped and counted, and harm no others.
func TestClient_strangeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, mcp.ClientOptions{Timeout: time.Second}, func(m *jsonrpc.Message, say func(*jsonrpc.Message)) *jsonrpc.Message {
			if !m.IsRequest() {
				return nil
			}
			var p struct{ Name string }
			_ = json.Unmarshal(m.Params, &p)
			good := answer(m, `{"resultType":"complete","content":[]}`)
			switch p.Name {
			case "never asked":
				say(&jsonrpc.Message{ID: jsonrpc.IntID(999), Result: json.RawMessage(`{}`)})
			case "other type":
				return &jsonrpc.Message{ID: jsonrpc.StringID(m.ID.String()), Result: json.RawMessage(`{}`)}
			case "twice":
				say(good)
			case "no object":
				return answer(m, `[1]`)
			case "odd kind":
				return answer(m, `{"resultType":"surprise"}`)
			case "task unasked":
				return answer(m, `{"resultType":"task","taskId":"1"}`)
			case "misfit":
				return answer(m, `{"content":"text"}`)
			case "asks what cannot be":
				return answer(m, `{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{}}}}`)
			case "asks for ever":
				return answer(m, `{"resultType":"input_required","requestState":"x"}`)
			}
			return good
		})
		for tool, want := range map[string]string{
			"never asked": "<nil>", "other type": "no answer in time", "twice": "<nil>",
			"no object": "not an object", "odd kind": "unknown kind", "task unasked": "unknown kind",
			"misfit": "/content", "asks what cannot be": "not found", "asks for ever": "keeps asking",
		} {
			_, err := c.Call(t.Context(), tool, nil, nil)
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("Call(%s) = %v, want %s", tool, err, want)
			}
		}
		synctest.Wait()
		if got := c.Refused(); got != 3 {
			t.Errorf("Refused = %d, want 3", got)
		}
	})
}

// A server that never answers is told that nobody waits any more. Progress keeps
// the call alive, but not for ever.
func TestClient_timeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cancelled []string
		c := dial(t, mcp.ClientOptions{Timeout: time.Minute, MaxTime: 10 * time.Minute}, func(m *jsonrpc.Message, say func(*jsonrpc.Message)) *jsonrpc.Message {
			if m.Method == "notifications/cancelled" {
				cancelled = append(cancelled, string(m.Params))
				return nil
			}
			var p struct {
				Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
			_ = json.Unmarshal(m.Params, &p)
			if p.Meta.ProgressToken != nil {
				go func() {
					for i := range 25 {
						time.Sleep(30 * time.Second)
						say(&jsonrpc.Message{Method: "notifications/progress", Params: json.RawMessage(
							fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, p.Meta.ProgressToken, i))})
					}
				}()
			}
			return nil
		})
		n := 0
		for _, x := range []struct {
			o    *mcp.CallOptions
			want time.Duration
		}{
			{nil, time.Minute},
			{&mcp.CallOptions{Timeout: time.Second}, time.Second},
			{&mcp.CallOptions{Timeout: time.Hour}, time.Hour},
			{&mcp.CallOptions{Progress: func(context.Context, mcp.Progress) { n++ }}, 10 * time.Minute},
		} {
			start := time.Now()
			_, err := c.Call(t.Context(), "x", nil, x.o)
			if took := time.Since(start); !errors.Is(err, mcp.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || took != x.want {
				t.Errorf("Call = %v after %v, want ErrTimeout after %v", err, took, x.want)
			}
		}
		time.Sleep(3 * time.Minute) // what still comes is for nobody
		synctest.Wait()
		if n < 19 || len(cancelled) != 4 {
			t.Errorf("heard of progress %d times, cancelled %v; want 19 or 20, and 4", n, cancelled)
		}
	})
}

// A list that does not end well is an error, and an empty cursor is a cursor.
func TestClient_pages(t *testing.T) {
	for name, c := range map[string]struct {
		next func(cursor *string) string
		want string
	}{
		"empty cursor": {func(cursor *string) string {
			switch {
			case cursor == nil:
				return `,"nextCursor":""`
			case *cursor == "":
				return `,"nextCursor":"b"`
			}
			return ""
		}, "nil nil nil"},
		"empty means the end": {func(*string) string { return `,"nextCursor":""` }, "nil nil"},
		"null":                {func(*string) string { return `,"nextCursor":null` }, "nil"},
		"same again":          {func(*string) string { return `,"nextCursor":"a"` }, "nil nil same page"},
		"number":              {func(*string) string { return `,"nextCursor":1` }, "must be a string"},
	} {
		t.Run(name, func(t *testing.T) {
			client := dial(t, mcp.ClientOptions{}, func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
				var p struct{ Cursor *string }
				_ = json.Unmarshal(m.Params, &p)
				return answer(m, `{"tools":[{"name":"a","inputSchema":{}}]`+c.next(p.Cursor)+`}`)
			})
			var got []string
			for _, err := range client.Tools(t.Context()) {
				got = append(got, strings.Trim(fmt.Sprint(err), "<>"))
			}
			i := 0
			for word := range strings.SplitSeq(strings.ReplaceAll(c.want, "nil ", "nil|"), "|") {
				if i >= len(got) || !strings.Contains(got[i], word) {
					t.Fatalf("Tools: %q, want %s", got, c.want)
				}
				i++
			}
			if i != len(got) {
				t.Errorf("Tools: %q, want %s", got, c.want)
			}
		})
	}
}

// A list without end ends with an error that names the server, and takes little
// memory, whatever its pages are made of and however long the server lets it be
// kept.
func TestClient_endlessList(t *testing.T) {
	big := `{"name":"a","inputSchema":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`
	many := strings.TrimSuffix(strings.Repeat(`{},`, 300_000), ",")
	for name, c := range map[string]struct {
		list  func(context.Context, *mcp.Client) error
		items string
		pause time.Duration // before each page
		want  string
	}{
		"large tools": {drain((*mcp.Client).Tools), `"tools":[` + big + `]`, 0, "more than 32 MiB"},
		"many tools":  {drain((*mcp.Client).Tools), `"tools":[` + many + `]`, 0, "more than 32 MiB"},
		"many arguments": {
			drain((*mcp.Client).Prompts), `"prompts":[{"name":"a","arguments":[` + many + `]}]`, 0, "more than 32 MiB",
		},
		"beside the items":  {drain((*mcp.Client).Resources), `"x":"` + strings.Repeat("x", 1<<20) + `","resources":[]`, 0, "more than 32 MiB"},
		"empty pages":       {drain((*mcp.Client).ResourceTemplates), `"resourceTemplates":[]`, 0, "more than 10000 pages"},
		"pages that dawdle": {drain((*mcp.Client).Tools), `"tools":[]`, 50 * time.Second, "more than 30m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				tr := play(t, func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
					if m.Method == "server/discover" {
						return answer(m, strings.Replace(discovered, `"ttlMs"`, `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"endless\u001b[2J","version":"1"}},"ttlMs"`, 1))
					}
					if !m.IsRequest() {
						return nil
					}
					time.Sleep(c.pause)
					n++
					return answer(m, fmt.Sprintf(`{%s,"nextCursor":"%d","ttlMs":3600000,"cacheScope":"private"}`, c.items, n))
				})
				client, err := mcp.Connect(t.Context(), tr, quiet(mcp.ClientOptions{}))
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err = c.list(t.Context(), client)
				runtime.ReadMemStats(&after)
				if !errors.Is(err, jsonrpc.ErrTooLong) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `server "endless\x1b[2J"`) {
					t.Errorf("the list ended with %v, want ErrTooLong: %s, and the name of the server", err, c.want)
				}
				if took := int64(after.HeapSys) - int64(before.HeapSys); took > 200<<20 {
					t.Errorf("the list took %d MB of heap, want at most 200", took>>20)
				}
			})
		})
	}
}

// drain returns a function that reads a list to its end and keeps all of it.
func drain[T any](list func(*mcp.Client, context.Context) iter.Seq2[*T, error]) func(context.Context, *mcp.Client) error {
	return func(ctx context.Context, c *mcp.Client) error {
		var all []*T
		defer func() { runtime.KeepAlive(all) }()
		for item, err := range list(c, ctx) {
			if err != nil {
				return err
			}
			all = append(all, item)
		}
		return nil
	}
}

// A list is kept as long as the server says, and not after it has changed.
func TestClient_keepsLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		ttl := 60_000
		var tell func(*jsonrpc.Message)
		c := dial(t, mcp.ClientOptions{}, func(m *jsonrpc.Message, say func(*jsonrpc.Message)) *jsonrpc.Message {
			asked++
			tell = say
			return answer(m, fmt.Sprintf(`{"tools":[{"name":"a","inputSchema":{"type":"object","x":%d}}],"ttlMs":%d,"cacheScope":"private"}`, asked, ttl))
		})
		look := func() string {
			tool, err := c.Tool(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			tool.Name = "changed by its user"
			return string(tool.InputSchema)
		}
		list := func() {
			for range c.Tools(t.Context()) {
			}
		}
		list()
		list()
		if got := look(); got != `{"type":"object","x":1}` || asked != 1 {
			t.Errorf("asked %d times for %s, want once", asked, got)
		}
		time.Sleep(time.Minute)
		list()
		if asked != 2 {
			t.Errorf("asked %d times after a minute, want twice", asked)
		}
		tell(&jsonrpc.Message{Method: "notifications/tools/list_changed"})
		synctest.Wait()
		ttl = -5
		list()
		list()
		if asked != 4 {
			t.Errorf("asked %d times after a change, then with a life of nothing; want 4", asked)
		}
		if _, err := c.Tool(t.Context(), "b"); !errors.Is(err, mcp.ErrNotFound) {
			t.Errorf("Tool(b) = %v, want ErrNotFound", err)
		}
	})
}

// A listener is told at once, after each change, and after a break.
func TestListen_takesUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		c := dial(t, mcp.ClientOptions{}, func(m *jsonrpc.Message, say func(*jsonrpc.Message)) *jsonrpc.Message {
			if m.Method != "subscriptions/listen" {
				return nil
			}
			n.Add(1)
			tag := `"_meta":{"io.modelcontextprotocol/subscriptionId":` + m.ID.String() + `}`
			say(&jsonrpc.Message{Method: "notifications/subscriptions/acknowledged", Params: json.RawMessage(
				`{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a://1"]},` + tag + `}`)})
			for range 10_000 { // however many there are
				say(&jsonrpc.Message{Method: "notifications/resources/updated", Params: json.RawMessage(`{"uri":"a://1",` + tag + `}`)})
				say(&jsonrpc.Message{Method: "notifications/prompts/list_changed", Params: json.RawMessage(`{` + tag + `}`)})
			}
			if n.Load() == 1 {
				return answer(m, `{"resultType":"complete",`+tag+`}`)
			}
			return nil
		})
		var got []string
		for e, err := range c.Listen(t.Context(), mcp.EventFilter{Tools: true, Resources: true, ResourceURIs: []string{"a://1", "a://2"}}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(e.Kind)+e.Name)
			if n.Load() == 2 && len(got) > 2 && slices.Contains(got[2:], "tools") && slices.Contains(got[2:], "resourcea://1") {
				break
			}
		}
		if got[0] != "tools" && got[1] != "tools" {
			t.Errorf("heard %v", got)
		}
	})
}

func TestListen_refused(t *testing.T) {
	c := dial(t, mcp.ClientOptions{}, func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message { return fail(m, -32601, nil) })
	for _, err := range c.Listen(t.Context(), mcp.EventFilter{Tools: true}) {
		if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != -32601 {
			t.Errorf("Listen = %v, want the server's refusal", err)
		}
	}
}

// A server that floods, over a pipe, costs bounded memory: a result without end
// ends the conversation, and one that is merely too large ends its call.
func TestClient_floods(t *testing.T) {
	connect := func(t *testing.T, answer func(w io.Writer)) *mcp.Client {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		go func() {
			in := bufio.NewScanner(outR)
			for n := 0; in.Scan(); n++ {
				if n == 0 {
					fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":1,"result":%s}`+"\n", discovered)
					continue
				}
				answer(inW)
			}
		}()
		c, err := mcp.Connect(t.Context(), jsonrpc.Lines(inR, outW, jsonrpc.Limits{}), quiet(mcp.ClientOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	chunk := []byte(strings.Repeat("x", 1<<20))
	pour := func(w io.Writer, mebibytes int) {
		for range mebibytes {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	t.Run("a large result", func(t *testing.T) {
		c := connect(t, func(w io.Writer) {
			_, _ = io.WriteString(w, `{"result":{"content":[{"type":"text","text":"`)
			pour(w, 30)
			_, _ = io.WriteString(w, `"}]},"jsonrpc":"2.0","id":2}`+"\n")
		})
		if _, err := c.Call(t.Context(), "x", nil, nil); err == nil || !strings.Contains(err.Error(), "larger than") {
			t.Errorf("Call = %v, want that it was too large", err)
		}
	})
	t.Run("a result without end", func(t *testing.T) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		c := connect(t, func(w io.Writer) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{"text":"`)
			pour(w, 1<<10)
		})
		if _, err := c.Call(t.Context(), "x", nil, nil); err == nil {
			t.Error("Call = nil, want an error")
		}
		<-c.Done()
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
			t.Errorf("%d bytes more are in use", grown)
		}
	})
	t.Run("notifications", func(t *testing.T) {
		const many = 100_000
		lines := []byte(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`+"\n", 1000))
		c := connect(t, func(w io.Writer) {
			for range many / 1000 {
				_, _ = w.Write(lines)
			}
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`+"\n")
		})
		if _, err := c.Call(t.Context(), "x", nil, nil); err != nil {
			t.Errorf("Call = %v", err)
		}
	})
}

// Nothing that a server names is fetched.
func TestClient_fetchesNothing(t *testing.T) {
	var hits atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer web.Close()
	c := dial(t, mcp.ClientOptions{}, func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
		if m.Method == "tools/call" {
			return answer(m, `{"content":[{"type":"resource_link","uri":"`+web.URL+`/r","name":"r"}],"structuredContent":{"a":1}}`)
		}
		return answer(m, `{"tools":[{"name":"a","icons":[{"src":"`+web.URL+`/icon"}],
			"inputSchema":{"type":"object","$ref":"`+web.URL+`/schema","$schema":"`+web.URL+`/dialect"},"outputSchema":{"$ref":"`+web.URL+`/out"}}]}`)
	})
	tool, err := c.Tool(t.Context(), "a")
	if err != nil || !strings.Contains(string(tool.InputSchema), "/schema") {
		t.Fatalf("Tool = %v, %v", tool, err)
	}
	if _, err := c.Call(t.Context(), "a", map[string]any{"x": 1}, nil); err != nil || hits.Load() != 0 {
		t.Errorf("Call = %v with %d requests", err, hits.Load())
	}
}
