package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
	"github.com/bossman-dev/bossman/telemetry"
	"github.com/bossman-dev/bossman/tools"
)

type auditLine struct {
	Verb                                                                    string
	Time                                                                    time.Time
	Principal, Name, Owner, Kind, Key, Method, Tool, Project, Task, Outcome string
	Address                                                                 string
	Code, More                                                              int
	Seconds                                                                 float64
	Trace                                                                   string `json:"trace_id"`
}

func auditLines(t *testing.T, stream string) (lines []auditLine) {
	t.Helper()
	for text := range strings.Lines(stream) {
		var l auditLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("audit line %q: %v", text, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// TestAudit_outcomes calls tools that read, write, fail and deny.
func TestAudit_outcomes(t *testing.T) {
	b := newBench(t, telemetry.Options{Who: func(p mcp.Principal) telemetry.Who {
		return telemetry.Who{Name: "Ada \u202e" + p.ID, Owner: "ada", Kind: "person", Key: "key-7"}
	}})
	s := newServer(b)
	addTools(s)
	c := mcptest.Connect(t, s, nil)
	for _, tool := range []string{"look", "write", "fail", "refuse", "deny", "break", "invented"} {
		_, _ = c.Call(t.Context(), tool, nil, nil)
	}
	_, _ = c.CallMethod(t.Context(), "own/deny", nil, nil)
	stream := b.audited()
	if strings.Contains(stream, "\u202e") {
		t.Error("the stream can be turned around")
	}
	var got []string
	for _, l := range auditLines(t, stream) {
		got = append(got, fmt.Sprintf("%s %s %s %d", l.Method, l.Tool, l.Outcome, l.Code))
		if l.Principal != "local" || l.Name != "Ada \u202elocal" || l.Kind != "person" || l.Owner != "ada" || l.Key != "key-7" || l.Time.IsZero() || l.Seconds <= 0 || len(l.Trace) != 32 {
			t.Errorf("audit line %+v", l)
		}
	}
	want := []string{
		"tools/call write ok 0", "tools/call fail failed 0", "tools/call refuse error -32602",
		"tools/call deny denied 0", "tools/call break failed 0", "own/deny  denied -32603",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("audit stream\n%q, want\n%q", got, want)
	}
}

// TestAudit_board works on a real board: lines name the project and the task.
func TestAudit_board(t *testing.T) {
	b := newBench(t, telemetry.Options{})
	s := newServer(b)
	agent := access.Local(auth.Lead, "web")
	s.Use(tools.AuthorizeAs(agent))
	tools.Register(s, openBoard(t, nil), &tools.Options{Pipe: agent, Logger: b.logger})
	c := mcptest.Connect(t, s, nil)
	call := func(tool string, args map[string]any) *mcp.ToolResult {
		t.Helper()
		res, err := c.Call(t.Context(), tool, args, nil)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	call("create_task", map[string]any{"description": "Write the schema"})
	res := call("get_next_task", nil)
	claim := res.Meta[tools.ResultKey].(map[string]any)["claim"].(map[string]any)["claim"].(string)
	call("get_task", map[string]any{"task": "web-1"})
	call("report_progress", map[string]any{"claim": claim, "note": "half"})
	call("report_task_done", map[string]any{"claim": claim, "summary": "done"})
	call("report_task_done", map[string]any{"claim": "web-1/9.aaaaa", "summary": "done"})
	spans := b.ended() // the exporter forgets them at the end
	var got []string
	for _, l := range auditLines(t, b.audited()) {
		got = append(got, fmt.Sprintf("%s %s %s %s %s", l.Tool, l.Verb, l.Project, l.Task, l.Outcome))
	}
	want := []string{
		"create_task create web web-1 ok", "get_next_task next web web-1 ok", "report_progress progress web web-1 ok",
		"report_task_done done web web-1 ok", "report_task_done done web web-1 failed",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("audit stream\n%q, want\n%q", got, want)
	}
	span := attributes(spanNamed(t, spans, "tools/call report_progress"))
	if span["bossman.verb"] != "progress" {
		t.Errorf("the span's verb is %q", span["bossman.verb"])
	}
	if span["bossman.task"] != "web-1" || span["bossman.project"] != "web" {
		t.Errorf("the span is about %q in %q", span["bossman.task"], span["bossman.project"])
	}
}

// TestAudit_laptop: of a laptop's methods those have a line that change something, and
// it names the project and the task.
func TestAudit_laptop(t *testing.T) {
	b := newBench(t, telemetry.Options{})
	s := newServer(b)
	serve := func(context.Context, *mcp.Request) (mcp.Result, error) { return struct{}{}, nil }
	s.HandleMethod("own/look", mcp.Method{NoHandshake: true, ReadOnly: true, Handle: serve})
	s.HandleMethod("own/write", mcp.Method{NoHandshake: true, Handle: serve})
	c := mcptest.Connect(t, s, nil)
	var want []string
	for _, x := range []struct{ args, project, task string }{
		{`{"ID":"web-7","Reason":"api-1"}`, "web", "web-7"},
		{`{"Claim":{"Task":"web-8","Attempt":1,"Nonce":"aaaaa"},"Note":{"Text":"half"}}`, "web", "web-8"},
		{`{"Task":{"Project":"web","Title":"One"},"Key":"k"}`, "web", ""},
		{`{"Slug":"web"}`, "web", ""},
		{`{"ID":18,"Answer":"red"}`, "", ""},
		{`{"ID":"Not an id","Slug":"Nor a project"}`, "", ""},
		{`7`, "", ""},
	} {
		for _, method := range []string{"own/look", "own/write"} {
			if _, err := c.CallMethod(t.Context(), method, map[string]any{"args": json.RawMessage(x.args)}, nil); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, fmt.Sprintf("own/write %s %s", x.project, x.task))
	}
	var got []string
	for _, l := range auditLines(t, b.audited()) {
		got = append(got, fmt.Sprintf("%s %s %s", l.Method, l.Project, l.Task))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("audit stream\n%q, want\n%q", got, want)
	}
}

// A gate is a writer that hangs until it is opened.
type gate struct {
	lockedBuffer
	open chan struct{}
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.lockedBuffer.Write(p)
}

// TestAudit_hangs has a writer that does not come back: calls go on.
func TestAudit_hangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		b := newBench(t, telemetry.Options{Audit: g})
		s := newServer(b)
		addTools(s)
		c := mcptest.Connect(t, s, nil)
		begun := time.Now()
		const calls = telemetry.AuditQueue + 1000 // some are in the writer's hands
		for range calls {
			if _, err := c.Call(t.Context(), "write", nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took > 200*time.Millisecond {
			t.Errorf("calls waited %v for the audit stream", took)
		}
		if n := strings.Count(b.log.String(), "stuck"); n != 1 {
			t.Errorf("the log says %d times that it is stuck", n)
		}
		close(g.open)
		synctest.Wait()
		if _, err := c.Call(t.Context(), "write", nil, nil); err != nil { // it has recovered
			t.Fatal(err)
		}
		b.audited()
		written := len(auditLines(t, g.String()))
		lost := scrape(t, b.Telemetry)["bossman_audit_lines_lost_total"]
		if written+int(lost) != calls+1 || lost == 0 {
			t.Errorf("%d lines were written and %v lost, of %d", written, lost, calls+1)
		}
	})
}

// A brokenDisk writes half of a block, then nothing, then all.
type brokenDisk struct {
	mu    sync.Mutex
	left  int // failures
	whole strings.Builder
}

func (d *brokenDisk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left > 0 {
		d.left--
		n := 0
		if d.left == 1 {
			n = len(p) / 2
		}
		d.whole.Write(p[:n])
		return n, errors.New("no space left on device")
	}
	d.whole.Write(p)
	return len(p), nil
}

// TestAudit_fails has a writer that fails: it is counted, said once, and the line
// after half a line begins on its own.
func TestAudit_fails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &brokenDisk{left: 2}
		b := newBench(t, telemetry.Options{Audit: d})
		s := newServer(b)
		addTools(s)
		c := mcptest.Connect(t, s, nil)
		for range 4 {
			if _, err := c.Call(t.Context(), "write", nil, nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		wantSeries(t, scrape(t, b.Telemetry), "bossman_audit_lines_lost_total", 2)
		if n := strings.Count(b.log.String(), "the audit stream cannot be written"); n != 1 {
			t.Errorf("the log says %d times that it cannot be written", n)
		}
		_, rest, ok := strings.Cut(d.whole.String(), "\n")
		if !ok || len(auditLines(t, rest)) != 2 {
			t.Errorf("after half a line: %q", rest)
		}
	})
}

// TestAudit_turnedAway floods a server with requests that it refuses.
func TestAudit_turnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, telemetry.Options{})
		h := b.HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }), func(*http.Request) telemetry.Sender { return telemetry.Sender{Address: "192.0.2.7", Key: "abc"} })
		for range 100 {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(context.Background(), "POST", "/mcp", nil))
		}
		time.Sleep(2 * time.Second)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(context.Background(), "POST", "/mcp", nil))
		lines := auditLines(t, b.audited())
		if len(lines) != 2 || lines[0].Outcome != "denied" || lines[0].Code != 401 || lines[0].Address != "192.0.2.7" || lines[0].Key != "abc" || lines[1].More != 99 {
			t.Errorf("audit stream %+v", lines)
		}
		wantSeries(t, scrape(t, b.Telemetry), `bossman_http_requests_total{code="4xx"}`, 101)
	})
}
