package team

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/e2e/internal/teamserver"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// A change that is made at one replica is heard of at every other within this.
var heardWithin = harness.Bound(time.Second)

// Clients of every revision listen at one replica, and somebody works at another.
func TestSubscriptions(t *testing.T) {
	team := teamserver.Start(t, bossman, 3)
	key := team.Key(t, "--role", "lead", "--owner", "ada")
	at := func(i int) *mcp.Client { // the replica itself
		return connect(t, team.Replicas[i].MCP(), key, &mcp.ClientOptions{Revision: mcp.LatestRevision})
	}
	busy := at(0)
	made := call(t, busy, "create_task", args{"description": "Watched."}).facts.ID
	uri := "bossman://tasks/" + made

	var ears []*ear
	for _, revision := range revisions {
		for place, url := range map[string]string{
			"the same replica": team.Replicas[0].MCP(), "another replica": team.Replicas[1].MCP(),
			"a third replica": team.Replicas[2].MCP(), "the balancer": team.MCP(),
		} {
			c := connect(t, url, key, &mcp.ClientOptions{Revision: revision})
			ears = append(ears, listen(t, c, uri, fmt.Sprintf("%v at %s", revision, place)))
		}
	}
	for _, e := range ears {
		e.hear(t, time.Now(), patience) // that it listens
	}
	var slowest time.Duration
	for round := range 5 {
		begun := time.Now()
		call(t, busy, "update_task", args{"task": made, "title": fmt.Sprintf("Watched %d", round)})
		for _, e := range ears {
			slowest = max(slowest, e.hear(t, begun, heardWithin))
		}
		for _, e := range ears {
			e.drain()
		}
	}
	t.Logf("%d listeners heard of each change within %v", len(ears), slowest.Round(time.Millisecond))
}

// An ear is a client that listens for the changes of one resource.
type ear struct {
	name   string
	events chan time.Time
}

func listen(t *testing.T, c *mcp.Client, uri, name string) *ear {
	t.Helper()
	e := &ear{name, make(chan time.Time, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		for event, err := range c.Listen(ctx, mcp.EventFilter{ResourceURIs: []string{uri}}) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			if event.Kind == mcp.EventResource && event.Name == uri {
				e.events <- time.Now()
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return e
}

// hear waits for an event, and gives how long after begun it came.
func (e *ear) hear(t *testing.T, begun time.Time, within time.Duration) time.Duration {
	t.Helper()
	select {
	case at := <-e.events:
		if took := at.Sub(begun); took > within {
			t.Errorf("%s heard of the change after %v, want %v at most", e.name, took, within)
		}
		return at.Sub(begun)
	case <-time.After(patience):
		t.Fatalf("%s did not hear of the change", e.name)
		return 0
	}
}

func (e *ear) drain() {
	for len(e.events) > 0 {
		<-e.events
	}
}

// A session that was ended at one replica is over at all of them.
func TestSession_delete(t *testing.T) {
	t.Parallel()
	team := teamserver.Start(t, bossman, 3)
	key := team.Key(t, "--role", "lead", "--owner", "ada")
	for _, revision := range revisions {
		if revision.Stateless() {
			continue
		}
		w := begin(t, team, key, revision, `{}`)
		for _, r := range team.Replicas {
			if status, body := w.post(t, r, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); status != http.StatusOK {
				t.Fatalf("%v: ping = %d %s, want 200", revision, status, body)
			}
		}
		res := w.send(t, team.Replicas[1], http.MethodDelete, "", nil)
		_ = res.Body.Close()
		if res.StatusCode/100 != 2 {
			t.Fatalf("%v: DELETE = %d", revision, res.StatusCode)
		}
		begun := time.Now()
		for i, r := range team.Replicas {
			for status := 0; status != http.StatusNotFound; time.Sleep(10 * time.Millisecond) {
				if status, _ = w.post(t, r, `{"jsonrpc":"2.0","id":3,"method":"ping"}`); time.Since(begun) > 2*time.Second {
					t.Errorf("%v: %v after the end of the session replica %d answers %d, want 404", revision, time.Since(begun), i, status)
					break
				}
			}
		}
		t.Logf("%v: forgotten everywhere after %v", revision, time.Since(begun).Round(time.Millisecond))
	}
}

// A stream breaks while a person is asked. The client comes back for it at a second
// replica, and the answer comes to a third.
func TestStream_resumed(t *testing.T) {
	t.Parallel()
	team := teamserver.Start(t, bossman, 3)
	key := team.Key(t, "--role", "lead", "--owner", "ada")
	for _, revision := range []mcp.Revision{mcp.R20250618, mcp.R20251125} {
		w := begin(t, team, key, revision, `{"elicitation":{}}`)
		ctx, cancel := context.WithCancel(t.Context())
		question := fmt.Sprintf(`{"jsonrpc":"2.0","id":"ask","method":"tools/call","params":{"name":"ask_question","arguments":{"question":"Which colour, in %v?","wait_seconds":45}}}`, revision)
		first := w.stream(t, ctx, team.Replicas[0], http.MethodPost, question, "")
		var asked event
		for asked.Method != "elicitation/create" {
			asked = first.next(t)
		}
		cancel()
		_ = first.body.Close()

		begun := time.Now()
		second := w.stream(t, t.Context(), team.Replicas[1], http.MethodGet, "", asked.id)
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"answer":"green"}}}`, asked.ID)
		if status, body := w.post(t, team.Replicas[2], answer); status != http.StatusAccepted {
			t.Fatalf("the answer at the third replica = %d %s, want 202", status, body)
		}
		last := second.next(t)
		for string(last.ID) != `"ask"` {
			last = second.next(t)
		}
		if !strings.Contains(string(last.Result), "green") {
			t.Errorf("%v: the call was answered %s%s, want the answer", revision, last.Result, last.Error)
		}
		_ = second.body.Close()
		t.Logf("%v: back, and answered, within %v", revision, time.Since(begun).Round(time.Millisecond))
	}
}

// A wire is a session, message by message: the replica is chosen for each.
type wire struct {
	key, session string
	revision     mcp.Revision
}

// begin shakes hands with one replica, and tells another that it has.
func begin(t *testing.T, team *teamserver.Team, key string, revision mcp.Revision, capabilities string) *wire {
	t.Helper()
	w := &wire{key: key, revision: revision}
	hello := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"e2e","version":"1"}}}`, revision, capabilities)
	res := w.send(t, team.Replicas[0], http.MethodPost, hello, nil)
	defer res.Body.Close()
	w.session = res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != http.StatusOK || w.session == "" {
		t.Fatalf("initialize = %d, session %q", res.StatusCode, w.session)
	}
	if status, body := w.post(t, team.Replicas[1], `{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != http.StatusAccepted {
		t.Fatalf("initialized = %d %s", status, body)
	}
	return w
}

func (w *wire) send(t *testing.T, r *teamserver.Replica, method, body string, header http.Header) *http.Response {
	t.Helper()
	return w.sendWith(t, t.Context(), r, method, body, header)
}

func (w *wire) sendWith(t *testing.T, ctx context.Context, r *teamserver.Replica, method, body string, header http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, r.MCP(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + w.key}, "Accept": {"application/json, text/event-stream"}}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if w.session != "" {
		req.Header.Set("Mcp-Session-Id", w.session)
		if transport.RulesOf(w.revision).VersionHeader {
			req.Header.Set("Mcp-Protocol-Version", w.revision.String())
		}
	}
	for name, values := range header {
		req.Header[name] = values
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// post sends a message, and gives what was answered.
func (w *wire) post(t *testing.T, r *teamserver.Replica, body string) (int, string) {
	t.Helper()
	res := w.send(t, r, http.MethodPost, body, nil)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// stream opens a stream of events, behind one if it is named.
func (w *wire) stream(t *testing.T, ctx context.Context, r *teamserver.Replica, method, body, after string) *stream {
	t.Helper()
	header := http.Header{}
	if after != "" {
		header["Last-Event-Id"] = []string{after}
	}
	if method == http.MethodGet {
		header["Accept"] = []string{"text/event-stream"}
	}
	res := w.sendWith(t, ctx, r, method, body, header)
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		b, _ := io.ReadAll(res.Body)
		t.Fatalf("%s = %d %s %s, want a stream", method, res.StatusCode, res.Header.Get("Content-Type"), b)
	}
	return newStream(res)
}

type stream struct {
	body  io.Closer
	lines *bufio.Scanner
}

func newStream(res *http.Response) *stream {
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	return &stream{res.Body, lines}
}

// An event is a message on a stream, and its name there.
type event struct {
	id            string
	ID            json.RawMessage
	Method        string
	Result, Error json.RawMessage
}

// next reads the next event that has a message.
func (s *stream) next(t *testing.T) event {
	t.Helper()
	var e event
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			e.id = value
		case "data":
			if value == "" {
				continue
			}
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				t.Fatal(err)
			}
		case "":
			if e.Method != "" || len(e.ID) > 0 {
				return e
			}
		}
	}
	t.Fatalf("the stream ended: %v", s.lines.Err())
	return e
}
