package failover

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/store/postgres"
)

// upstreamConfig has a server that the replicas pass calls on to.
const upstreamConfig = `[upstream.slow]
url = "%s"
private = true
share = "shared"
trust = "first"
max = 200
timeout = "10s"
`

// An upstream has a tool that is slow, and one that asks. It does not know the newest revision, so that its
// questions come while a call runs.
type upstream struct {
	url     string
	release [2]chan struct{} // lets the calls with an even and an odd number end

	mu   sync.Mutex
	runs map[int]int // of the slow tool, by number
}

type slowInput struct {
	N int `json:"n" jsonschema:"the number of the call"`
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{release: [2]chan struct{}{make(chan struct{}), make(chan struct{})}, runs: map[int]int{}}
	s := mcp.NewServer(mcp.Implementation{Name: "slow", Version: "1"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	mcp.AddTool(s, mcp.Tool{Name: "work", Description: "Work for long."}, func(ctx context.Context, _ *mcp.Call, in slowInput) (string, error) {
		u.mu.Lock()
		u.runs[in.N]++
		u.mu.Unlock()
		select {
		case <-u.release[in.N%2]:
			return fmt.Sprint("did ", in.N), nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	mcp.AddTool(s, mcp.Tool{Name: "ask", Description: "Ask for two colours."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		one, err := mcp.Ask[string](c, "one", "One?")
		if err != nil {
			return "", err
		}
		two, err := mcp.Ask[string](c, "two", "Two?")
		return one + two, err
	})
	h := streamable.NewHandler(s, &streamable.Options{Logger: slog.New(slog.DiscardHandler)})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && bytes.Contains(body, []byte(`"server/discover"`)) {
			http.Error(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`, http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		h.Close()
	})
	u.url = web.URL + "/mcp"
	return u
}

// alternating sends each call of a tool to the next replica.
type alternating struct {
	replicas []*replica
	calls    atomic.Int32
}

func (a *alternating) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Mcp-Method") == "tools/call" {
		r = r.Clone(r.Context())
		r.URL.Host = a.replicas[int(a.calls.Add(1))%len(a.replicas)].address
	}
	return http.DefaultTransport.RoundTrip(r)
}

// gatewayScene has two replicas that pass calls on to an upstream, a board with some tasks, and a key.
func gatewayScene(t *testing.T, u *upstream, tasks int) (replicas []*replica, key auth.Secret) {
	t.Helper()
	cluster := pgtest.Start(t)
	db := cluster.NewDatabase(t)
	dsn := cluster.DSNAs(pgtest.App, db)
	store, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	b := board.New(store, nil)
	if err := b.SetProject(t.Context(), board.Project{Slug: project, Policy: board.PolicyTrust, Lease: 5 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	for i := range tasks {
		if _, _, err := b.Create(t.Context(), board.Actor{Principal: "local"}, board.NewTask{Project: project, Title: fmt.Sprint("task ", i)}, ""); err != nil {
			t.Fatal(err)
		}
	}
	// Upstreams ask people only.
	if _, key, err = auth.New(store, nil).CreateKey(t.Context(), auth.NewKey{Owner: "ada", Project: project, Role: auth.Lead, Person: true}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"0", "1"} {
		replicas = append(replicas, startProgram(t, programs.Path(harness.Bossman), name, dsn, fmt.Sprintf(upstreamConfig, u.url)))
	}
	return replicas, key
}

func dial(t *testing.T, url string, key auth.Secret, transport http.RoundTripper, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	o.Revision = mcp.LatestRevision
	c, err := streamable.Connect(t.Context(), url, &streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + key.Reveal()}}, Transport: transport}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// offered waits until a tool of the upstream can be called.
func offered(t *testing.T, c *mcp.Client) {
	t.Helper()
	eventually(t, "offered", func() bool {
		res, err := c.Call(t.Context(), "search_tools", map[string]any{"query": "work for long"}, nil)
		return err == nil && strings.Contains(res.Content[0].Text, "slow__work")
	})
}

// A replica is killed while calls of an upstream's tool run that have become tasks. Each ends at the other replica: done, if it was done before, or with
// an unknown outcome. None is made again, also not when the next worker at its task repeats it.
func TestGateway_killed(t *testing.T) {
	t.Parallel()
	const calls = 100
	u := newUpstream(t)
	replicas, key := gatewayScene(t, u, calls)
	first := dial(t, replicas[0].url(), key, nil, &mcp.ClientOptions{Tasks: true})
	second := dial(t, replicas[1].url(), key, nil, &mcp.ClientOptions{Tasks: true})
	offered(t, first)
	offered(t, second)
	agent := &toolDoor{client: first}
	type call struct{ id, claim string }
	made := make([]call, calls)
	args := func(n int, claim string) map[string]any {
		return map[string]any{"name": "slow__work", "arguments": slowInput{n}, "claim": claim, "step": "deploy"}
	}
	for n := range made {
		claim, _, err := agent.next(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		made[n].claim = claim
	}
	var became, done, waiting sync.WaitGroup
	became.Add(calls)
	done.Add(calls / 2)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for n := range made {
		waiting.Go(func() {
			res, err := first.Call(ctx, "call_tool", args(n, made[n].claim), &mcp.CallOptions{OnTask: func(id string) {
				made[n].id = id
				became.Done()
			}})
			if n%2 == 0 {
				if err != nil || res.Content[0].Text != fmt.Sprint("did ", n) {
					t.Errorf("call %d = %+v, %v", n, res, err)
				}
				done.Done()
			}
		})
	}
	became.Wait()
	close(u.release[0])
	done.Wait()
	replicas[0].kill()
	stop()
	waiting.Wait()
	killed := time.Now()
	for n := range made {
		waiting.Go(func() {
			res, err := second.WaitTask(t.Context(), made[n].id, nil)
			switch {
			case n%2 == 0 && (err != nil || res.Content[0].Text != fmt.Sprint("did ", n)):
				t.Errorf("call %d, which was done = %+v, %v at the other replica", n, res, err)
			case n%2 == 1 && (err == nil || !strings.Contains(err.Error(), "outcome is unknown")):
				t.Errorf("call %d, which ran = %+v, %v at the other replica, want an unknown outcome", n, res, err)
			}
		})
	}
	waiting.Wait()
	t.Logf("%d calls have ended %v after the kill", calls, time.Since(killed).Round(time.Second))
	close(u.release[1]) // a call that is made again would end
	agent = &toolDoor{client: second}
	for n := range made {
		if err := agent.fail(t.Context(), made[n].claim, "somebody else goes on"); err != nil {
			t.Fatal(err)
		}
	}
	again := map[string]string{} // claims by task
	for range made {
		claim, _, err := agent.next(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		task, _, _ := strings.Cut(claim, "/")
		again[task] = claim
	}
	for n := range made {
		task, _, _ := strings.Cut(made[n].claim, "/")
		want := "the outcome is unknown"
		if n%2 == 0 {
			want = fmt.Sprint("did ", n)
		}
		res, err := second.Call(t.Context(), "call_tool", args(n, again[task]), nil)
		if err != nil || !strings.Contains(strings.ReplaceAll(res.Content[0].Text, "its outcome", "the outcome"), want) {
			t.Errorf("call %d again = %+v, %v; want %q", n, res, err, want)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for n := range made {
		if u.runs[n] != 1 {
			t.Errorf("call %d was made %d times", n, u.runs[n])
		}
	}
}

// A client of the newest revision gets an older upstream's question as the result of its call, and repeats the call with the answer: at another replica.
func TestGateway_answerElsewhere(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	replicas, key := gatewayScene(t, u, 0)
	for _, r := range replicas {
		offered(t, dial(t, r.url(), key, nil, &mcp.ClientOptions{}))
	}
	var asked atomic.Int32
	line := &alternating{replicas: replicas}
	c := dial(t, replicas[0].url(), key, line, &mcp.ClientOptions{Elicit: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		var form struct {
			Properties map[string]any `json:"properties"`
		}
		if err := json.Unmarshal(p.RequestedSchema, &form); err != nil {
			return nil, err
		}
		asked.Add(1)
		content := map[string]any{}
		for name := range form.Properties {
			content[name] = name
		}
		text, err := json.Marshal(content)
		return &mcp.ElicitResult{Action: "accept", Content: text}, err
	}})
	for n := range 10 {
		before := line.calls.Load()
		res, err := c.Call(t.Context(), "call_tool", map[string]any{"name": "slow__ask", "arguments": map[string]any{}}, nil)
		if err != nil || res.IsError || res.Content[0].Text != "onetwo" {
			t.Fatalf("call %d = %+v, %v", n, res, err)
		}
		if got := line.calls.Load() - before; got != 3 {
			t.Errorf("call %d took %d requests, want three", n, got)
		}
	}
	if asked.Load() != 20 {
		t.Errorf("the client was asked %d times, want 20", asked.Load())
	}
}
