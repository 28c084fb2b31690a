package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// request answers one stateless request for a principal, as a door other than a
// pipe would, and returns the result's or the error's JSON.
func request(t *testing.T, s *Server, principal, method, params string) string {
	t.Helper()
	if params != "" {
		params += ","
	}
	raw := json.RawMessage(`{` + params + abbreviations.Replace("$tasks") + `}`)
	r := newRequest(&jsonrpc.Message{ID: jsonrpc.IntID(1), Method: method, Params: raw}, Principal{ID: principal}, nil)
	if err := s.prepare(r); err != nil {
		t.Fatal(err)
	}
	b, err := s.handle(t.Context(), r, quietSink{})
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// A quietSink drops what a request has to say.
type quietSink struct{}

func (quietSink) Notify(context.Context, string, any) error { return nil }
func (quietSink) Call(context.Context, string, any) (json.RawMessage, error) {
	return nil, errors.New("nobody to ask")
}

func wantIn(t *testing.T, what, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s = %s, want %s in it", what, got, w)
		}
	}
}

func TestKeyring_rotation(t *testing.T) {
	key := func(b byte) []byte { return []byte(strings.Repeat(string(rune('a'+b)), 32)) }
	k, err := replica.NewKeyring(key(1))
	if err != nil {
		t.Fatal(err)
	}
	token := k.Seal("p", []byte("data"))
	opens := func() bool {
		b, err := k.Open("p", token)
		return err == nil && string(b) == "data"
	}
	if !opens() {
		t.Error("a fresh seal does not open")
	}
	if _, err := k.Open("q", token); err == nil {
		t.Error("a seal opens for another purpose")
	}
	if err := k.Rotate(key(2), key(1)); err != nil || !opens() {
		t.Errorf("after rotation the previous key does not open: %v", err)
	}
	if newer := k.Seal("p", []byte("data")); newer[:5] == token[:5] {
		t.Error("after rotation the previous key still seals")
	}
	if err := k.Rotate(key(2)); err != nil || opens() {
		t.Errorf("a key that has been taken away opens: %v", err)
	}
	if k.Rotate() == nil || k.Rotate([]byte("short")) == nil {
		t.Error("Rotate takes no key, or a short one")
	}
	if b, err := k.Open("p", k.Seal("p", []byte("still"))); err != nil || string(b) != "still" {
		t.Error("a refused rotation changed the keys")
	}
}

func TestKeyring_rotationBetweenRounds(t *testing.T) {
	old, fresh := []byte(strings.Repeat("o", 32)), []byte(strings.Repeat("f", 32))
	k, err := replica.NewKeyring(old)
	if err != nil {
		t.Fatal(err)
	}
	s := newFixture(ServerOptions{Keyring: k}, func(any) {})
	defer s.Close()
	const call = `"name":"ask_form","arguments":{}`
	state := string(fieldOf(json.RawMessage(request(t, s, "ann", "tools/call", call)), "requestState"))
	retry := call + `,"inputResponses":{"who":{"action":"accept","content":{"name":"Ann","colour":"red"}}},"requestState":` + state
	if err := k.Rotate(fresh, old); err != nil {
		t.Fatal(err)
	}
	wantIn(t, "retry after rotation", request(t, s, "ann", "tools/call", retry), "Ann likes red")
	wantIn(t, "retry of another principal", request(t, s, "bob", "tools/call", retry), "-32602", "requestState")
	if err := k.Rotate(fresh); err != nil {
		t.Fatal(err)
	}
	wantIn(t, "retry without the key", request(t, s, "ann", "tools/call", retry), "-32602", "requestState")
}

func TestVisible_hides(t *testing.T) {
	hidden := []string{"tool add", "prompt letter", "resource test://text", "template test://item/{id}"}
	s := newFixture(ServerOptions{PageSize: 100, Visible: func(_ context.Context, r *Request, kind Kind, name string) bool {
		return r.Principal.ID == "ann" || !slices.Contains(hidden, string(kind)+" "+name)
	}}, func(any) {})
	defer s.Close()
	tests := []struct{ method, params, shown, not string }{
		{"tools/list", "", `"name":"add"`, ""},
		{"tools/call", `"name":"add","arguments":{"a":1,"b":2}`, `"sum":3`, `Unknown tool: add (-32602)`},
		{"prompts/list", "", `"name":"letter"`, ""},
		{"prompts/get", `"name":"letter","arguments":{"to":"x"}`, "Write to x", `unknown prompt "letter" (-32602)`},
		{"resources/list", "", "test://text", ""},
		{"resources/read", `"uri":"test://text"`, "some text", "resource not found (-32602)"},
		{"resources/templates/list", "", "test://item/{id}", ""},
		{"resources/read", `"uri":"test://item/1"`, `"uri":"test://item/1"`, "resource not found (-32602)"},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"letter"},"argument":{"name":"to","value":"be"}`, "beta", "(-32602)"},
		{"completion/complete", `"ref":{"type":"ref/resource","uri":"test://item/{id}"},"argument":{"name":"id","value":"be"}`, "beta", "(-32602)"},
	}
	for _, tt := range tests {
		wantIn(t, tt.method+" for ann", request(t, s, "ann", tt.method, tt.params), tt.shown)
		got := request(t, s, "bob", tt.method, tt.params)
		wantIn(t, tt.method+" for bob", got, tt.not)
		if strings.Contains(got, tt.shown) {
			t.Errorf("%s for bob = %s, which shows %s", tt.method, got, tt.shown)
		}
		if strings.HasSuffix(tt.method, "/list") {
			wantIn(t, tt.method, got, `"cacheScope":"private"`)
		}
	}
	wantUnknown := request(t, s, "bob", "tools/call", `"name":"no_such","arguments":{}`)
	if got := request(t, s, "bob", "tools/call", `"name":"add","arguments":{}`); got != strings.Replace(wantUnknown, "no_such", "add", 1) {
		t.Errorf("a hidden tool answers %s, an unknown one %s: that tells them apart", got, wantUnknown)
	}
}

func TestVisible_hidesFromListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(ServerOptions{Visible: func(_ context.Context, _ *Request, kind Kind, name string) bool {
			return name != "test://text" && kind != "template"
		}}, func(any) {})
		c := newRawClient(t, s)
		c.open(LatestRevision)
		c.send([]byte(abbreviations.Replace(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["test://text","test://blob","test://item/1"]},$meta}}` + "\n")))
		synctest.Wait()
		if got := c.take(); len(got) != 1 || !strings.Contains(got[0], `"resourceSubscriptions":["test://blob"]`) {
			t.Errorf("acknowledged %q, want test://blob alone", got)
		}
		s.ResourceUpdated("test://text")
		s.ResourceUpdated("test://item/1")
		synctest.Wait()
		if got := c.take(); len(got) != 0 {
			t.Errorf("heard %q of what is hidden", got)
		}
		c.end()
	})
}

func TestUse_firstIsOutermost(t *testing.T) {
	s := NewServer(Implementation{Name: "n", Version: "1"}, nil)
	var order []string
	mark := func(name string) func(Handler) Handler {
		return func(next Handler) Handler {
			return func(ctx context.Context, r *Request) (Result, error) {
				order = append(order, name)
				res, err := next(ctx, r)
				order = append(order, "/"+name)
				return res, err
			}
		}
	}
	s.Use(mark("a"), mark("b"))
	s.Use(mark("c"))
	request(t, s, "ann", "server/discover", "")
	if want := []string{"a", "b", "c", "/c", "/b", "/a"}; !slices.Equal(order, want) {
		t.Errorf("order = %q, want %q", order, want)
	}
}

func TestUse_seesEveryRevision(t *testing.T) {
	for _, r := range Revisions() {
		t.Run(r.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newRawClient(t, newFixture(ServerOptions{}, func(v any) { t.Errorf("panic: %v", v) }))
				c.open(r)
				line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{$meta,"name":"forbidden","arguments":{}}}`
				if !r.Stateless() {
					line = strings.Replace(line, "$meta,", "", 1)
				}
				c.send([]byte(abbreviations.Replace(line) + "\n"))
				synctest.Wait()
				wantIn(t, "forbidden", strings.Join(c.take(), ""), "-31403")
				c.end()
			})
		})
	}
}

func TestAdd_panicsOnWhatIsNotFit(t *testing.T) {
	handle := func(context.Context, *Call, nothing) (string, error) { return "", nil }
	tests := []struct {
		name string
		want string // in the panic
		add  func(s *Server)
	}{
		{"no name", "tool name", func(s *Server) { AddTool(s, Tool{Description: "d"}, handle) }},
		{"bad name", "tool name", func(s *Server) { AddTool(s, Tool{Name: "a b", Description: "d"}, handle) }},
		{"long name", "tool name", func(s *Server) { AddTool(s, Tool{Name: strings.Repeat("x", 129), Description: "d"}, handle) }},
		{"no description", "needs a description", func(s *Server) { AddTool(s, Tool{Name: "a"}, handle) }},
		{"field without description", "Bare needs a description", func(s *Server) {
			AddTool(s, Tool{Name: "a", Description: "d"}, func(context.Context, *Call, struct{ Bare int }) (string, error) { return "", nil })
		}},
		{"field without description, deep down", "A.B[].C needs a description", func(s *Server) {
			type in struct {
				A struct {
					B []struct {
						C int `json:"c"`
					} `json:"b" jsonschema:"b"`
				} `json:"a" jsonschema:"a"`
			}
			AddTool(s, Tool{Name: "a", Description: "d"}, func(context.Context, *Call, in) (string, error) { return "", nil })
		}},
		{"arguments that are no object", "struct or a map", func(s *Server) {
			AddTool(s, Tool{Name: "a", Description: "d"}, func(context.Context, *Call, int) (string, error) { return "", nil })
		}},
		{"bad input schema", "input schema", func(s *Server) {
			s.AddRawTool(Tool{Name: "a", Description: "d", InputSchema: json.RawMessage(`{"type":7}`)}, nil)
		}},
		{"schema that refers elsewhere", "input schema", func(s *Server) {
			s.AddRawTool(Tool{Name: "a", Description: "d", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`)}, nil)
		}},
		{"bad output schema", "output schema", func(s *Server) {
			s.AddRawTool(Tool{Name: "a", Description: "d", OutputSchema: json.RawMessage(`[]`)}, nil)
		}},
		{"input schema that is no object schema", `"type": "object"`, func(s *Server) {
			s.AddRawTool(Tool{Name: "a", Description: "d", InputSchema: json.RawMessage(`{"properties":{"a":{}}}`)}, nil)
		}},
		{"boolean input schema", `"type": "object"`, func(s *Server) {
			AddTool(s, Tool{Name: "a", Description: "d", InputSchema: json.RawMessage(`true`)}, handle)
		}},
		{"boolean output schema", "want an object", func(s *Server) {
			s.AddRawTool(Tool{Name: "a", Description: "d", OutputSchema: json.RawMessage(`true`)}, nil)
		}},
		{"prompt without a name", "needs a name", func(s *Server) { s.AddPrompt(Prompt{}, nil) }},
		{"resource without a name", "needs a name", func(s *Server) { s.AddResource(Resource{URI: "a://b"}, nil) }},
		{"resource without a URI", "needs a name and a URI", func(s *Server) { s.AddResource(Resource{Name: "n"}, nil) }},
		{"template without a template", "needs a name and a template", func(s *Server) { s.AddResourceTemplate(ResourceTemplate{Name: "n"}, nil) }},
		{"bad template", "resource template n", func(s *Server) { s.AddResourceTemplate(ResourceTemplate{Name: "n", URITemplate: "a://{b"}, nil) }},
		{"method of the protocol", "belongs to the protocol", func(s *Server) { s.HandleMethod("tools/call", Method{}) }},
		{"unknown kind", "unknown kind", func(s *Server) { s.Remove("toll", "a") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), tt.want) {
					t.Errorf("panic = %v, want one with %q", v, tt.want)
				}
			}()
			tt.add(NewServer(Implementation{Name: "n", Version: "1"}, nil))
		})
	}
}

func TestRepair_notesAreShown(t *testing.T) {
	s := NewServer(Implementation{Name: "n", Version: "1"}, nil)
	AddTool(s, Tool{Name: "add", Description: "Add.", Repair: func(_ context.Context, raw json.RawMessage) (json.RawMessage, []string, error) {
		if strings.Contains(string(raw), "hopeless") {
			return nil, nil, errors.New("nothing to be done")
		}
		if fixed := strings.ReplaceAll(string(raw), `"2"`, `2`); fixed != string(raw) {
			return json.RawMessage(fixed), []string{"b was text", "it is a number"}, nil
		}
		return raw, nil, nil
	}}, func(_ context.Context, _ *Call, n numbers) (sum, error) { return sum{n.A + n.B}, nil })
	call := func(args string) string { return request(t, s, "ann", "tools/call", `"name":"add","arguments":`+args) }
	wantIn(t, "mended", call(`{"a":1,"b":"2"}`), `"text":"{\"sum\":3}"},{"type":"text","text":"b was text\nit is a number"}`, `"structuredContent":{"sum":3}`)
	if got := call(`{"a":1,"b":2}`); strings.Contains(got, "text\nit") || strings.Count(got, `"type"`) != 1 {
		t.Errorf("nothing to mend = %s, want no notes", got)
	}
	wantIn(t, "mended but still wrong", call(`{"b":"2"}`), "invalid arguments", `"isError":true`)
	wantIn(t, "beyond mending", call(`{"hopeless":1}`), "invalid arguments: nothing to be done", `"isError":true`)
}

func TestAsk_stateIsBounded(t *testing.T) {
	s := NewServer(Implementation{Name: "n", Version: "1"}, &ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	type size struct {
		N int `json:"n" jsonschema:"bytes to keep"`
	}
	AddTool(s, Tool{Name: "keep", Description: "Keep much."}, func(_ context.Context, c *Call, in size) (string, error) {
		if _, err := Once(c, "much", func() (string, error) { return strings.Repeat("x", in.N), nil }); err != nil {
			return "", err
		}
		return Ask[string](c, "a", "a")
	})
	wantIn(t, "31 KiB", request(t, s, "ann", "tools/call", `"name":"keep","arguments":{"n":31744}`), `"resultType":"input_required"`)
	wantIn(t, "33 KiB", request(t, s, "ann", "tools/call", `"name":"keep","arguments":{"n":33792}`), "(-32603)")
	wantIn(t, "a long requestState", request(t, s, "ann", "tools/call", `"name":"keep","arguments":{"n":1},"requestState":"`+strings.Repeat("A", 3*maxState)+`"`), "(-32602)")
}

func taskID(t *testing.T, answer string) string {
	t.Helper()
	id, err := text("taskId", fieldOf(json.RawMessage(answer), "taskId"))
	if err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	return id
}

func TestDurable_onlyForItsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(ServerOptions{}, func(any) {})
		defer s.Close()
		id := taskID(t, request(t, s, "ann", "tools/call", `"name":"countdown","arguments":{"from":5,"confirm":true}`))
		unknown := request(t, s, "bob", "tasks/get", `"taskId":"nope"`)
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			got := request(t, s, "bob", method, `"taskId":"`+id+`","inputResponses":{"sure":{"action":"decline"}}`)
			if got != strings.Replace(unknown, "nope", id, 1) {
				t.Errorf("%s of another's task = %s, of none %s", method, got, unknown)
			}
		}
		synctest.Wait()
		wantIn(t, "its owner's", request(t, s, "ann", "tasks/get", `"taskId":"`+id+`"`), `"status":"input_required"`, `"sure"`)
	})
}

func TestDurable_deadRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryTasks()
		s := newFixture(ServerOptions{Tasks: store}, func(any) {})
		defer s.Close()
		now := time.Now()
		err := store.Create(t.Context(), &replica.TaskRecord{
			ID: "t1", Owner: "ann", Status: replica.TaskWorking, Created: now, Updated: now, TTL: time.Hour, LeaseExpires: now.Add(runnerLease),
		})
		if err != nil {
			t.Fatal(err)
		}
		get := func() string { return request(t, s, "ann", "tasks/get", `"taskId":"t1"`) }
		time.Sleep(runnerLease)
		wantIn(t, "within the lease", get(), `"status":"working"`)
		time.Sleep(time.Second)
		wantIn(t, "after the lease", get(), `"status":"failed"`, `"error":{"code":-32603`)
	})
}

// A runner that was given up for dead, and is not, must not change what clients
// have been told.
func TestDurable_endedStaysEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryTasks()
		s := newFixture(ServerOptions{Tasks: store}, func(any) {})
		defer s.Close()
		for _, args := range []string{`{"from":20}`, `{"from":20,"confirm":true}`} {
			id := taskID(t, request(t, s, "ann", "tools/call", `"name":"countdown","arguments":`+args))
			synctest.Wait()
			if _, err := store.Update(t.Context(), id, func(d *replica.TaskRecord) error {
				d.Status, d.Error, d.Requests = replica.TaskFailed, jsonrpc.Errorf(-32603, "gone"), nil
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			get := func() string { return request(t, s, "ann", "tasks/get", `"taskId":"`+id+`"`) }
			before := get()
			wantIn(t, "failed", before, `"status":"failed"`)
			request(t, s, "ann", "tasks/update", `"taskId":"`+id+`","inputResponses":{"sure":{"action":"decline"},"colour":{"action":"decline"}}`)
			time.Sleep(time.Minute)
			if after := get(); after != before {
				t.Errorf("a task that had ended changed:\nfrom %s\nto   %s", before, after)
			}
		}
	})
}

func TestDurable_runnerKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(ServerOptions{}, func(any) {})
		defer s.Close()
		id := taskID(t, request(t, s, "ann", "tools/call", `"name":"countdown","arguments":{"from":200}`))
		for range 3 {
			time.Sleep(time.Minute)
			wantIn(t, "at work", request(t, s, "ann", "tasks/get", `"taskId":"`+id+`"`), `"status":"working"`)
		}
		time.Sleep(time.Minute)
		wantIn(t, "done", request(t, s, "ann", "tasks/get", `"taskId":"`+id+`"`), `"status":"completed"`, "lift off")
	})
}

func TestDurable_closeFailsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(ServerOptions{}, func(any) {})
		id := taskID(t, request(t, s, "ann", "tools/call", `"name":"countdown","arguments":{"from":200}`))
		s.Close()
		wantIn(t, "after Close", request(t, s, "ann", "tasks/get", `"taskId":"`+id+`"`), `"status":"failed"`, `-32603`)
	})
}

// Two servers that share a store: one runs the task, the other is asked.
func TestDurable_throughAnotherReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, bus := newMemoryTasks(), replica.NewBus()
		a := newFixture(ServerOptions{Tasks: store, Bus: bus}, func(any) {})
		b := newFixture(ServerOptions{Tasks: store, Bus: bus}, func(any) {})
		defer a.Close()
		defer b.Close()
		id := taskID(t, request(t, a, "ann", "tools/call", `"name":"countdown","arguments":{"from":0,"confirm":true}`))
		synctest.Wait()
		request(t, b, "ann", "tasks/update", `"taskId":"`+id+`","inputResponses":{"sure":{"action":"accept","content":{"sure":true}},"colour":{"action":"accept","content":{"colour":"red"}}}`)
		time.Sleep(pollInterval)
		synctest.Wait()
		wantIn(t, "answered elsewhere", request(t, b, "ann", "tasks/get", `"taskId":"`+id+`"`), `"status":"completed"`, "lift off")

		id = taskID(t, request(t, a, "ann", "tools/call", `"name":"countdown","arguments":{"from":200}`))
		request(t, b, "ann", "tasks/cancel", `"taskId":"`+id+`"`)
		time.Sleep(runnerLease / 3)
		synctest.Wait()
		wantIn(t, "cancelled elsewhere", request(t, b, "ann", "tasks/get", `"taskId":"`+id+`"`), `"status":"cancelled"`)
	})
}

func TestServe_endOfInput(t *testing.T) {
	for _, tt := range []struct {
		name   string
		tool   string
		takes  time.Duration
		answer string
	}{
		{"a call that is done in time", "nap", time.Second, "napped"},
		{"a call that is not", "sleep", 5 * time.Second, "-32603"},
		{"a question without an answer", "ask_form", 0, "-32603"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newRawClient(t, newFixture(ServerOptions{}, func(v any) { t.Errorf("panic: %v", v) }))
				c.open(R20251125)
				c.send([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tt.tool + `","arguments":{}}}` + "\n"))
				synctest.Wait()
				start := time.Now()
				c.end()
				if d := time.Since(start).Round(100 * time.Millisecond); d != tt.takes {
					t.Errorf("Serve took %v, want %v", d, tt.takes)
				}
				lines := c.take()
				wantIn(t, "answer", lines[len(lines)-1], `"id":1`, tt.answer)
			})
		})
	}
}

func TestServe_contextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened, closed int
		s := newFixture(ServerOptions{Observer: Observer{Connected: func() { opened++ }, Disconnected: func(error) { closed++ }}}, func(any) {})
		in, to := io.Pipe()
		from, out := io.Pipe()
		go func() { _, _ = io.Copy(io.Discard, from) }()
		ctx, cancel := context.WithCancelCause(t.Context())
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, jsonrpc.Lines(in, out, jsonrpc.Limits{})) }()
		if _, err := io.WriteString(to, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		why := errors.New("that is all")
		cancel(why)
		if err := <-served; !errors.Is(err, why) {
			t.Errorf("Serve = %v, want %v", err, why)
		}
		if opened != 1 || closed != 1 {
			t.Errorf("Opened told %d times, Closed %d, want once each", opened, closed)
		}
	})
}

func TestServe_clientStopsReading(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if err := serveDeaf(t, func(from *io.PipeReader) { from.Close() }); !errors.Is(err, jsonrpc.ErrClosed) {
				t.Errorf("Serve = %v, want %v", err, jsonrpc.ErrClosed)
			}
		})
	})
	t.Run("stalled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if err := serveDeaf(t, func(*io.PipeReader) {}); !errors.Is(err, jsonrpc.ErrStalled) {
				t.Errorf("Serve = %v, want %v", err, jsonrpc.ErrStalled)
			}
		})
	})
}

// serveDeaf serves a client that asks and does not hear the answer.
func serveDeaf(t *testing.T, hang func(*io.PipeReader)) error {
	s := newFixture(ServerOptions{}, func(v any) { t.Errorf("panic: %v", v) })
	in, to := io.Pipe()
	from, out := io.Pipe()
	hang(from)
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), jsonrpc.Lines(in, out, jsonrpc.Limits{})) }()
	if _, err := io.WriteString(to, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	return <-served
}

// A cancellation races with the call's own end: there is one answer or none, and
// the conversation goes on.
func TestServe_cancelRacesWithCompletion(t *testing.T) {
	s := NewServer(Implementation{Name: "n", Version: "1"}, nil)
	var ran atomic.Int64
	s.HandleMethod("example/work", Method{NoHandshake: true, Handle: func(ctx context.Context, _ *Request) (Result, error) {
		// Now and then one takes long, so that those behind it get goroutines
		// of their own; they end at about the moment they are cancelled.
		n := ran.Add(1)
		work := time.Duration(n%7) * 2 * time.Microsecond
		if n%25 == 1 {
			work = 2 * time.Millisecond
		}
		select {
		case <-time.After(work):
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}})
	client, server := jsonrpc.Pipe(jsonrpc.Limits{})
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), server) }()
	const rounds = 500
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range rounds {
			id := jsonrpc.IntID(int64(i))
			_ = client.Send(t.Context(), jsonrpc.One(&jsonrpc.Message{ID: id, Method: "example/work"}))
			_ = client.Send(t.Context(), jsonrpc.One(&jsonrpc.Message{Method: "notifications/cancelled", Params: json.RawMessage(`{"requestId":` + id.String() + `}`)}))
		}
		_ = client.Send(t.Context(), jsonrpc.One(&jsonrpc.Message{ID: jsonrpc.StringID("last"), Method: "ping"}))
	})
	answers := map[jsonrpc.ID]int{}
	for answers[jsonrpc.StringID("last")] == 0 {
		p, err := client.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if answers[p.Message.ID]++; answers[p.Message.ID] > 1 {
			t.Fatalf("id %s is answered twice", p.Message.ID)
		}
	}
	wg.Wait()
	client.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve = %v", err)
	}
	t.Logf("%d of %d were answered", len(answers)-1, rounds)
}

// Many clients use the same ids at once; each gets its own answers.
func TestServe_clientsAreApart(t *testing.T) {
	s := NewServer(Implementation{Name: "n", Version: "1"}, nil)
	s.HandleMethod("example/echo", Method{NoHandshake: true, Handle: func(_ context.Context, r *Request) (Result, error) {
		runtime.Gosched()
		return r.Params(), nil
	}})
	var wg sync.WaitGroup
	for n := range 32 {
		wg.Go(func() {
			client, server := jsonrpc.Pipe(jsonrpc.Limits{})
			served := make(chan error, 1)
			go func() { served <- s.Serve(t.Context(), server) }()
			for i := range 50 {
				mine := fmt.Sprintf(`{"client":%d,"call":%d}`, n, i)
				_ = client.Send(t.Context(), jsonrpc.One(&jsonrpc.Message{ID: jsonrpc.IntID(1), Method: "example/echo", Params: json.RawMessage(mine)}))
				p, err := client.Receive(t.Context())
				if err != nil || string(p.Message.Result) != mine {
					t.Errorf("client %d, call %d = %+v, %v, want %s", n, i, p.Message, err, mine)
					break
				}
			}
			client.Close()
			<-served
		})
	}
	wg.Wait()
}

// An eagerTransport is a client that asks again, with the same id, the moment it
// has the answer: before the server's Send has returned.
type eagerTransport struct {
	packets chan jsonrpc.Packet
	heard   chan *jsonrpc.Message
	release chan struct{}
}

func (e *eagerTransport) Send(_ context.Context, p jsonrpc.Packet) error {
	e.heard <- p.Message
	<-e.release
	return nil
}

func (e *eagerTransport) Receive(context.Context) (jsonrpc.Packet, error) {
	p, ok := <-e.packets
	if !ok {
		return p, io.EOF
	}
	return p, nil
}

func (e *eagerTransport) Close() error { return nil }

func TestServe_idIsFreeOnceAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(Implementation{Name: "n", Version: "1"}, nil)
		s.HandleMethod("example/m", Method{NoHandshake: true, Handle: func(context.Context, *Request) (Result, error) { return nil, nil }})
		e := &eagerTransport{make(chan jsonrpc.Packet), make(chan *jsonrpc.Message, 10), make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- s.Serve(t.Context(), e) }()
		for range 3 {
			e.packets <- jsonrpc.One(&jsonrpc.Message{ID: jsonrpc.IntID(1), Method: "example/m"})
			if m := <-e.heard; m.Error != nil || m.ID != jsonrpc.IntID(1) {
				t.Errorf("answer = %+v, want a result for id 1", m)
			}
		}
		close(e.release)
		close(e.packets)
		if err := <-served; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
}

func TestObserver_isToldOfRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refused []string
		s := newFixture(ServerOptions{Observer: Observer{Rejected: func(err error) { refused = append(refused, err.Error()) }}}, func(any) {})
		c := newRawClient(t, s)
		c.send([]byte("rubbish\n" + `{"jsonrpc":"2.0","id":7,"result":{}}` + "\n"))
		c.end()
		if len(refused) != 2 || !strings.Contains(refused[0], "not valid JSON") || !strings.Contains(refused[1], "id 7") {
			t.Errorf("refused = %q, want rubbish and a response to nothing", refused)
		}
	})
}

func TestPanic_isToldAndAnswered(t *testing.T) {
	var told []any
	s := NewServer(Implementation{Name: "n", Version: "1"}, &ServerOptions{
		Logger:   slog.New(slog.DiscardHandler),
		Observer: Observer{Panicked: func(v any, stack []byte) { told = append(told, v) }},
		Complete: func(context.Context, *Call, *CompleteParams) (*Completion, error) { panic("completion") },
	})
	s.Use(func(next Handler) Handler {
		return func(ctx context.Context, r *Request) (Result, error) {
			if r.Method == "tools/list" {
				panic("middleware")
			}
			return next(ctx, r)
		}
	})
	s.AddRawTool(Tool{Name: "t", Description: "d"}, func(context.Context, *Call) (*ToolResult, error) { panic("tool") })
	s.AddPrompt(Prompt{Name: "p"}, func(context.Context, *Call) (*PromptResult, error) { panic("prompt") })
	s.AddResource(Resource{Name: "r", URI: "a://b"}, func(context.Context, *Call) (*ResourceResult, error) { panic("resource") })
	s.HandleMethod("example/m", Method{Handle: func(context.Context, *Request) (Result, error) { panic("method") }})
	for _, tt := range []struct{ method, params, value, want string }{
		{"tools/call", `"name":"t","arguments":{}`, "tool", `"isError":true`},
		{"prompts/get", `"name":"p"`, "prompt", "(-32603)"},
		{"resources/read", `"uri":"a://b"`, "resource", "(-32603)"},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}`, "completion", "(-32603)"},
		{"example/m", "", "method", "(-32603)"},
		{"tools/list", "", "middleware", "(-32603)"},
	} {
		told = nil
		got := request(t, s, "ann", tt.method, tt.params)
		wantIn(t, tt.method, got, tt.want, "Internal error: ref ")
		if len(told) != 1 || told[0] != tt.value {
			t.Errorf("%s: Panic was told %v, want %q once", tt.method, told, tt.value)
		}
	}
}

// A handler that has answered has nothing more to say.
func TestCall_silentAfterTheAnswer(t *testing.T) {
	for _, r := range []Revision{R20251125, R20260728} {
		t.Run(r.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(Implementation{Name: "n", Version: "1"}, nil)
				var kept *Call
				s.AddRawTool(Tool{Name: "t", Description: "d"}, func(_ context.Context, c *Call) (*ToolResult, error) {
					kept = c
					c.Progress(1, 0, "")
					return &ToolResult{}, nil
				})
				c := newRawClient(t, s)
				c.open(r)
				meta := `"_meta":{"progressToken":1}`
				if r.Stateless() {
					meta = metaBegins + `{},"progressToken":1,"io.modelcontextprotocol/logLevel":"debug"}`
				}
				c.send([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + meta + `}}` + "\n"))
				synctest.Wait()
				if got := c.take(); len(got) != 2 || !strings.Contains(got[0], "notifications/progress") {
					t.Fatalf("heard %q, want progress and the answer", got)
				}
				kept.Progress(2, 0, "")
				kept.Logger().Error("too late")
				synctest.Wait()
				if got := c.take(); len(got) != 0 {
					t.Errorf("after the answer heard %q", got)
				}
				c.end()
			})
		})
	}
}

// A client hears what is at or above the level that it asked for, in a stateless
// request by the request itself.
func TestLogger_levels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(Implementation{Name: "n", Version: "1"}, nil)
		s.AddRawTool(Tool{Name: "t", Description: "d"}, func(_ context.Context, c *Call) (*ToolResult, error) {
			for l := logDebug; l <= logEmergency; l++ {
				c.Logger().Log(t.Context(), l.Level(), l.String())
			}
			return &ToolResult{}, nil
		})
		c := newRawClient(t, s)
		c.open(LatestRevision)
		for l := logDebug; l <= logEmergency; l++ {
			c.send([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + metaBegins + `{},"io.modelcontextprotocol/logLevel":"` + l.String() + `"}}}` + "\n"))
			synctest.Wait()
			got := c.take()
			if want := int(logEmergency-l) + 2; len(got) != want {
				t.Errorf("level %v: heard %d lines, want %d", l, len(got), want)
			}
			wantIn(t, l.String(), got[0], `"level":"`+l.String()+`"`, `"data":"`+l.String()+`"`)
		}
		c.end()
	})
}
