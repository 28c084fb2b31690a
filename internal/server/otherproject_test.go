package server

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/go-json-experiment/json"
)

// idArguments are the arguments of tools that name something on the board, with a value to
// try. A tool is tried with each of them that its schema has.
var idArguments = map[string]string{
	"task": `"$TASK"`, "claim": `"$CLAIM"`, "question": `"$QUESTIONID"`, "worker": `"$WORKER"`, "depends_on": `["$TASK"]`,
	"parent": `"$TASK"`, "project": `"$PROJECT"`, "cursor": `"$TASK"`, "after": `"$TASK"`,
}

// validArguments are arguments with which a lead of the project api may call a tool.
var validArguments = map[string]map[string]string{
	"get_next_task":      {},
	"get_task":           {"task": `"api-1"`},
	"report_progress":    {"claim": `"api-1/9.aaaaa"`, "note": `"x"`},
	"report_task_done":   {"claim": `"api-1/9.aaaaa"`, "summary": `"x"`},
	"report_task_failed": {"claim": `"api-1/9.aaaaa"`, "reason": `"x"`},
	"ask_question":       {"wait_seconds": `0`},
	"get_answer":         {},
	"create_task":        {"description": `"x"`},
	"create_plan":        {"dry_run": `true`, "tasks": `[{"key":"a","title":"x"}]`},
	"list_tasks":         {},
	"update_task":        {"task": `"api-2"`, "title": `"Two"`},
	"cancel_task":        {},
	"review_task":        {"verdict": `"accept"`},
	"list_questions":     {},
	"answer_question":    {"answer": `"x"`},
	"list_workers":       {},
}

// toolArguments are valid arguments of a tool, with another value for one of them.
func toolArguments(tool, name, value string) string {
	args := map[string]string{}
	for k, v := range validArguments[tool] {
		args[k] = v
	}
	if tool == "ask_question" {
		args["question"] = `"x"`
	}
	switch {
	case tool == "create_plan" && name != "project":
		args["tasks"] = fmt.Sprintf(`[{"key":"a","title":"x",%q:%s}]`, name, value)
	case tool == "list_questions" && name == "cursor":
		args[name] = strings.Replace(value, "$TASK", "$QUESTIONID", 1)
	default:
		args[name] = value
	}
	var members []string
	for k, v := range args {
		members = append(members, fmt.Sprintf("%q:%s", k, v))
	}
	slices.Sort(members)
	return "{" + strings.Join(members, ",") + "}"
}

// TestOtherProject: for each tool and each argument that names something, a thing of another
// project is answered like one that does not exist, and nothing changes there.
func TestOtherProject(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{})
	f := addTasks(t, s)
	before := contents(t, s, "web")
	tried := map[string]int{}
	for _, revision := range revisions {
		for _, w := range []testCaller{{auth.Worker, false, "api"}, {auth.Lead, false, "api"}, {auth.Admin, true, "api"}, {auth.Admin, true, "ghost"}} {
			k := s.client(s.key(w.project, w.role, w.person), revision)
			for tool, names := range idArgumentsOf(t, k) {
				for _, name := range names {
					tried[tool+" "+name]++
					args := toolArguments(tool, name, idArguments[name])
					got, none := k.tool(tool, fill(args, f)), k.tool(tool, fill(args, missingIDs))
					if a, b := normalizeRows(got.text, f), normalizeRows(none.text, missingIDs); a != b {
						t.Errorf("%s, %s: %s with another's %s = %s\nwith none = %s", revision, w, tool, name, a, b)
					}
					if strings.Contains(got.text, "secret") {
						t.Errorf("%s, %s: %s with another's %s shows %s", revision, w, tool, name, got.text)
					}
				}
			}
			checkResources(t, s, k, w, f)
		}
	}
	if after := contents(t, s, "web"); after != before {
		t.Errorf("the project was touched:\n%s\nwas\n%s", after, before)
	}
	t.Logf("%d arguments of %d tools", len(tried), len(validArguments))
}

// idArgumentsOf are the arguments to try, by the tools that a caller has.
func idArgumentsOf(t *testing.T, k *testClient) map[string][]string {
	t.Helper()
	type schema struct {
		Properties map[string]struct {
			Items *struct {
				Properties map[string]struct{} `json:"properties"`
			} `json:"items"`
		} `json:"properties"`
	}
	var list struct {
		Tools []struct {
			Name   string `json:"name"`
			Schema schema `json:"inputSchema"`
		} `json:"tools"`
	}
	r := k.ask("tools/list", "{}")
	if err := json.Unmarshal(r.result, &list); err != nil {
		t.Fatalf("%v: %s", err, r.text)
	}
	out := map[string][]string{}
	for _, tool := range list.Tools {
		if validArguments[tool.Name] == nil {
			t.Errorf("there are no valid arguments for %s", tool.Name)
		}
		for name, p := range tool.Schema.Properties {
			if idArguments[name] != "" && !(tool.Name == "ask_question" && name == "question") {
				out[tool.Name] = append(out[tool.Name], name)
			}
			if p.Items == nil {
				continue
			}
			for inner := range p.Items.Properties {
				if idArguments[inner] != "" {
					out[tool.Name] = append(out[tool.Name], inner)
				}
			}
		}
	}
	return out
}

// normalizeRows is normalize, also for the ids of what the test itself created.
func normalizeRows(text string, f testIDs) string {
	return ownRow.ReplaceAllString(normalize(text, f), "OWN")
}

// checkResources tries to read and to follow resources of another project.
func checkResources(t *testing.T, s *testServer, k *testClient, w testCaller, f testIDs) {
	t.Helper()
	tries := map[string]string{
		"resources/read":        `{"uri":"bossman://tasks/$TASK"}`,
		"resources/subscribe":   `{"uri":"bossman://tasks/$TASK"}`,
		"resources/unsubscribe": `{"uri":"bossman://tasks/$TASK"}`,
		"completion/complete":   `{"ref":{"type":"ref/resource","uri":"bossman://tasks/{id}"},"argument":{"name":"id","value":"$PROJECT-"}}`,
	}
	for method, params := range tries {
		got, none := k.ask(method, fill(params, f)), k.ask(method, fill(params, missingIDs))
		if a, b := normalize(got.text, f), normalize(none.text, missingIDs); a != b || strings.Contains(got.text, `"web-`) && got.code == 0 {
			t.Errorf("%s, %s: %s of another's = %s\nof none = %s", k.revision, w, method, a, b)
		}
	}
	for _, uri := range []string{"bossman://board", "bossman://questions"} {
		if got := k.ask("resources/read", `{"uri":"`+uri+`"}`); strings.Contains(got.text, "web-") || strings.Contains(got.text, "secret") {
			t.Errorf("%s, %s: %s shows %s", k.revision, w, uri, got.text)
		}
	}
	if k.revision == newest {
		if got, none := normalize(firstEvent(k, f), f), normalize(firstEvent(k, missingIDs), missingIDs); got != none {
			t.Errorf("%s: subscriptions/listen to another's = %s\nto none = %s", w, got, none)
		}
	}
}

// firstEvent is the first message of an event stream.
func firstEvent(k *testClient, f testIDs) string {
	ctx, cancel := context.WithTimeout(k.t.Context(), time.Minute)
	defer cancel()
	body := fill(`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["bossman://tasks/$TASK"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, f)
	res := k.send(ctx, "POST", body, http.Header{"Mcp-Method": {"subscriptions/listen"}})
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), "jsonrpc") {
			return lines.Text()
		}
	}
	return res.Status
}

// contents is everything in a project.
func contents(t *testing.T, s *testServer, project string) string {
	t.Helper()
	ctx := t.Context()
	b := s.board
	tasks, err := b.List(ctx, board.TaskFilter{Projects: []string{project}})
	check(t, err)
	events, err := b.Feed(ctx, []string{project}, "", 1000)
	check(t, err)
	questions, err := b.Questions(ctx, board.QuestionFilter{Projects: []string{project}})
	check(t, err)
	claims, err := b.Claims(ctx, board.ClaimFilter{Project: project})
	check(t, err)
	return fmt.Sprintf("%+v\n%+v\n%+v\n%+v", tasks, events, questions, claims)
}

// TestDurableCalls: a call that became a task of the protocol belongs to its caller. For
// others, even in the same project, there is no such task.
func TestDurableCalls(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{})
	addTasks(t, s)
	own, other := s.client(s.key("web", auth.Lead, false), newest), s.client(s.key("web", auth.Lead, false), newest)
	for _, k := range []*testClient{own, other} {
		k.capabilities = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	}
	made := own.tool("ask_question", `{"question":"Which?","blocking":false,"wait_seconds":45}`)
	var task struct {
		ID string `json:"taskId"`
	}
	if err := json.Unmarshal(made.result, &task); err != nil || task.ID == "" {
		t.Fatalf("ask_question = %s", made.text)
	}
	if got := own.ask("tasks/get", `{"taskId":"`+task.ID+`"}`); got.code != 0 {
		t.Fatalf("tasks/get by its caller = %s", got.text)
	}
	unknown := "A" + task.ID[1:]
	for method, more := range map[string]string{"tasks/get": "", "tasks/update": `,"inputResponses":{}`, "tasks/cancel": ""} {
		got, none := other.ask(method, `{"taskId":"`+task.ID+`"`+more+`}`), other.ask(method, `{"taskId":"`+unknown+`"`+more+`}`)
		if got.code == 0 || strings.ReplaceAll(got.text, task.ID, "ID") != strings.ReplaceAll(none.text, unknown, "ID") {
			t.Errorf("%s of another's = %s, of none = %s", method, got.text, none.text)
		}
	}
	if got := own.ask("tasks/cancel", `{"taskId":"`+task.ID+`"}`); got.code != 0 {
		t.Errorf("tasks/cancel by its caller = %s", got.text)
	}
}

// TestHumanOnly: a question for people only can be answered by no tool, whatever the key and
// revision, but by a person's key with bossman answer, and by a form at a client with a
// person's key.
func TestHumanOnly(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{})
	ask := func() board.Question {
		q, err := s.board.Ask(t.Context(), board.Actor{Principal: "key:x", Owner: "key:x"}, board.NewQuestion{Project: "web", Text: "Ship it?", HumanOnly: true, Blocking: new(false)})
		check(t, err)
		return q
	}
	keys := map[bool]string{true: s.key("web", auth.Admin, true), false: s.key("web", auth.Admin, false)}
	for _, revision := range revisions {
		for person, key := range keys {
			q := ask()
			k := s.client(key, revision)
			if got := k.tool("answer_question", fmt.Sprintf(`{"question":%q,"answer":"yes"}`, q.ID)); got.kind != "denied" {
				t.Errorf("%s: answer_question with a key of a person (%v) = %s", revision, person, got.text)
			}
			for _, at := range []bool{false, true} { // a person says to be there
				got := k.ask("bossman/answer", fmt.Sprintf(`{"as":{"person":%v},"args":{"ID":%d,"Answer":"yes"}}`, at, q.ID))
				if allowed := person && at; allowed != (got.code == 0) {
					t.Errorf("%s: bossman/answer, person's key: %v, person there: %v = %s", revision, person, at, got.text)
				}
			}
		}
	}
	for person, key := range keys {
		asked := false
		c, err := streamable.Connect(t.Context(), s.url+"/mcp", &streamable.ClientOptions{Header: http.Header{"X-Api-Token": {key}}}, &mcp.ClientOptions{
			Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				asked = true
				return &mcp.ElicitResult{Action: "accept", Content: []byte(`{"answer":"yes"}`)}, nil
			},
		})
		check(t, err)
		res, err := c.Call(t.Context(), "ask_question", map[string]any{"question": "Ship?", "human_only": true, "blocking": false, "wait_seconds": 2}, nil)
		check(t, err)
		if asked != person || strings.Contains(fmt.Sprint(res.Content[0]), "was answered by") != person {
			t.Errorf("with a key of a person (%v) a form was shown: %v; %v", person, asked, res.Content)
		}
		c.Close()
	}
}

// TestOtherProject_streams: no stream tells when something happens in another project.
func TestOtherProject_streams(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{})
	var mu sync.Mutex
	heard := map[string][]string{} // by client
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	follow := func(name, key, revision string) {
		k := s.client(key, revision)
		var res *http.Response
		if revision == newest {
			res = k.send(ctx, "POST", `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["bossman://board","bossman://questions"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
				http.Header{"Mcp-Method": {"subscriptions/listen"}})
		} else {
			for _, uri := range []string{"bossman://board", "bossman://questions"} {
				k.ask("resources/subscribe", `{"uri":"`+uri+`"}`)
			}
			res = k.send(ctx, "GET", "", http.Header{"Accept": {"text/event-stream"}})
		}
		go func() {
			defer res.Body.Close()
			for lines := bufio.NewScanner(res.Body); lines.Scan(); {
				for _, uri := range []string{"bossman://board", "bossman://questions"} {
					if strings.Contains(lines.Text(), "resources/updated") && strings.Contains(lines.Text(), uri) {
						mu.Lock()
						heard[name] = append(heard[name], uri)
						mu.Unlock()
					}
				}
			}
		}()
	}
	every, web := s.key(auth.EveryProject, auth.Viewer, false), s.key("web", auth.Viewer, false)
	for _, revision := range []string{newest, "2025-06-18"} {
		follow("every "+revision, every, revision)
		follow("web "+revision, web, revision)
	}
	until := func(who string, board, questions int) {
		t.Helper()
		for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			mu.Lock()
			done := true
			for _, revision := range []string{newest, "2025-06-18"} {
				got := heard[who+" "+revision]
				n := len(slices.DeleteFunc(slices.Clone(got), func(uri string) bool { return uri != "bossman://board" }))
				done = done && n == board && len(got)-n == questions
			}
			text := fmt.Sprint(heard)
			mu.Unlock()
			if done {
				return
			}
			if time.Since(begun) > time.Minute {
				t.Fatalf("%s should have heard of %d changes of the board and %d of the questions: %s", who, board, questions, text)
			}
		}
	}
	for i, slug := range []string{"api", "web"} {
		_, _, err := s.board.Create(ctx, board.Actor{Principal: "bob", Person: true}, board.NewTask{Project: slug, Title: "One"}, "")
		check(t, err)
		until("every", i+1, i)
		_, err = s.board.Ask(ctx, board.Actor{Principal: "bob", Owner: "bob"}, board.NewQuestion{Project: slug, Text: "?"})
		check(t, err)
		until("every", i+1, i+1)
	}
	until("web", 1, 1)
}
