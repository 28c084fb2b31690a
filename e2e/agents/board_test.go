package agents

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/e2e/internal/model"
)

// board runs agents on a board: they take tasks, ask, and report.
func (b *bench) board(t *testing.T) {
	t.Run("claude fleet", b.claudeFleet)
	t.Run("claude", b.claudeBoard)
	t.Run("claude waits", b.claudeWaits)
	t.Run("codex app-server", b.codexAppBoard)
	t.Run("codex", b.codexBoard)
	t.Run("codex waits", b.codexWaits)
	t.Run("gemini", b.geminiBoard)
	t.Run("opencode", b.opencodeBoard)
}

// An office is a repository with a board, and a home of its own around it.
type office struct {
	b         *bench
	dir, home string
	// far: the agent speaks to a server, which does not know where it works.
	far bool
}

// An entry is how a server stands in an agent's configuration: a command, or an
// address and a key.
type entry struct {
	command  []string
	url, key string
}

// keyHeader is where the key goes.
const keyHeader = "X-Api-Token"

func (b *bench) office(t *testing.T) *office {
	t.Helper()
	dir := harness.Repository(t, "web")
	return &office{b: b, dir: dir, home: filepath.Dir(dir)}
}

// cli runs bossman as a person does.
func (o *office) cli(t *testing.T, args ...string) string {
	t.Helper()
	cmd := harness.Command(t.Context(), o.home, append([]string{o.b.programs.Path(harness.Bossman)}, args...)...)
	cmd.Dir = o.dir
	cmd.Env = append(cmd.Env, "BOSSMAN_PERSON=1")
	out := harness.Run(t, cmd)
	if out.Code != 0 {
		t.Fatalf("bossman %s: exit code %d\n%s", strings.Join(args, " "), out.Code, out.Stderr)
	}
	return out.Stdout
}

// server is what stands in an agent's configuration, behind the tee.
func (o *office) server(t *testing.T) (entry, *harness.Record) {
	t.Helper()
	argv, rec := o.b.programs.Server(t, harness.Bossman)
	return entry{command: append(argv, "mcp")}, rec
}

// A shownTask is a task as bossman task show has it for programs.
type shownTask struct {
	ID, Status string
	Attempts   []struct {
		Cause string
		Where struct{ Dir, Branch string }
	}
	Result struct{ Summary string }
	Events []struct{ Kind string }
}

func (o *office) task(t *testing.T, id string) shownTask {
	t.Helper()
	var task shownTask
	if err := json.Unmarshal([]byte(o.cli(t, "task", "show", id, "--json")), &task); err != nil {
		t.Fatal(err)
	}
	return task
}

var handedOut = regexp.MustCompile(`(?m)^(\S+) is yours\. Claim (\S+), worker "(\S+)", attempt`)

// work is the script of a model that takes a task, asks about it, and reports it
// done, with the claim that it reads out of what it is shown. The question is
// answered while it works.
func (o *office) work(t *testing.T) script {
	return func(shown []string) (string, any) {
		if len(shown) == 0 {
			return "get_next_task", map[string]any{}
		}
		given := handedOut.FindStringSubmatch(shown[0])
		if given == nil {
			return "", nil
		}
		claim := given[2]
		switch len(shown) {
		case 1:
			return "ask_question", map[string]any{"claim": claim, "question": "Which colour?", "default": "blue"}
		case 2:
			o.cli(t, "answer", "q-1", "Green, as the logo.")
			return "report_progress", map[string]any{"claim": claim, "note": "the form is there", "percent": 50}
		case 3:
			return "report_task_done", map[string]any{"claim": claim, "summary": "a green form"}
		}
		return "", nil
	}
}

// worked shows that such a model was told all that it needs, and that the task is
// done.
func (o *office) worked(t *testing.T, m *standIn) {
	t.Helper()
	shown := m.results()
	if len(shown) != 4 {
		t.Fatalf("the model was shown %d results, want 4: %q", len(shown), shown)
	}
	given := handedOut.FindStringSubmatch(shown[0])
	for i, parts := range [][]string{
		{
			"web-1 is yours", "Add a login page", "With e-mail and password.", "DONE WHEN, by ", "\n> A test shows it.",
			`report_task_done {"claim":"` + given[2] + `"`, `report_task_failed {"claim":"` + given[2] + `"`, "To delegate",
		},
		{"q-1", `Continue as if the answer were "blue"`},
		{"Noted.", "q-1 was answered by", "Green, as the logo."},
		{"web-1 is done.", `get_next_task {"worker":"` + given[3] + `"}`},
	} {
		for _, part := range parts {
			if !strings.Contains(shown[i], part) {
				t.Errorf("result %d as the model was shown it does not say %q:\n%s", i+1, part, shown[i])
			}
		}
		if strings.Contains(shown[i], "dev.bossman/result") {
			t.Errorf("the model was shown what is for programs: %s", shown[i])
		}
	}
	task := o.task(t, "web-1")
	if task.Status != "done" || task.Result.Summary != "a green form" {
		t.Errorf("web-1 is %+v, want done", task)
	}
	want := o.dir
	if o.far {
		want = ""
	}
	if dir := task.Attempts[0].Where.Dir; dir != want {
		t.Errorf("the work was recorded in %q, want %q", dir, want)
	}
}

// instructed reports whether the model was told what the server's instructions say.
func (o *office) instructed(m *standIn) bool {
	return strings.Contains(m.request(), "shared work board")
}

// seen is what worked has shown, for the report.
func (o *office) seen(t *testing.T, m *standIn, rec *harness.Record) string {
	t.Helper()
	s := "a scripted model took a task, asked, was told the answer and reported it done; it was shown title, claim and closing calls"
	switch before, _, _ := strings.Cut(m.results()[0], "web-1 is yours"); {
	case strings.HasPrefix(before, "<"):
		s += " inside `" + strings.TrimSpace(before) + "`"
	case before != "":
		s += " below a line of the agent's own"
	}
	if o.instructed(m) {
		s += ", and the server's instructions"
	} else {
		s += ", but not the server's instructions"
	}
	switch {
	case len(m.searches()) > 0:
		s += "; it had to search for the tools"
	case slices.Contains(m.tools, model.SearchTool):
		s += "; the tools of workers are not deferred"
	}
	if slices.Contains(rec.Methods(t), "notifications/cancelled") {
		s += "; calls are cancelled after their answer, which changes nothing"
	}
	return s
}

// fill puts a task on the board.
func (o *office) fill(t *testing.T) {
	t.Helper()
	o.cli(t, "task", "add", "Add a login page", "-d", "With e-mail and password.", "--acceptance", "A test shows it.")
}

func (b *bench) claudeBoard(t *testing.T) {
	o := b.office(t)
	o.fill(t)
	server, rec := o.server(t)
	m := newModel(t, o.work(t))
	b.claudeSession(t, m, o.dir, claudeConfig(t, server))
	o.worked(t, m)
	// Tool search is on, as people have it, and a worker's tools are shown all the same.
	if !slices.Contains(m.tools, model.SearchTool) || slices.ContainsFunc(m.tools, isPlanning) || len(m.searches()) > 0 {
		t.Errorf("the model was offered %v and had to search for %v, want only the tools of leads deferred", m.tools, m.searches())
	}
	if !strings.Contains(m.request(), "Omit worker on your first call") {
		t.Error("the model was not shown the definition of get_next_task at once")
	}
	b.report.add(t, row{
		client: "Claude Code, a session with a scripted model", version: b.agents.Version(t, "@anthropic-ai/claude-code"),
		transport: onBoard, shown: o.seen(t, m, rec), methods: []string{"tools/list", "tools/call"},
	}, rec)
}

// isPlanning reports whether a tool is one that only leads have.
func isPlanning(tool string) bool { return strings.HasSuffix(tool, "create_plan") }

// A question without a default is waited for. Nobody sits at these clients, and they
// decline to ask anybody; the answer comes from the command line.

func (b *bench) claudeWaits(t *testing.T) {
	o := b.office(t)
	server, rec := o.server(t)
	o.waits(t, func(m *standIn) { b.claudeSession(t, m, o.dir, claudeConfig(t, server)) })
	b.report.add(t, row{
		client: "Claude Code, a session that waits for an answer", version: b.agents.Version(t, "@anthropic-ai/claude-code"),
		transport: onBoard, shown: waited, methods: []string{"tools/call"},
	}, rec)
}

func (b *bench) codexWaits(t *testing.T) {
	o := b.office(t)
	server, rec := o.server(t)
	o.waits(t, func(m *standIn) { o.codexExec(t, m, server) })
	b.report.add(t, row{
		client: "Codex, `codex exec` that waits for an answer", version: b.agents.Version(t, "@openai/codex"),
		transport: onBoard, shown: waited, methods: []string{"tools/call"},
	}, rec)
}

const waited = "the call waited, a person answered on the command line, the model read the answer and went on"

// waits runs an agent whose model asks and waits, while a person answers.
func (o *office) waits(t *testing.T, session func(*standIn)) {
	t.Helper()
	o.fill(t)
	m := newModel(t, func(shown []string) (string, any) {
		if len(shown) == 0 {
			return "get_next_task", map[string]any{}
		}
		given := handedOut.FindStringSubmatch(shown[0])
		switch {
		case given == nil:
			return "", nil
		case len(shown) == 1:
			return "ask_question", map[string]any{"claim": given[2], "question": "Which colour?", "options": []string{"green", "blue"}}
		case len(shown) == 2:
			return "report_task_done", map[string]any{"claim": given[2], "summary": "it has that colour"}
		}
		return "", nil
	})
	var person sync.WaitGroup
	person.Go(func() { o.answerNext(t, "green") })
	session(m)
	person.Wait()
	shown := m.results()
	if len(shown) != 3 || !strings.Contains(shown[1], "q-1 was answered by") || !strings.Contains(shown[1], "green") || !strings.Contains(shown[2], "web-1 is done.") {
		t.Fatalf("the model was shown %q, want the answer, and that the task is done", shown)
	}
	var kinds []string
	for _, e := range o.task(t, "web-1").Events {
		kinds = append(kinds, e.Kind)
	}
	if want := []string{"created", "claimed", "asked", "answered", "done"}; !slices.Equal(kinds, want) {
		t.Errorf("events = %v, want %v: nothing was parked", kinds, want)
	}
}

// answerNext answers the next question, on the command line.
func (o *office) answerNext(t *testing.T, text string) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := harness.Command(ctx, o.home, o.b.programs.Path(harness.Bossman), "inbox", "--watch", "--json")
	cmd.Dir = o.dir
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	defer func() {
		cancel()
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(out)
	lines.Scan()
	var e struct{ Kind, ID string }
	if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Kind != "question" {
		t.Errorf("the inbox shows %q, want a question: %v", lines.Text(), err)
		return
	}
	answer := harness.Command(ctx, o.home, o.b.programs.Path(harness.Bossman), "answer", e.ID, text)
	answer.Dir = o.dir
	answer.Env = append(answer.Env, "BOSSMAN_PERSON=1")
	if b, err := answer.CombinedOutput(); err != nil {
		t.Errorf("bossman answer: %v\n%s", err, b)
	}
}

func claudeConfig(t *testing.T, e entry) string {
	t.Helper()
	server := map[string]any{"type": "http", "url": e.url, "headers": map[string]any{keyHeader: e.key}}
	if e.command != nil {
		server = map[string]any{"type": "stdio", "command": e.command[0], "args": e.command[1:]}
	}
	return quote(t, map[string]any{"mcpServers": map[string]any{"bossman": server}})
}

// Three sessions of Claude Code at the same time, each in a worktree: two get a task
// each, the third is told that there is nothing left.
func (b *bench) claudeFleet(t *testing.T) {
	o := b.office(t)
	o.cli(t, "task", "add", "One")
	o.cli(t, "task", "add", "Two")
	server, rec := o.server(t)
	config := claudeConfig(t, server)

	var holding sync.WaitGroup // the two, until both hold a task
	holding.Add(2)
	told := make(chan struct{}) // closed when the third has been told
	worker := func() script {
		var once sync.Once
		return func(shown []string) (string, any) {
			if len(shown) == 0 {
				return "get_next_task", map[string]any{}
			}
			once.Do(holding.Done)
			<-told
			given := handedOut.FindStringSubmatch(shown[0])
			if given == nil || len(shown) > 1 {
				return "", nil
			}
			return "report_task_done", map[string]any{"claim": given[2], "summary": "done in its worktree"}
		}
	}
	models := []*standIn{newModel(t, worker()), newModel(t, worker())}
	var sessions sync.WaitGroup
	for i, m := range models {
		dir := harness.Worktree(t, o.dir, fmt.Sprintf("tree%d", i+1))
		sessions.Go(func() { b.claudeSession(t, m, dir, config) })
	}
	holding.Wait()
	third := newModel(t, once("get_next_task", map[string]any{}))
	nothing := b.claudeSession(t, third, harness.Worktree(t, o.dir, "tree3"), config)
	close(told)
	sessions.Wait()
	if want := "Nothing ready: 2 in progress."; !strings.HasPrefix(strings.TrimSpace(nothing), want) {
		t.Errorf("the third was told %q, want %q", nothing, want)
	}
	var tasks, branches []string
	for i, m := range models {
		shown := m.results()
		given := handedOut.FindStringSubmatch(shown[0])
		if given == nil || len(shown) != 2 || !strings.Contains(shown[1], given[1]+" is done.") {
			t.Fatalf("session %d was shown %q, want a task and that it is done", i+1, shown)
		}
		tasks = append(tasks, given[1])
		task := o.task(t, given[1])
		if len(task.Attempts) != 1 || task.Attempts[0].Cause != "done" {
			t.Errorf("%s has the attempts %+v, want one, done", task.ID, task.Attempts)
			continue
		}
		branches = append(branches, task.Attempts[0].Where.Branch)
	}
	slices.Sort(tasks)
	slices.Sort(branches)
	if !slices.Equal(tasks, []string{"web-1", "web-2"}) || !slices.Equal(branches, []string{"tree1", "tree2"}) {
		t.Errorf("the sessions did %v on the branches %v, want web-1 and web-2 on tree1 and tree2", tasks, branches)
	}
	b.report.add(t, row{
		client: "Claude Code, three sessions in worktrees of one repository", version: b.agents.Version(t, "@anthropic-ai/claude-code"),
		transport: onBoard, shown: "two took a task each and reported it done, the third was told that there is nothing", methods: []string{"tools/call"},
	}, rec)
}

func (b *bench) codexAppBoard(t *testing.T) {
	o := b.office(t)
	server, rec := o.server(t)
	o.codexPlans(t, server)
	b.report.add(t, row{
		client: "Codex, `codex app-server`", version: b.agents.Version(t, "@openai/codex"),
		transport: onBoard, shown: planned, methods: []string{"tools/call"},
	}, rec)
}

const planned = "planned two tasks, took one, asked, read the answer, reported it done"

// codexPlans lets Codex plan, take, ask and report, without a model.
func (o *office) codexPlans(t *testing.T, server entry) {
	t.Helper()
	o.codexConfig(t, server, "")
	thread := o.b.codexThread(t, o.home, o.dir, "create_plan")
	call := func(tool string, arguments map[string]any) string {
		t.Helper()
		var result struct {
			Content []struct{ Text string }
			IsError bool
		}
		thread(tool, arguments, &result)
		if len(result.Content) == 0 || result.IsError {
			t.Fatalf("%s = %+v, want a text and no error", tool, result)
		}
		return result.Content[0].Text
	}
	plan := call("create_plan", map[string]any{"goal": "Let people in", "tasks": []any{
		map[string]any{"key": "schema", "title": "Make the tables"},
		map[string]any{"key": "page", "title": "Add a login page", "after": "schema"},
	}})
	given := handedOut.FindStringSubmatch(call("get_next_task", map[string]any{}))
	if given == nil || given[1] != "web-1" {
		t.Fatalf("get_next_task gave %v after the plan %s", given, plan)
	}
	asked := call("ask_question", map[string]any{"claim": given[2], "question": "Which database?", "default": "SQLite"})
	o.cli(t, "answer", "q-1", "PostgreSQL")
	if answer := call("get_answer", map[string]any{"question": "q-1"}); !strings.Contains(answer, "PostgreSQL") {
		t.Errorf("get_answer says %q after %q", answer, asked)
	}
	if done := call("report_task_done", map[string]any{"claim": given[2], "summary": "three tables"}); !strings.Contains(done, "web-1 is done. This unblocked web-2.") {
		t.Errorf("report_task_done says %q", done)
	}
	if task := o.task(t, "web-1"); task.Status != "done" {
		t.Errorf("web-1 is %s, want done", task.Status)
	}
}

// codexConfig writes Codex's configuration, for a model at an address if there is one. The
// model's name is one that Codex knows: for others it does not defer tools.
func (o *office) codexConfig(t *testing.T, e entry, url string) {
	t.Helper()
	config := fmt.Sprintf("[mcp_servers.bossman]\nurl = %s\nhttp_headers = { %q = %s }\n", quote(t, e.url), keyHeader, quote(t, e.key))
	if e.command != nil {
		config = fmt.Sprintf("[mcp_servers.bossman]\ncommand = %s\nargs = %s\n", quote(t, e.command[0]), quote(t, e.command[1:]))
	}
	if url != "" {
		config = fmt.Sprintf("model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n\n[model_providers.scripted]\nname = \"Scripted\"\nbase_url = %s\nwire_api = \"responses\"\n\n",
			quote(t, url+"/v1")) + config
	}
	write(t, filepath.Join(o.home, ".codex", "config.toml"), config)
}

func (b *bench) codexBoard(t *testing.T) {
	o := b.office(t)
	o.fill(t)
	server, rec := o.server(t)
	m := newModel(t, o.work(t))
	o.codexExec(t, m, server)
	o.worked(t, m)
	// With a model that it knows, Codex shows nothing but the instructions, which must say
	// where tasks are got.
	if !strings.Contains(m.request(), "get tasks with get_next_task") || !slices.Contains(m.searches(), "get_next_task") {
		t.Errorf("the model searched for %v; want instructions that name get_next_task, and a search for it", m.searches())
	}
	b.report.add(t, row{
		client: "Codex, `codex exec`", version: b.agents.Version(t, "@openai/codex"),
		transport: onBoard, shown: o.seen(t, m, rec), methods: []string{"tools/list", "tools/call"},
	}, rec)
}

// codexExec lets Codex talk to the model until it is done.
func (o *office) codexExec(t *testing.T, m *standIn, server entry) {
	t.Helper()
	o.codexConfig(t, server, m.url)
	out := o.run(t, nil, o.b.agents.Bin("codex"), "exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "Do your work.")
	if out.Code != 0 {
		t.Fatalf("codex exec: exit code %d", out.Code)
	}
}

func (b *bench) geminiBoard(t *testing.T) {
	o := b.office(t)
	o.fill(t)
	server, rec := o.server(t)
	m := newModel(t, o.work(t))
	o.geminiSession(t, m, server)
	o.worked(t, m)
	b.report.add(t, row{
		client: "Gemini CLI, a session with a scripted model", version: b.agents.Version(t, "@google/gemini-cli"),
		transport: onBoard, shown: o.seen(t, m, rec), methods: []string{"tools/list", "tools/call"},
	}, rec)
}

// geminiSession lets Gemini talk to the model until it is done.
func (o *office) geminiSession(t *testing.T, m *standIn, e entry) {
	t.Helper()
	server := map[string]any{"type": "http", "url": e.url, "headers": map[string]any{keyHeader: e.key}}
	if e.command != nil {
		server = map[string]any{"command": e.command[0], "args": e.command[1:]}
	}
	env := append(o.geminiHome(t, m, map[string]any{"bossman": server}), "GEMINI_CLI_TRUST_WORKSPACE=true")
	out := o.run(t, env, o.b.agents.Bin("gemini"), "-p", "Do your work.", "--approval-mode", "yolo")
	if out.Code != 0 {
		t.Fatalf("gemini: exit code %d", out.Code)
	}
}

// geminiHome writes Gemini's settings, and returns the variables with which it finds the model.
func (o *office) geminiHome(t *testing.T, m *standIn, servers map[string]any) []string {
	t.Helper()
	write(t, filepath.Join(o.home, ".gemini", "settings.json"), quote(t, map[string]any{
		"mcpServers": servers,
		"security":   map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
	}))
	return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + m.url, "GEMINI_MODEL=gemini-2.5-pro"}
}

func (b *bench) opencodeBoard(t *testing.T) {
	o := b.office(t)
	o.fill(t)
	server, rec := o.server(t)
	m := newModel(t, o.work(t))
	o.opencodeSession(t, m, server)
	o.worked(t, m)
	b.report.add(t, row{
		client: "opencode, a session with a scripted model", version: b.agents.Version(t, "opencode-ai"),
		transport: onBoard, shown: o.seen(t, m, rec), methods: []string{"tools/list", "tools/call"},
	}, rec)
}

// opencodeSession lets opencode talk to the model until it is done.
func (o *office) opencodeSession(t *testing.T, m *standIn, e entry) {
	t.Helper()
	server := map[string]any{"type": "remote", "url": e.url, "headers": map[string]any{keyHeader: e.key}, "enabled": true}
	if e.command != nil {
		server = map[string]any{"type": "local", "command": e.command, "enabled": true}
	}
	env := o.opencodeHome(t, m, map[string]any{"bossman": server})
	out := o.run(t, env, o.b.agents.Bin("opencode"), "run", "Do your work.")
	if out.Code != 0 {
		t.Fatalf("opencode run: exit code %d", out.Code)
	}
}

// opencodeHome writes the settings of opencode, and returns the variables with which it stays offline.
func (o *office) opencodeHome(t *testing.T, m *standIn, servers map[string]any) []string {
	t.Helper()
	write(t, filepath.Join(o.home, ".config", "opencode", "opencode.json"), quote(t, map[string]any{
		"model": "scripted/scripted",
		"provider": map[string]any{"scripted": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "Scripted",
			"options": map[string]any{"baseURL": m.url + "/v1", "apiKey": "dummy"},
			"models":  map[string]any{"scripted": map[string]any{"name": "Scripted", "tool_call": true}},
		}},
		"mcp": servers,
	}))
	return []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}
}

// run runs an agent in the repository.
func (o *office) run(t *testing.T, env []string, argv ...string) harness.Output {
	t.Helper()
	return run(t, o.dir, append(env, "HOME="+o.home), argv...)
}
