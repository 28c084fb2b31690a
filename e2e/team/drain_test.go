package team

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/teamserver"
	"github.com/bossman-dev/bossman/mcp"
)

// linger is how long a replica goes on after it was told to end, so that the balancer
// notices.
const linger = time.Second

// A replica is told to end under load. It says that it is not ready, ends what waits
// for events, finishes what it has begun, and leaves with 0. No client behind the
// balancer has to try a call again, and nobody loses a claim.
func TestDrain(t *testing.T) {
	team := teamserver.Start(t, bossman, 3, "--linger", linger.String())
	team.Operate(t, "project", "create", "quiet")
	quiet := team.Key(t, "--project", "quiet", "--role", "lead", "--owner", "ada")
	fill(t, team, 1000)
	var keys []string
	for i := range 6 {
		keys = append(keys, team.Key(t, "--role", "worker", "--owner", fmt.Sprintf("crew-%d", i)))
	}
	log := &journal{}
	var workers []*worker
	for i := range 30 {
		w := &worker{name: fmt.Sprintf("w%d", i), log: log, thinking: 100 * time.Millisecond}
		key := keys[i%len(keys)]
		if i%2 == 0 {
			w.hands = newAgent(t, team, key, revisions[i/2%len(revisions)], w)
		} else {
			w.hands = newLaptop(t, team, key, w)
		}
		workers = append(workers, w)
	}
	stop := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() {
		parallel(workers, func(w *worker) {
			for w.turn(t) {
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	})

	// Calls that wait for work, in every revision, behind the balancer and at the
	// replica itself: for less than it has to finish them, and for more.
	leaving := team.Replicas[0]
	var waiting sync.WaitGroup
	waits := func(url string, revision mcp.Revision, secs int) {
		c := connect(t, url, quiet, &mcp.ClientOptions{Revision: revision})
		waiting.Go(func() {
			got, err := try(t.Context(), c, "get_next_task", args{"wait_seconds": secs}, nil)
			if err != nil || got.facts.Outcome != "none" {
				t.Errorf("%v: a call that waits %d s for work = %+v, %v, want that there is none", revision, secs, got, err)
			}
		})
	}
	for _, revision := range revisions {
		waits(leaving.MCP(), revision, 3)
		waits(leaving.MCP(), revision, 30)
		waits(team.MCP(), revision, 6) // a third of these at the replica that leaves
	}
	// A question that blocks its task, and that nobody answers while the replica ends.
	asksKey := team.Key(t, "--role", "worker", "--owner", "ada")
	asks := connect(t, leaving.MCP(), asksKey, &mcp.ClientOptions{Revision: mcp.LatestRevision})
	held := call(t, asks, "get_next_task", nil).facts.Claim
	question := args{"claim": held.Claim, "question": "Which colour?", "wait_seconds": 30}
	waiting.Go(func() {
		got, err := try(t.Context(), asks, "ask_question", question, nil)
		if err != nil || got.facts.Parked || got.facts.State != "open" {
			t.Errorf("a question that waits 30 s = %+v, %v, want that it is open, and nothing parked", got, err)
		}
		says(t, got.text, "You still hold "+held.Task, "repeat the call to keep waiting for")
	})

	raw := &wire{key: quiet, revision: mcp.LatestRevision}
	listening := raw.listen(t, leaving)
	until(t, "all wait", func() bool { return team.Calls() >= int64(len(revisions)) })

	until(t, "the question is asked", func() bool {
		return team.SQL(t, `SELECT count(*) FROM events WHERE kind = 'asked'`) == 1
	})
	if err := leaving.Term(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	until(t, "the replica says that it is not ready", func() bool {
		status := health(t, leaving, "/readyz")
		return status == http.StatusServiceUnavailable
	})
	t.Logf("not ready after %v", time.Since(begun).Round(time.Millisecond))
	if status := health(t, leaving, "/livez"); status != http.StatusOK {
		t.Errorf("/livez = %d while it ends, want 200", status)
	}
	if last := listening.last(t); string(last.ID) != `"listen"` || last.Result == nil {
		t.Errorf("the stream of events ended with %s %s%s, want the answer to the request", last.ID, last.Result, last.Error)
	} else {
		t.Logf("the stream of events ended politely after %v", time.Since(begun).Round(time.Millisecond))
	}
	select {
	case <-leaving.Over():
	case <-time.After(endsWithin):
		t.Fatalf("the replica has not ended after %v", endsWithin)
	}
	if err := leaving.Wait(); err != nil {
		t.Errorf("the replica ended with %v, want 0", err)
	}
	t.Logf("ended after %v", time.Since(begun).Round(time.Millisecond))
	close(stop)
	working.Wait()
	waiting.Wait()
	t.Logf("%d calls %s; %d tried again; %d failed", len(log.calls), spread(log.calls), len(log.gaps), log.failures)
	if len(log.gaps) > 0 || log.failures > 0 || team.Refused() > 0 {
		t.Errorf("%d calls were tried again, %d failed, the balancer refused %d: want none", len(log.gaps), log.failures, team.Refused())
	}
	asks = connect(t, team.MCP(), asksKey, nil)
	if again := call(t, asks, "get_next_task", args{"worker": held.Worker}).facts; again.Outcome != "again" || again.Claim != held {
		t.Errorf("afterwards the worker is told %+v, want that it still holds %s", again, held.Claim)
	}
	if n := team.SQL(t, `SELECT count(*) FROM events WHERE kind NOT IN ('created','claimed','delivered','asked','done')`); n > 0 {
		t.Errorf("%d events tell of trouble, want none", n)
	}
}

// endsWithin is what a replica may take from the signal to its end.
const endsWithin = 15 * time.Second

func health(t *testing.T, r *teamserver.Replica, path string) int {
	t.Helper()
	res, err := http.Get("http://" + r.Address() + path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// until waits for something that tells nobody when it comes.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for late := time.Now().Add(patience / 4); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("not within %v: %s", patience/4, what)
		}
	}
}

// listen opens a stream of events, in the revision without sessions.
func (w *wire) listen(t *testing.T, r *teamserver.Replica) *stream {
	t.Helper()
	const method = "subscriptions/listen"
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"listen","method":%q,"params":{"notifications":{"toolsListChanged":true},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"e2e","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, method, w.revision)
	header := http.Header{"Mcp-Protocol-Version": {w.revision.String()}, "Mcp-Method": {method}}
	res := w.sendWith(t, context.WithoutCancel(t.Context()), r, http.MethodPost, body, header)
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%s = %d, want a stream", method, res.StatusCode)
	}
	s := newStream(res)
	if first := s.next(t); first.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("the stream begins with %s", first.Method)
	}
	return s
}

// last reads to the end of a stream, which has to be whole.
func (s *stream) last(t *testing.T) event {
	t.Helper()
	e := s.next(t)
	for s.lines.Scan() {
		if s.lines.Text() != "" {
			t.Errorf("after the answer comes %q", s.lines.Text())
		}
	}
	if err := s.lines.Err(); err != nil {
		t.Errorf("the stream broke: %v", err)
	}
	return e
}
