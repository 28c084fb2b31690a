package keys

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/jackc/pgx/v5"
)

// within is how long a key that has ended may still do something, anywhere. What we measure
// is a third of it.
var within = harness.Bound(5 * time.Second)

// A way is a way to end what a key may do.
type way struct {
	name string
	// make makes the key, which has a role in every project, and its person's, if it has one.
	make func() (key, parent string)
	// end ends it, and returns since when it should be over.
	end func(key, parent string) time.Time
	// over reports whether an answer means that it is over, and probe makes a request that
	// is answered so; the default is any request, and 401.
	probe func(context.Context, *server, string) (int, string, error)
	over  func(code int, text string) bool
}

// TestEndOfAccess: however a key loses its rights, after five seconds it has them on no
// replica: its calls are refused, its streams and running calls have ended, those that go on
// as tasks too, and what it held is somebody else's.
func TestEndOfAccess(t *testing.T) {
	m := newTeam(t)
	revoked := func(args ...string) time.Time {
		m.run(append([]string{"key", "--db", m.dsn}, args...)...)
		return time.Now()
	}
	agent := func(owner string, more ...string) func() (string, string) {
		return func() (string, string) {
			return m.key("*", append([]string{"--role", "worker", "--owner", owner}, more...)...), ""
		}
	}
	var servers []*server
	machine := func(owner string) func() (string, string) {
		return func() (string, string) {
			parent := m.key("*", "--role", "worker", "--person", owner)
			return servers[1].login(t, parent, owner+"s-laptop"), parent
		}
	}
	denied := func(_ int, text string) bool { return strings.Contains(text, `"kind":"denied"`) }
	notFound := func(_ int, text string) bool { return strings.Contains(text, `"kind":"not_found"`) }
	began := time.Now() // the key of the case "expired"
	ways := []way{
		{name: "key revoked", make: agent("ada"), end: func(key, _ string) time.Time { return revoked("revoke", key) }},
		{name: "its parent revoked", make: machine("bea"), end: func(_, parent string) time.Time { return revoked("revoke", parent) }},
		{name: "person disabled", make: machine("cid"), end: func(string, string) time.Time {
			m.run("person", "disable", "--db", m.dsn, "cid")
			return time.Now()
		}},
		{
			name: "role lowered", make: machine("dan"), end: func(_, parent string) time.Time { return revoked("lower", parent, "--role", "viewer") },
			probe: func(ctx context.Context, s *server, key string) (int, string, error) {
				return s.ask(ctx, key, "bossman/renew", "", `"as":{"owner":"p-dan"},"args":{}`)
			}, over: denied,
		},
		{
			name: "project removed", make: machine("eli"), end: func(_, parent string) time.Time {
				return revoked("lower", parent, "--role", "worker", "--project", "web")
			},
			probe: func(ctx context.Context, s *server, key string) (int, string, error) {
				return s.ask(ctx, key, "bossman/project", "", `"args":{"Slug":"way4"}`)
			}, over: notFound,
		},
		{name: "machine lost", make: machine("fay"), end: func(string, string) time.Time { return revoked("revoke", "--machine", "fays-laptop") }},
		{
			name: "expired", make: func() (string, string) {
				began = time.Now()
				return agent("gil", "--expires", "8s")()
			}, end: func(string, string) time.Time { return began.Add(8 * time.Second) },
		},
	}
	for i := range ways {
		m.run("project", "create", fmt.Sprintf("way%d", i), "--db", m.dsn, "--policy", "trust")
	}
	servers = []*server{m.serve(nil, "--db", m.dsn), m.serve(nil, "--db", m.dsn)}
	keep := m.key("*", "--role", "worker", "--owner", "zoe")
	table := fmt.Sprintf("%-20s %-10s %-10s %-10s %s\n", "", "calls", "streams", "tasks", "claims")
	for i, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			calls, streams, tasks, claims := w.run(t, m, servers, keep, fmt.Sprintf("way%d", i))
			table += fmt.Sprintf("%-20s %-10s %-10s %-10s %s\n", w.name, seconds(calls), seconds(streams), seconds(tasks), seconds(claims))
		})
	}
	t.Logf("until it is over on both replicas:\n%s", table)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", max(0, d.Seconds())) }

// run ends a key in one way, and returns how long the last of its calls, streams, tasks of the
// protocol, and claims went on.
func (w way) run(t *testing.T, m *team, servers []*server, keep, project string) (calls, streams, tasks, claims time.Duration) {
	if w.probe == nil {
		w.probe = func(ctx context.Context, s *server, key string) (int, string, error) {
			return s.ask(ctx, key, "tools/list", "", "")
		}
		w.over = func(code int, _ string) bool { return code == http.StatusUnauthorized }
	}
	key, parent := w.make()
	task := m.run("task", "add", "One", "--db", m.dsn, "--project", project)
	task = strings.Fields(task)[0]
	if _, text, err := servers[0].tool(t.Context(), key, "get_next_task", `{"project":"`+project+`"}`); err != nil || !strings.Contains(text, task+" is yours") {
		t.Fatalf("the key got %s, %v", text, err)
	}
	type ended struct {
		what string
		at   time.Time
		kind *time.Duration
	}
	var wg sync.WaitGroup
	ends := make(chan ended, 16)
	open := 0
	conn, err := pgx.Connect(t.Context(), m.c.DSN(m.db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var begun []string // tasks
	for i, s := range servers {
		for what, begin := range map[string]func(context.Context, *server, string) (io.ReadCloser, error){
			"a stream of events": listen, "a session's feed": feed, "a running call": waiting,
		} {
			what = fmt.Sprintf("%s on replica %d", what, i+1)
			body, err := begin(t.Context(), s, key)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			open++
			wg.Go(func() {
				_, _ = io.Copy(io.Discard, body)
				body.Close()
				ends <- ended{what, time.Now(), &streams}
			})
		}
		if code, text, err := w.probe(t.Context(), s, key); err != nil || code != 200 || w.over(code, text) {
			t.Fatalf("before the end: %d %s, %v", code, text, err)
		}
		begun = append(begun, s.askAsTask(t, key))
		open++
		wg.Go(func() {
			for t.Context().Err() == nil {
				if code, text, err := w.probe(t.Context(), s, key); err != nil || w.over(code, text) {
					ends <- ended{fmt.Sprintf("new calls on replica %d", i+1), time.Now(), &calls}
					return
				}
				time.Sleep(20 * time.Millisecond) // a pace, not a wait
			}
		})
	}
	var laptop *mcp.Client
	if parent == "" {
		laptop = m.laptop(t, servers[0], key)
	}
	since := w.end(key, parent)
	open++
	wg.Go(func() {
		for left := -1; left != 0; time.Sleep(20 * time.Millisecond) { // a pace, not a wait
			err := conn.QueryRow(t.Context(), `SELECT count(*) FROM durable_calls WHERE id = ANY($1) AND status IN ('working', 'input_required')`, begun).Scan(&left)
			if err != nil {
				t.Errorf("looking for tasks: %v", err)
				break
			}
		}
		ends <- ended{"the last of its tasks", time.Now(), &tasks}
	})
	open++
	wg.Go(func() {
		_, text, err := servers[1].tool(t.Context(), keep, "get_next_task", `{"project":"`+project+`","wait_seconds":20}`)
		if err != nil || !strings.Contains(text, task+" is yours") {
			t.Errorf("another key got %s, %v", text, err)
		}
		ends <- ended{"its claim", time.Now(), &claims}
	})
	for range open {
		select {
		case e := <-ends:
			after := e.at.Sub(since)
			*e.kind = max(*e.kind, after)
			if after > within || after < -2*time.Second {
				t.Errorf("%s ended after %v", e.what, after)
			}
		case <-time.After(time.Until(since.Add(4 * within))):
			t.Fatal("something goes on")
		}
	}
	if laptop != nil { // the process on a laptop says so, and what to do
		res, err := laptop.Call(t.Context(), "get_next_task", nil, nil)
		if err != nil || !res.IsError || !strings.Contains(fmt.Sprint(res.Content), "bossman login") {
			t.Errorf("on a laptop: %+v, %v", res, err)
		}
		laptop.Close()
	}
	for _, s := range servers {
		if code, text, err := s.ask(t.Context(), keep, "tools/list", "", ""); err != nil || code != 200 {
			t.Errorf("another's key = %d %s, %v", code, text, err)
		}
	}
	wg.Wait()
	return calls, streams, tasks, claims
}

// askAsTask asks a question in a call that goes on as a task, for longer than the test, and
// returns the task's id.
func (s *server) askAsTask(t *testing.T, key string) string {
	t.Helper()
	_, text, err := s.tool(t.Context(), key, "ask_question", `{"question":"May I?","wait_seconds":45}`)
	id := taskID.FindStringSubmatch(text)
	if err != nil || id == nil {
		t.Fatalf("ask_question: %s, %v", text, err)
	}
	return id[1]
}

var taskID = regexp.MustCompile(`"taskId":"([^"]+)"`)

// login gets a key for a machine.
func (s *server) login(t *testing.T, key, machine string) string {
	t.Helper()
	_, text, err := s.ask(t.Context(), key, "bossman/login", "", `"machine":"`+machine+`"`)
	made := madeKey.FindString(text)
	if err != nil || made == "" {
		t.Fatalf("login: %s, %v", text, err)
	}
	return made
}

var madeKey = regexp.MustCompile(`bossman_[a-z2-7]{12}_[a-z2-7]{56}`)

// TestMinting: a key that was revoked has left nothing behind: no key was created from it
// that still works, nor one from that, however many tried at once while it was revoked.
func TestMinting(t *testing.T) {
	m := newTeam(t)
	servers := []*server{m.serve(nil, "--db", m.dsn), m.serve(nil, "--db", m.dsn)}
	parent := m.key("web", "--role", "admin", "--person", "ada")
	child := servers[0].login(t, parent, "laptop")
	code, text, err := servers[1].ask(t.Context(), child, "bossman/login", "", `"machine":"other"`)
	if err != nil || madeKey.MatchString(text) || !strings.Contains(text, "creates no others") {
		t.Errorf("a machine's key was answered %d %s, %v", code, text, err)
	}
	var mu sync.Mutex
	made := []string{child}
	var wg sync.WaitGroup
	for _, s := range servers {
		for range 4 {
			wg.Go(func() {
				for range 6 { // fewer than the maximum in all
					code, text, err := s.ask(t.Context(), parent, "bossman/login", "", `"machine":"m"`)
					if err != nil || code != 200 {
						return
					}
					if key := madeKey.FindString(text); key != "" {
						mu.Lock()
						made = append(made, key)
						mu.Unlock()
					} else if !strings.Contains(text, "no key was created") {
						t.Errorf("login: %s", text)
					}
				}
			})
		}
	}
	m.run("key", "revoke", "--db", m.dsn, parent)
	since := time.Now()
	wg.Wait()
	if len(made) > auth.MaxMachines {
		t.Errorf("%d keys were created, want at most %d", len(made), auth.MaxMachines)
	}
	if left := m.run("key", "list", "--db", m.dsn); left != "No keys." {
		t.Errorf("these keys are left:\n%s", left)
	}
	for i, s := range servers {
		for code := 0; code != http.StatusUnauthorized; {
			if code, _, err = s.ask(t.Context(), child, "tools/list", "", ""); time.Since(since) > within {
				t.Fatalf("on replica %d the first of them is answered %d, %v", i+1, code, err)
			}
			time.Sleep(20 * time.Millisecond) // a pace, not a wait
		}
	}
	t.Logf("%d keys ended with the one they were created from", len(made))
}

// laptop is the process of an agent whose board is a server's.
func (m *team) laptop(t *testing.T, s *server, key string) *mcp.Client {
	t.Helper()
	cmd := &mcp.Command{
		Args: []string{bossman, "mcp", "--board", "http://" + s.address, "--project", "web"}, Dir: m.home,
		Env: []string{"BOSSMAN_KEY=" + key, "HOME=" + m.home}, Logger: slog.New(slog.DiscardHandler),
	}
	c, err := cmd.Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if res, err := c.Call(t.Context(), "get_next_task", nil, nil); err != nil || res.IsError {
		t.Fatalf("get_next_task on a laptop = %+v, %v", res, err)
	}
	return c
}

// listen opens a stream of events in the newest revision.
func listen(ctx context.Context, s *server, key string) (io.ReadCloser, error) {
	res, err := client.Do(s.request(ctx, key, "subscriptions/listen", "", `"notifications":{"resourceSubscriptions":["bossman://board"]}`))
	if err != nil {
		return nil, err
	}
	// It is open when it says so.
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("%s: %w", res.Status, err)
		}
		if strings.Contains(line, "acknowledged") {
			return res.Body, nil
		}
	}
}

// feed opens the stream of a session in an older revision.
func feed(ctx context.Context, s *server, key string) (io.ReadCloser, error) {
	session, err := begin(ctx, s, key)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.address+"/mcp", nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", session)
	r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	r.Header.Set("X-Api-Token", key)
	res, err := client.Do(r)
	if err == nil && res.StatusCode != 200 {
		err = fmt.Errorf("GET: %s", res.Status)
	}
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// begin begins a session.
func begin(ctx context.Context, s *server, key string) (string, error) {
	body := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.address+"/mcp", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("X-Api-Token", key)
	res, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.Header.Get("Mcp-Session-Id"), nil
}

// waiting begins a call that waits for work. Its body is empty until it ends.
func waiting(ctx context.Context, s *server, key string) (io.ReadCloser, error) {
	r, w := io.Pipe()
	go func() {
		_, _, err := s.tool(ctx, key, "get_next_task", `{"wait_seconds":45}`)
		w.CloseWithError(err)
	}()
	return r, nil
}
