package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// claim hands out the next task of shop.
func (s *testSite) claim(name string) (board.Actor, *board.Handout) {
	s.t.Helper()
	a := board.Actor{Principal: "key:" + name, Owner: "p-" + name}
	h, err := s.board.Next(s.t.Context(), a, board.Wish{Projects: []string{"shop"}, Where: board.Where{Dir: "/srv/shop", Host: "build1", Branch: "bossman/x", Client: "claude-code"}})
	if err != nil {
		s.t.Fatal(err)
	}
	a.Worker = h.Claim.Worker.Name
	return a, h
}

// version reads the version that a form of a page carries.
func version(t *testing.T, body, action string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, `action="`+action+`"`)
	if !ok {
		t.Fatalf("the page has no form for %s", action)
	}
	return hidden(t, rest, "version")
}

// TestTask_program: of a program that makes no calls of tools, the page of its task has what it prints.
func TestTask_program(t *testing.T) {
	s := newTestSite(t, false)
	s.create(board.NewTask{Title: "Guest checkout"})
	a, h := s.claim("crew")
	if err := s.board.Record(t.Context(), a, board.Run{Claim: h.Claim.Handle, Agent: "command"}, board.LogPart{No: 1, Text: "2026-01-01T10:00:00Z compiling the cart\n"}); err != nil {
		t.Fatal(err)
	}
	_, body := s.signedIn("ada", "shop", auth.Lead).get("/task/shop-1")
	if !strings.Contains(body, "compiling the cart") || !strings.Contains(body, "All 1 entry") || strings.Contains(body, "0 calls") {
		t.Errorf("the page is:\n%s", body)
	}
}

// TestTask_page: the page of a task has all that is known about it.
func TestTask_page(t *testing.T) {
	s := newTestSite(t, false)
	ids := s.create(board.NewTask{
		Title: "Guest checkout", Description: "Keep **the cart**.\n\n* first\n* second", Acceptance: "A test shows it.", Wants: []board.EvidenceKind{board.EvidenceTests}, Priority: board.High,
	})
	for i := range 9 {
		s.create(board.NewTask{Title: fmt.Sprintf("Dependent %d", i), DependsOn: ids})
	}
	a, h := s.claim("crew")
	log := "2026-01-01T10:00:00Z calls Bash: npm test\n2026-01-01T10:00:05Z I think about it.\n2026-01-01T10:00:09Z calls Edit: src/cart.ts\n"
	if err := s.board.Record(t.Context(), a, board.Run{Claim: h.Claim.Handle, Agent: "claude", Model: "opus", Session: "5f1e", Priced: true, Cost: 2_140_000, Tokens: board.Tokens{In: 412_000, Out: 21_000, Cached: 388_000}}, board.LogPart{No: 1, Text: log}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.board.Progress(t.Context(), a, h.Claim.Handle, board.Note{Text: "The order is stored first."}); err != nil {
		t.Fatal(err)
	}
	b := s.signedIn("ada", "shop", auth.Lead)
	status, body := b.get("/task/shop-1")
	if status != http.StatusOK {
		t.Fatalf("GET /task/shop-1 = %d %s", status, body)
	}
	for _, want := range []string{
		"<strong>the cart</strong>", "A test shows it.", "Attempt 1, live", "npm test", "src/cart.ts", "412 k in, 388 k cached, 21 k out", "$2.14", "Claude Code", "opus", "wanted",
		"shop-1/1.", "blocks 9", "4 more", `class="me"`, "All 3 entries", "2 calls", "bossman/x",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, not := range []string{"I think about it", "claude --resume"} { // chatter, and the word of another key
		if strings.Contains(body, not) {
			t.Errorf("the page has %q", not)
		}
	}
	if _, body := b.get("/task/shop-1/log"); !strings.Contains(body, "I think about it") {
		t.Error("the log lacks what the agent says")
	}
	if _, body := b.get("/task/shop-1/history"); !strings.Contains(body, "The order is stored first.") || !strings.Contains(body, "claimed") {
		t.Error("the history lacks the note")
	}
	if _, body := b.get("/task/shop-2"); !strings.Contains(body, "It depends on shop-1") || !strings.Contains(body, `href="/task/shop-1"`) {
		t.Error("the page of a dependent does not say what it waits for")
	}
	if err := s.failAll(a, h); err != nil {
		t.Fatal(err)
	}
	if _, body := b.get("/task/shop-1"); !strings.Contains(body, "Hand-over") || !strings.Contains(body, "Do not repeat") || !strings.Contains(body, "seam") {
		t.Error("the attempt lacks its hand-over")
	}
	for _, path := range []string{"/task/shop-99", "/task/api-1", "/task/x", "/task/shop-1/log?attempt=9", "/task/shop-2/log"} {
		if status, _ := b.get(path); status != http.StatusNotFound {
			t.Errorf("GET %s = %d", path, status)
		}
	}
}

// failAll fails a claim.
func (s *testSite) failAll(a board.Actor, h *board.Handout) error {
	_, err := s.board.Fail(s.t.Context(), a, h.Claim.Handle, board.Failure{Kind: board.FailTooHard, Reason: "There is no seam.", DoNotRepeat: "Mocking the clock."})
	return err
}

// TestTask_resume: the person whose key the agent has may go on with its session.
func TestTask_resume(t *testing.T) {
	a := board.Attempt{Owner: "p-1", Worker: board.WorkerID{Principal: "local"}, Where: board.Where{Dir: "/srv/my shop"}}
	r := board.Run{Agent: "claude", Session: "5f1e"}
	if got, want := resumeCommand(r, a, "local"), "cd '/srv/my shop' && claude --resume 5f1e"; got != want {
		t.Errorf("resumeCommand = %q, want %q", got, want)
	}
	for name, got := range map[string]string{
		"of another key": resumeCommand(r, a, "key:x"), "of an unknown agent": resumeCommand(board.Run{Agent: "x", Session: "5f1e"}, a, "local"),
		"of a session that is an option": resumeCommand(board.Run{Agent: "claude", Session: "--x"}, a, "local"),
	} {
		if got != "" {
			t.Errorf("resumeCommand %s = %q", name, got)
		}
	}
}

// TestTask_actions does each action by its form, and refuses it on a page that is out of date.
func TestTask_actions(t *testing.T) {
	s := newTestSite(t, false)
	b := s.signedIn("ada", "shop", auth.Lead)
	act := func(act string, id board.ID, form url.Values) board.Task {
		t.Helper()
		_, body := b.get(taskPath(id))
		path := taskPath(id) + "/" + act
		form.Set("version", version(t, body, path))
		old := form.Get("version")
		form.Set("version", "pending.77.false")
		if status, body := b.send(path, form); status != http.StatusConflict || !strings.Contains(body, "Look at it as it is") || form.Get("text") != "" && !strings.Contains(body, form.Get("text")+"</textarea>") {
			t.Errorf("%s on an old page = %d", act, status)
		}
		form.Set("version", old)
		resp, body := b.do(http.MethodPost, path, withToken(b, form))
		if resp.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s = %d %s", act, resp.StatusCode, body)
		}
		to, _, _ := strings.Cut(strings.TrimPrefix(resp.Header.Get("Location"), "/task/"), "?")
		now, err := board.ParseID(to)
		if err != nil {
			t.Fatalf("%s leads to %q", act, resp.Header.Get("Location"))
		}
		if _, body := b.get(resp.Header.Get("Location")); !strings.Contains(body, `id="notice"`) {
			t.Errorf("%s says nothing", act)
		}
		return s.status(now)
	}
	held := s.create(board.NewTask{Title: "Held", Hold: true})[0]
	if got := act("start", held, url.Values{}); !got.Ready() {
		t.Errorf("after start it is %v", got.State())
	}
	_, h := s.claim("one")
	if got := act("release", h.Task.ID, url.Values{"text": {"It takes too long"}}); got.Status != board.Pending || got.Failures != 0 {
		t.Errorf("after release it is %v", got.State())
	}
	_, h = s.claim("two")
	if got := act("done", h.Task.ID, url.Values{"text": {"Did it myself"}}); got.Status != board.Done {
		t.Errorf("after done it is %v", got.State())
	}
	if got := act("reopen", held, url.Values{"text": {"Once more"}}); got.ID == held || got.Status != board.Pending {
		t.Errorf("after reopen %v is %v", got.ID, got.State())
	}
	var a board.Actor
	a, h = s.claim("three")
	if _, err := s.board.Fail(t.Context(), a, h.Claim.Handle, board.Failure{Kind: board.FailWrongSpec, Reason: "It contradicts itself."}); err != nil {
		t.Fatal(err)
	}
	if _, body := b.get(taskPath(h.Task.ID)); !strings.Contains(body, "It contradicts itself.") {
		t.Error("the page of a failed task does not say why")
	}
	if got := act("retry", h.Task.ID, url.Values{"text": {"Read it again"}}); got.Status != board.Pending || got.Failures != 0 {
		t.Errorf("after retry it is %v", got.State())
	}
	dependent := s.create(board.NewTask{Title: "Dependent", DependsOn: []board.ID{h.Task.ID}})[0]
	_, h = s.claim("four")
	_, body := b.get(taskPath(h.Task.ID))
	path := taskPath(h.Task.ID) + "/cancel"
	form := url.Values{"version": {version(t, body, path)}, "dependents": {"unblock"}}
	if status, body := b.send(path, form); status != http.StatusUnprocessableEntity || !strings.Contains(body, "a reason is required") || !strings.Contains(body, `value="unblock" selected`) {
		t.Errorf("cancel without a reason = %d", status)
	}
	if got := act("cancel", h.Task.ID, url.Values{"text": {"Not needed"}, "dependents": {"unblock"}}); got.Status != board.Cancelled {
		t.Errorf("after cancel it is %v", got.State())
	}
	if got := s.status(dependent); !got.Ready() {
		t.Errorf("the dependent is %v", got.State())
	}
}

// TestForms_forged posts every form without a token, with that of another session, and from
// another site.
func TestForms_forged(t *testing.T) {
	s := newTestSite(t, false)
	s.ask(board.NewQuestion{Text: "Which?"})
	b, other := s.signedIn("ada", auth.EveryProject, auth.Admin), s.signedIn("bob", auth.EveryProject, auth.Admin)
	for _, r := range s.Routes() {
		if r.Method != http.MethodPost || r.Verb == nil {
			continue
		}
		path := address(r.Pattern)
		for _, token := range []string{"", "AAAA", formToken(other.session())} {
			if status, _ := b.post(path, url.Values{"token": {token}}); status != http.StatusForbidden {
				t.Errorf("POST %s with the token %q = %d", path, token, status)
			}
		}
		b.headers = http.Header{"Sec-Fetch-Site": {"cross-site"}}
		if status, _ := b.send(path, url.Values{}); status != http.StatusForbidden {
			t.Errorf("POST %s from another site = %d", path, status)
		}
		b.headers = http.Header{}
	}
}

// TestTask_create: the form creates a task once, keeps what was typed if it does not, and
// nobody creates one elsewhere.
func TestTask_create(t *testing.T) {
	s := newTestSite(t, false)
	b := s.signedIn("ada", "shop", auth.Worker)
	_, body := b.get("/board/new")
	key := hidden(t, body, "key")
	bad := url.Values{"in": {"shop"}, "title": {"Typed title"}, "description": {"Typed <b>text</b>"}, "after": {"77"}, "key": {key}, "failures": {"3"}}
	status, body := b.send("/board/new", bad)
	if status != http.StatusUnprocessableEntity || !strings.Contains(body, `value="Typed title"`) || !strings.Contains(body, "Typed &lt;b&gt;text&lt;/b&gt;</textarea>") || !strings.Contains(body, "does not exist") {
		t.Errorf("a task that depends on nothing = %d", status)
	}
	for field, value := range map[string]string{"priority": "soon", "lease": "long", "failures": "x", "after": "api-1", "title": ""} {
		form := url.Values{"in": {"shop"}, "title": {"T"}, "failures": {"3"}}
		form.Set(field, value)
		if status, body := b.send("/board/new", form); status != http.StatusUnprocessableEntity || !strings.Contains(body, "Not created.") {
			t.Errorf("a task with %s %q = %d", field, value, status)
		}
	}
	if status, _ := b.send("/board/new", url.Values{"in": {"api"}, "title": {"T"}}); status != http.StatusNotFound {
		t.Errorf("a task in another project = %d", status)
	}
	good := url.Values{"in": {"shop"}, "title": {"Typed title"}, "description": {"a\r\nb"}, "priority": {"high"}, "evidence": {"tests", "commit"}, "lease": {"30m"}, "draft": {"1"}, "key": {key}, "failures": {"5"}}
	for range 2 {
		resp, body := b.do(http.MethodPost, "/board/new", withToken(b, good))
		if resp.StatusCode != http.StatusSeeOther || !strings.HasPrefix(resp.Header.Get("Location"), "/task/shop-1?") {
			t.Fatalf("the form = %d %s", resp.StatusCode, body)
		}
	}
	d, err := s.board.Get(t.Context(), board.ID{Project: "shop", No: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if d.Task.Priority != board.High || !d.Task.Hold || d.Task.Lease != 30*time.Minute || d.Task.MaxFailures != 5 || len(d.Task.Wants) != 2 || d.Doc.Description != "a\nb" || d.Task.CreatedBy != "ada" {
		t.Errorf("the task is %+v %+v", d.Task, d.Doc)
	}
	if status, _ := b.get("/task/shop-1/edit"); status != http.StatusForbidden {
		t.Errorf("a worker's edit = %d", status)
	}
}

// TestTask_edit: the form changes what was changed in it, and nothing if the task is not the
// one that was shown.
func TestTask_edit(t *testing.T) {
	s := newTestSite(t, false)
	ids := s.create(board.NewTask{Title: "First"}, board.NewTask{Title: "Second", Description: "hidden\u202etext", Acceptance: "x"})
	b := s.signedIn("ada", "shop", auth.Lead)
	_, body := b.get("/task/shop-2/edit")
	form := url.Values{"version": {hidden(t, body, "version")}, "title": {"Second"}, "description": {"hidden<U+202E>text"}, "acceptance": {"Typed by me"}, "priority": {"urgent"}, "after": {"shop-1"}, "failures": {"3"}}
	if _, err := s.board.Update(t.Context(), testPerson, ids[1], board.Edit{Title: new("Second, by somebody else")}); err != nil {
		t.Fatal(err)
	}
	status, body := b.send("/task/shop-2/edit", form)
	if status != http.StatusConflict || !strings.Contains(body, "Second, by somebody else") || !strings.Contains(body, "Typed by me</textarea>") {
		t.Errorf("an edit of an old version = %d", status)
	}
	if got := s.status(ids[1]); got.Priority != board.Normal {
		t.Error("an edit of an old version was saved")
	}
	form.Set("version", hidden(t, body, "version"))
	if status, body := b.send("/task/shop-2/edit", form); status != http.StatusSeeOther {
		t.Fatalf("the edit = %d %s", status, body)
	}
	d, err := s.board.Get(t.Context(), ids[1], 0)
	if err != nil {
		t.Fatal(err)
	}
	if d.Task.Title != "Second" || d.Task.Priority != board.Urgent || d.Doc.Acceptance != "Typed by me" || len(d.Blockers) != 1 || d.Doc.Description != "hidden\u202etext" {
		t.Errorf("the task is %+v %+v", d.Task, d.Doc)
	}
	_, body = b.get("/task/shop-1/edit")
	cycle := url.Values{"version": {hidden(t, body, "version")}, "title": {"First"}, "priority": {"normal"}, "after": {"2"}, "failures": {"3"}}
	if status, body := b.send("/task/shop-1/edit", cycle); status != http.StatusConflict || !strings.Contains(body, "cycle") || !strings.Contains(body, `value="2"`) {
		t.Errorf("an edit that makes a cycle = %d", status)
	}
	if _, err := s.board.Cancel(t.Context(), testPerson, ids[0], "", board.DependentsKeep); err != nil {
		t.Fatal(err)
	}
	if status, body := b.send("/task/shop-1/edit", cycle); status != http.StatusConflict || !strings.Contains(body, "cannot be changed") {
		t.Errorf("an edit of a cancelled task = %d", status)
	}
}

// TestPlan_parts: a part waits for what the whole waits for, but not for the other parts.
func TestPlan_parts(t *testing.T) {
	plan := &board.Plan{Tasks: []board.PlanTask{
		{Key: "schema"},
		{Key: "api", After: []string{"schema", "login"}},
		{Key: "login", Within: "api"},
		{Key: "logout", Within: "api", After: []string{"login"}},
		{Key: "token", Within: "login", After: []string{"schema"}},
	}}
	index := map[string]int{}
	for i, t := range plan.Tasks {
		index[t.Key] = i
	}
	for task, want := range [][]int{nil, {0, 2}, {0}, {2, 0}, {0}} {
		if got := waitsFor(plan, index, task); !slices.Equal(got, want) {
			t.Errorf("%s waits for %v, want %v", plan.Tasks[task].Key, got, want)
		}
	}
}

// TestPlan shows a plan before it is created, and creates what was shown.
func TestPlan(t *testing.T) {
	s := newTestSite(t, false)
	b := s.signedIn("ada", "shop", auth.Lead)
	text := "# Checkout\r\n- [ ] Schema {key: schema, priority: high}\r\n- [ ] Interface {key: api, after: schema}\r\n  - [ ] Sign in <script>\r\n- [x] Done before\r\n"
	form := url.Values{"in": {"shop"}, "text": {text}, "act": {"preview"}}
	status, body := b.send("/board/plan", form)
	if status != http.StatusOK || !strings.Contains(body, "3 new tasks, 1 ready at once") || !strings.Contains(body, "<svg class=\"graph plan\"") || !strings.Contains(body, "Sign in &lt;script&gt;") {
		t.Fatalf("the preview = %d %s", status, body)
	}
	if n := len(s.list()); n != 0 {
		t.Fatalf("the preview created %d tasks", n)
	}
	form.Set("act", "create")
	if status, body := b.send("/board/plan", form); status != http.StatusConflict || !strings.Contains(body, "not the one that you saw") || len(s.list()) != 0 {
		t.Errorf("a plan that nobody saw = %d", status)
	}
	form.Set("seen", hidden(t, body, "seen"))
	if status, body := b.send("/board/plan", form); status != http.StatusSeeOther || len(s.list()) != 3 {
		t.Errorf("the plan = %d, %d tasks: %s", status, len(s.list()), body)
	}
	form.Set("act", "preview")
	if _, body := b.send("/board/plan", form); !strings.Contains(body, "Nothing would be created") {
		t.Error("the same plan again would create something")
	}
	for text, want := range map[string]string{
		"nothing": "This is not a plan", "- [ ] a {key: a, after: b}\n- [ ] b {key: b, after: a}": "cycle", "- [ ] a {after: shop-99}": "does not exist", "- [ ] a {after: api-1}": "another project",
	} {
		status, body := b.send("/board/plan", url.Values{"in": {"shop"}, "text": {text}, "act": {"create"}})
		if status != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
			t.Errorf("the plan %q = %d, and does not say %q", text, status, want)
		}
	}
	if status, _ := b.send("/board/plan", url.Values{"in": {"api"}, "text": {"- [ ] a"}}); status != http.StatusNotFound {
		t.Errorf("a plan in another project = %d", status)
	}
	var large strings.Builder
	for i := range 500 {
		fmt.Fprintf(&large, "- [ ] A task with a title that is not short at all %d {key: k%d, after: k%d}\n", i, i, i-1)
	}
	if status, body := b.send("/board/plan", url.Values{"in": {"shop"}, "text": {strings.Replace(large.String(), ", after: k-1", "", 1)}}); status != http.StatusOK || len(body) > 200<<10 || !strings.Contains(body, "more are not drawn") {
		t.Errorf("a large plan = %d, %d bytes", status, len(body))
	}
}

// list lists the tasks of the project shop.
func (s *testSite) list() []board.Task {
	s.t.Helper()
	ts, err := s.board.List(s.t.Context(), board.TaskFilter{Projects: []string{"shop"}})
	if err != nil {
		s.t.Fatal(err)
	}
	return ts
}
