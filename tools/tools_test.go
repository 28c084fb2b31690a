package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
	"github.com/bossman-dev/bossman/store/sqlite"
	"github.com/bossman-dev/bossman/tools"
)

var web = board.Project{Slug: "web"}

// TestDefinitions_size bounds the definitions, because a model reads them on every turn.
func TestDefinitions_size(t *testing.T) {
	for role, most := range map[auth.Role]int{auth.Worker: 10 << 10, auth.Lead: 16 << 10} {
		s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Visible: tools.Visible})
		register(s, nil, setup{Role: role, Missing: board.ErrUnavailable})
		mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
			n, size := 0, 0
			for tool, err := range c.Tools(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				b, err := json.Marshal(tool)
				if err != nil {
					t.Fatal(err)
				}
				n++
				size += len(b) + 1
				checkSchema(t, tool)
			}
			if want := map[auth.Role]int{auth.Worker: 8, auth.Lead: 16}[role]; n != want {
				t.Errorf("%s has %d tools, want %d", role, n, want)
			}
			if size > most {
				t.Errorf("the definitions for a %s are %d bytes, want at most %d", role, size, most)
			}
			t.Logf("%s: %d tools, %d bytes", role, n, size)
		})
	}
}

// TestDefinitions_alwaysLoad: Claude Code shows the model the definitions of a worker's tools at
// once; Codex shows only the instructions, whose first line must name the tool to begin with.
func TestDefinitions_alwaysLoad(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Visible: tools.Visible})
	register(s, nil, setup{Role: auth.Lead, Missing: board.ErrUnavailable})
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		var loaded []string
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if tool.Meta["anthropic/alwaysLoad"] == true {
				loaded = append(loaded, tool.Name)
			}
		}
		want := []string{
			"ask_question", "create_task", "get_answer", "get_next_task", "get_task",
			"report_progress", "report_task_done", "report_task_failed",
		}
		if !slices.Equal(loaded, want) {
			t.Errorf("always loaded are %v, want the worker's tools %v", loaded, want)
		}
	})
	first, _, _ := strings.Cut(tools.Instructions(), "\n")
	if want := "get tasks with get_next_task"; !strings.Contains(first, want) {
		t.Errorf("the instructions begin with %q, want %q in that line", first, want)
	}
}

// checkSchema checks that a schema uses only what every client supports.
func checkSchema(t *testing.T, tool *mcp.Tool) {
	t.Helper()
	if tool.OutputSchema != nil {
		t.Errorf("%s has an output schema", tool.Name)
	}
	if tool.Annotations == nil {
		t.Errorf("%s has no annotations", tool.Name)
	}
	var walk func(at string, raw json.RawMessage, depth int)
	walk = func(at string, raw json.RawMessage, depth int) {
		var s struct {
			Type                 string
			Description          string
			Properties           map[string]json.RawMessage
			Required             *[]string
			AdditionalProperties *bool
			Items                json.RawMessage
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		switch s.Type {
		case "object":
			if depth > 2 {
				t.Errorf("%s is an object in an object", at)
			}
			if s.Required == nil || s.AdditionalProperties == nil || *s.AdditionalProperties {
				t.Errorf("%s does not say what is required, or takes anything", at)
			}
			for name, p := range s.Properties {
				var d struct{ Description string }
				if err := json.Unmarshal(p, &d); err != nil || d.Description == "" {
					t.Errorf("%s.%s has no description", at, name)
				}
				walk(at+"."+name, p, depth+1)
			}
		case "array":
			walk(at+"[]", s.Items, depth+1)
		case "string", "integer", "boolean":
		default:
			t.Errorf("%s has the type %q", at, s.Type)
		}
		var keys map[string]json.RawMessage
		_ = json.Unmarshal(raw, &keys)
		for k := range keys {
			if !slices.Contains([]string{"type", "description", "properties", "required", "additionalProperties", "items", "enum", "minimum", "maximum"}, k) {
				t.Errorf("%s uses the keyword %s", at, k)
			}
		}
	}
	walk(tool.Name, tool.InputSchema, 0)
}

// TestDefinitions_noNames: no definition contains a worker name, because models copy them.
func TestDefinitions_noNames(t *testing.T) {
	worker := regexp.MustCompile(`\b[a-z]+-[a-km-np-z2-9]{3}\b`)
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Visible: tools.Visible})
	register(s, nil, setup{Missing: board.ErrUnavailable})
	c := mcptest.Connect(t, s, nil)
	look := func(what, text string) {
		for _, found := range worker.FindAllString(text, -1) {
			if found != "to-do" {
				t.Errorf("%s contains %q, which looks like a worker's name", what, found)
			}
		}
	}
	look("instructions", tools.Instructions())
	for tool := range c.Tools(t.Context()) {
		look(tool.Name, tool.Description+string(tool.InputSchema))
	}
	for prompt := range c.Prompts(t.Context()) {
		res, err := c.Prompt(t.Context(), prompt.Name, map[string]string{"goal": "x"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		look(prompt.Name, res.Messages[0].Content.Text)
	}
	if n := strings.Count(tools.Instructions(), "\n") + 1; n != 5 {
		t.Errorf("the instructions have %d lines, want 5", n)
	}
}

// TestHandout_long: a hand-out stays within its limit, however long the texts of the task.
func TestHandout_long(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, web, setup{Piped: true}, mcp.LatestRevision)
		long := strings.Repeat("Ein sehr langer Text über Wörter. ", 3000)
		var deps []board.ID
		for range 30 {
			dep, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: strings.Repeat("t", 200)}, "")
			if err != nil {
				t.Fatal(err)
			}
			deps = append(deps, dep.ID)
			h, err := s.b.Next(t.Context(), board.Actor{Principal: "x", Owner: "x"}, board.Wish{Projects: []string{"web"}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.b.Done(t.Context(), board.Actor{Principal: "x", Owner: "x"}, h.Claim.Handle, board.Report{Summary: long[:20_000], Where: board.Where{Branch: long[:200]}}); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := s.b.Create(t.Context(), ada, board.NewTask{
			Project: "web", Title: strings.Repeat("T", 200), Description: long[:100_000], Acceptance: long[:30_000], DependsOn: deps,
			Wants: board.EvidenceKinds, Areas: []string{"a" + long[:300], "b" + long[:300], "c" + long[:300], "d" + long[:300]}, MaxFailures: 50,
		}, "")
		if err != nil {
			t.Fatal(err)
		}
		a := s.agent("a")
		worker, q := "new", board.QuestionID(0)
		for range 10 {
			res, err := a.client.Call(t.Context(), "get_next_task", map[string]any{"worker": worker}, nil)
			if err != nil || res.IsError {
				t.Fatalf("get_next_task = %+v, %v", res, err)
			}
			if n := len(res.Content[0].Text); n > min(6+int(q)*8, 14)<<10 { // with the answers
				t.Fatalf("the hand-out has %d bytes:\n%s", n, res.Content[0].Text)
			}
			if !strings.Contains(res.Content[0].Text, `get_task {"task":"web-31","detail":"full"}`) {
				t.Fatalf("the hand-out does not say how to get the full text:\n%s", res.Content[0].Text)
			}
			claim := claimOf(t, res)
			worker = claim["worker"].(string)
			for _, args := range []map[string]any{{"claim": claim["claim"], "note": long[:20_000]}, {"claim": claim["claim"], "note": "b", "branch": long[:1000]}} {
				if _, err := a.client.Call(t.Context(), "report_progress", args, nil); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := a.client.Call(t.Context(), "ask_question", map[string]any{"claim": claim["claim"], "question": long[:20_000], "blocking": false}, nil); err != nil {
				t.Fatal(err)
			}
			q++
			if _, err := s.b.Answer(t.Context(), ada, q, long[:20_000]); err != nil {
				t.Fatal(err)
			}
			again, err := a.client.Call(t.Context(), "get_next_task", map[string]any{"worker": worker}, nil)
			if err != nil || len(again.Content[0].Text) > min(6+int(q)*8, 14)<<10 || !strings.Contains(again.Content[0].Text, "YOUR NOTES") {
				t.Fatalf("get_next_task again = %+v, %v", again, err)
			}
			if _, err := a.client.Call(t.Context(), "report_task_failed", map[string]any{
				"claim": claim["claim"], "reason": long[:20_000], "do_not_repeat": long[:20_000],
			}, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func claimOf(t *testing.T, res *mcp.ToolResult) map[string]any {
	t.Helper()
	meta, _ := res.Meta[tools.ResultKey].(map[string]any)
	claim, ok := meta["claim"].(map[string]any)
	if !ok {
		t.Fatalf("no claim in %+v", res)
	}
	return claim
}

// TestRun_presence: a process on a pipe keeps its claims for two hours after the last call;
// when it ends, its workers have two minutes to come back.
func TestRun_presence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixtureEvery(t, web, setup{Piped: true}, mcp.LatestRevision, time.Minute)
		if _, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
			t.Fatal(err)
		}
		a := s.agent("a")
		if _, err := a.client.Call(t.Context(), "get_next_task", nil, nil); err != nil {
			t.Fatal(err)
		}
		held := func() int {
			claims, err := s.b.Claims(t.Context(), board.ClaimFilter{})
			if err != nil {
				t.Fatal(err)
			}
			return len(claims)
		}
		time.Sleep(119 * time.Minute)
		if held() != 1 {
			t.Fatal("the claim ended while its process was running")
		}
		if _, err := a.client.Call(t.Context(), "get_task", nil, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if held() != 1 {
			t.Fatal("the claim ended an hour after a call")
		}
		time.Sleep(75 * time.Minute)
		if held() != 0 {
			t.Fatal("the claim of an unused process did not end")
		}
		if _, err := a.client.Call(t.Context(), "get_next_task", map[string]any{"worker": "new"}, nil); err != nil {
			t.Fatal(err)
		}
		a.stop()
		time.Sleep(119 * time.Second)
		if held() != 1 {
			t.Fatal("the claim ended before the worker could come back")
		}
		time.Sleep(time.Minute + 5*time.Second)
		if held() != 0 {
			t.Fatal("the claim of a process that has ended did not end")
		}
	})
}

// TestRun_shortLease: a process also keeps a lease that is shorter than the default renewal
// interval.
func TestRun_shortLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := web
		p.Lease = 3 * time.Second
		s := newFixtureEvery(t, p, setup{Piped: true}, mcp.LatestRevision, time.Second)
		if _, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := s.agent("a").client.Call(t.Context(), "get_next_task", nil, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		events, err := s.b.Events(t.Context(), board.ID{Project: "web", No: 1}, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []board.Kind
		for _, e := range events {
			kinds = append(kinds, e.Kind)
		}
		if want := []board.Kind{board.EventCreated, board.EventClaimed}; !slices.Equal(kinds, want) {
			t.Errorf("events = %v, want %v: the claim must not expire", kinds, want)
		}
	})
}

// TestRegister_home: reading a board that does not exist does not create it; the first
// write does.
func TestRegister_home(t *testing.T) {
	path := filepath.Join(t.TempDir(), "board.db")
	store, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := &fixture{t: t, b: board.New(store, &board.Options{Home: &board.Project{Slug: "web", Policy: board.PolicyEvidence}})}
	server := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Visible: tools.Visible})
	register(server, s.b, setup{Project: "web", Piped: true})
	c := mcptest.Connect(t, server, nil)
	for tool, args := range map[string]map[string]any{
		"get_next_task": {"skills": "go"}, "list_tasks": nil, "list_questions": nil, "list_workers": nil,
	} {
		if res, err := c.Call(t.Context(), tool, args, nil); err != nil || res.IsError {
			t.Errorf("%s = %+v, %v", tool, res, err)
		}
	}
	for _, uri := range []string{"bossman://board", "bossman://questions"} {
		if _, err := c.Read(t.Context(), uri, nil); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("reading created a board: %v", err)
	}
	if res, err := c.Call(t.Context(), "create_task", map[string]any{"description": "One"}, nil); err != nil || res.IsError {
		t.Errorf("create_task = %+v, %v", res, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("writing did not create a board: %v", err)
	}
}

// TestNext_session: hooks can find a claim by the client's session id.
func TestNext_session(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, web, setup{Piped: true, Session: "0f3c"}, mcp.LatestRevision)
		if _, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := s.agent("a").client.Call(t.Context(), "get_next_task", nil, nil); err != nil {
			t.Fatal(err)
		}
		claims, err := s.b.Claims(t.Context(), board.ClaimFilter{Session: "0f3c"})
		if err != nil || len(claims) != 1 {
			t.Errorf("Claims(session) = %v, %v", claims, err)
		}
	})
}

// TestMissing: without a board, every request says why.
func TestMissing(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Visible: tools.Visible})
	tl := register(s, nil, setup{Piped: true, Missing: errors.New("no board was found from /")})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- tl.Run(ctx) }()
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			args := map[string]any{"claim": "c", "note": "n", "summary": "s", "reason": "r", "question": "q", "description": "d", "task": "t", "verdict": "accept", "answer": "a", "tasks": []any{}}
			res, err := c.Call(t.Context(), tool.Name, args, nil)
			if err != nil || !res.IsError || !strings.Contains(res.Content[0].Text, `"no board was found from /".`) {
				t.Errorf("%s = %+v, %v", tool.Name, res, err)
			}
		}
		for _, uri := range []string{"bossman://board", "bossman://questions"} {
			if _, err := c.Read(t.Context(), uri, nil); err == nil || !strings.Contains(err.Error(), `"no board was found from /".`) {
				t.Errorf("Read(%s) = %v", uri, err)
			}
		}
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
}

// TestOpen_later: when what kept a board from being opened has passed, the next call works, and the
// projects are those of the board.
func TestOpen_later(t *testing.T) {
	for _, r := range []mcp.Revision{mcp.R20251125, mcp.LatestRevision} {
		t.Run(r.String(), func(t *testing.T) {
			s := newFixture(t, web, setup{Piped: true}, r)
			var away atomic.Bool
			away.Store(true)
			server := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
			server.Use(tools.AuthorizeAs(access.Local(auth.Lead)))
			tl := tools.Register(server, nil, &tools.Options{Pipe: access.Local(auth.Lead), Open: func(context.Context) (access.Board, *tools.Options, error) {
				if away.Load() {
					return nil, nil, errors.New("the server is away")
				}
				c := access.Local(auth.Lead, "web")
				c.Project = "web"
				return s.b, &tools.Options{Pipe: c}, nil
			}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- tl.Run(ctx) }()
			mcptest.EachRevision(t, server, nil, func(t *testing.T, c *mcp.Client) {
				if res, err := c.Call(t.Context(), "create_plan", map[string]any{"tasks": []any{map[string]any{"key": "a", "title": "A", "description": "d"}}}, nil); away.Load() != (err == nil && res.IsError) {
					t.Errorf("away %v: create_plan = %+v, %v", away.Load(), res, err)
				}
				away.Store(false)
				if res, err := c.Call(t.Context(), "list_tasks", nil, nil); err != nil || res.IsError {
					t.Errorf("list_tasks = %+v, %v", res, err)
				}
				if got, err := c.Read(t.Context(), "bossman://board", nil); err != nil || !strings.HasPrefix(got.Text(), "# web\n") {
					t.Errorf("Read = %+v, %v", got, err)
				}
			})
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Run = %v", err)
			}
		})
	}
}

func TestPrompts(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Visible: tools.Visible})
	register(s, nil, setup{Missing: board.ErrUnavailable})
	mcptest.EachRevision(t, s, nil, func(t *testing.T, c *mcp.Client) {
		for name, want := range map[string]struct {
			args map[string]string
			text string
		}{
			"work":   {map[string]string{"task": "web-1"}, `get_next_task {"task":"web-1"} gives you a task`},
			"plan":   {map[string]string{"goal": "A web shop"}, "Plan this as tasks on the board:\n> A web shop\n"},
			"review": {nil, `list_tasks {"status":"review"} and list_tasks {"status":"failed"}`},
		} {
			res, err := c.Prompt(t.Context(), name, want.args, nil)
			if err != nil || len(res.Messages) != 1 || !strings.Contains(res.Messages[0].Content.Text, want.text) {
				t.Errorf("Prompt(%s) = %+v, %v", name, res, err)
			}
		}
		if _, err := c.Prompt(t.Context(), "plan", nil, nil); err == nil {
			t.Error("a plan without a goal was accepted")
		}
	})
	worker := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Visible: tools.Visible})
	register(worker, nil, setup{Role: auth.Worker, Missing: board.ErrUnavailable})
	var names []string
	for p := range mcptest.Connect(t, worker, nil).Prompts(t.Context()) {
		names = append(names, p.Name)
	}
	if len(names) != 1 || names[0] != "work" {
		t.Errorf("a worker has the prompts %v", names)
	}
}

// TestNext_together: eight agents on one pipe get eight tasks.
func TestNext_together(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, web, setup{Piped: true}, mcp.LatestRevision)
		const n = 8
		for range n {
			if _, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One of many"}, ""); err != nil {
				t.Fatal(err)
			}
		}
		c := s.agent("a").client
		var wg sync.WaitGroup
		var mu sync.Mutex
		given, workers := map[string]bool{}, map[string]bool{}
		for range n {
			wg.Go(func() {
				res, err := c.Call(t.Context(), "get_next_task", map[string]any{"worker": "new"}, nil)
				if err != nil || res.IsError {
					t.Errorf("get_next_task = %+v, %v", res, err)
					return
				}
				claim := claimOf(t, res)
				mu.Lock()
				defer mu.Unlock()
				given[claim["task"].(string)], workers[claim["worker"].(string)] = true, true
			})
		}
		wg.Wait()
		if len(given) != n || len(workers) != n {
			t.Errorf("%d tasks went to %d workers, want %d to %d", len(given), len(workers), n, n)
		}
	})
}

// TestPrincipals: knowing a claim handle does not give access to the claim.
func TestPrincipals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, web, setup{}, mcp.LatestRevision)
		if _, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "One"}, ""); err != nil {
			t.Fatal(err)
		}
		by := func(name string) *mcp.Client {
			return s.connect(setup{Project: "web", Who: func(context.Context, mcp.Principal) (*access.Caller, error) {
				return &access.Caller{
					Actor: board.Actor{Principal: name, Owner: name}, Role: auth.Lead, Roles: map[string]auth.Role{"web": auth.Lead},
				}, nil
			}}, mcp.LatestRevision, nil).client
		}
		bob, eve := by("bob"), by("eve")
		res, err := bob.Call(t.Context(), "get_next_task", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		claim := claimOf(t, res)
		for tool, args := range map[string]map[string]any{
			"report_progress":    {"claim": claim["claim"], "note": "x"},
			"report_task_done":   {"claim": claim["claim"], "summary": "x"},
			"report_task_failed": {"claim": claim["claim"], "reason": "x"},
			"ask_question":       {"claim": claim["claim"], "question": "x"},
			"get_next_task":      {"worker": claim["worker"]},
		} {
			res, err := eve.Call(t.Context(), tool, args, nil)
			if err != nil || !res.IsError {
				t.Errorf("%s of another key's claim = %+v, %v", tool, res, err)
			}
			for _, block := range res.Content {
				if tool != "get_next_task" && strings.Contains(block.Text, claim["worker"].(string)) {
					t.Errorf("%s shows another key's worker: %s", tool, block.Text)
				}
			}
		}
		d, err := s.b.Get(t.Context(), board.ID{Project: "web", No: 1}, 10)
		if err != nil || d.Task.Status != board.InProgress || len(d.Events) != 2 {
			t.Errorf("web-1 is %+v with %d events, %v", d.Task, len(d.Events), err)
		}
	})
}
