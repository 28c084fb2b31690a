package web

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/e2e/internal/teamserver"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// aSecond is how soon a page shows what somebody else did.
var aSecond = harness.Bound(time.Second)

// TestTeam uses the pages of a team's server as people do: three replicas of the program on one
// PostgreSQL behind a balancer that sends every request to another one, a person in a browser,
// agents over MCP, and laptops with clones.
func TestTeam(t *testing.T) {
	program := filepath.Join(t.TempDir(), "bossman")
	if err := harness.BuildProgram(program, harness.Bossman); err != nil {
		t.Fatal(err)
	}
	s := &teamSite{Team: teamserver.Start(t, program, 3), program: program}
	s.Operate(t, "project", "create", "shop", "--policy", "trust")
	s.Operate(t, "project", "create", "api", "--policy", "person")
	s.person = s.Key(t, "--project", "*", "--role", "admin", "--person", "Ada Lindqvist")
	s.agent = s.Key(t, "--project", "*", "--role", "worker", "--owner", "ada", "--name", "crew")
	x := &tab{t: t, ctx: newBrowser(t)}
	for _, part := range []struct {
		name string
		run  func(*teamSite, *tab)
	}{
		{"sign in", (*teamSite).signIn},
		{"work", (*teamSite).work},
		{"permission", (*teamSite).permission},
		{"review", (*teamSite).review},
		{"filter", (*teamSite).filter},
		{"sign out", (*teamSite).signOut},
		{"replicas", (*teamSite).replicas},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(s, x.in(t)) }) {
			return // what follows needs it
		}
	}
}

// A teamSite is a team's server and the keys for it.
type teamSite struct {
	*teamserver.Team
	program       string
	person, agent string
}

// in is the tab for another test.
func (x *tab) in(t *testing.T) *tab { return &tab{t: t, ctx: x.ctx} }

// another opens a tab in the same browser.
func (x *tab) another() *tab {
	x.t.Helper()
	ctx, cancel := chromedp.NewContext(x.ctx)
	x.t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // the tab lives as long as this context
		x.t.Fatal(err)
	}
	return &tab{t: x.t, ctx: ctx}
}

// text returns the value of an expression in the page.
func (x *tab) text(expression string) string {
	x.t.Helper()
	text, err := chromedp.Run(x.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		x.t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// show goes to a page, and waits until it follows the board.
func (x *tab) show(url string) {
	x.t.Helper()
	x.do(chromedp.Navigate(url), chromedp.WaitVisible(chromedp.ID("main")))
	x.soon(isLive, 5*time.Second)
}

// enter types a key into the sign-in page.
func (x *tab) enter(url, key string) {
	x.t.Helper()
	x.do(chromedp.Navigate(url+"/signin"), chromedp.SendKeys(chromedp.ID("k"), key), chromedp.Click(chromedp.CSS("main.door button.go")))
}

// newTask writes a task into the form, and returns it on its own page.
func (x *tab) newTask(url, project, title string) board.ID {
	x.t.Helper()
	x.do(chromedp.Navigate(url+"/board/new?project="+project), chromedp.SendKeys(chromedp.ID("t-title"), title),
		chromedp.SendKeys(chromedp.ID("t-desc"), "As **Ada** says."), chromedp.Click(chromedp.CSS("#taskform .go")), chromedp.WaitVisible(chromedp.ID("spec")))
	x.soon(isLive, 5*time.Second)
	id, err := board.ParseID(strings.TrimPrefix(x.text("location.pathname"), "/task/"))
	if err != nil {
		x.t.Fatalf("the form leads to %s", x.text("location.href"))
	}
	return id
}

// A worker is an agent that calls tools.
type worker struct {
	t    *testing.T
	c    *mcp.Client
	name string
}

// connect connects an agent to the server over HTTP.
func (s *teamSite) connect(t *testing.T, url string) *worker {
	t.Helper()
	c, err := streamable.Connect(t.Context(), url, &streamable.ClientOptions{Header: http.Header{"X-Api-Token": {s.agent}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &worker{t: t, c: c}
}

// start starts bossman mcp in a clone, with the key of an agent.
func (s *teamSite) start(t *testing.T, home, dir string) *worker {
	t.Helper()
	c, err := (&mcp.Command{Args: []string{s.program, "mcp"}, Dir: dir, Env: []string{"HOME=" + home, "BOSSMAN_BOARD=" + s.URL(), "BOSSMAN_KEY=" + s.agent}, Logger: slog.New(slog.DiscardHandler)}).Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &worker{t: t, c: c}
}

// A said is what a tool answered.
type said struct {
	Text                string
	Outcome, ID, Status string
	Claim               struct{ Claim, Task, Worker string }
}

// try calls a tool.
func (w *worker) try(ctx context.Context, tool string, args map[string]any) (said, error) {
	res, err := w.c.Call(ctx, tool, args, nil)
	if err != nil {
		return said{}, err
	}
	if res.IsError {
		return said{}, fmt.Errorf("%s %v was refused: %s", tool, args, res.Text())
	}
	var out said
	if b, err := json.Marshal(res.Meta["dev.bossman/result"]); err == nil {
		_ = json.Unmarshal(b, &out) // not all are alike
	}
	out.Text = res.Text()
	return out, nil
}

func (w *worker) call(tool string, args map[string]any) said {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	out, err := w.try(ctx, tool, args)
	if err != nil {
		w.t.Fatalf("%s: %v", tool, err)
	}
	return out
}

// take gets a task, and returns its claim and all of the hand-out.
func (w *worker) take(id board.ID) (claim, text string) {
	w.t.Helper()
	args := map[string]any{"task": id.String()}
	if w.name != "" {
		args["worker"] = w.name
	}
	got := w.call("get_next_task", args)
	if got.Claim.Task != id.String() {
		w.t.Fatalf("get_next_task(%v) = %s", id, got.Text)
	}
	w.name = got.Claim.Worker
	return got.Claim.Claim, got.Text
}

// signIn: an agent's key does not open the door, and a person's does.
func (s *teamSite) signIn(x *tab) {
	x.enter(s.URL(), s.agent)
	x.soon("document.querySelector('#ke')?.innerText.includes('agent’s key')", 5*time.Second)
	x.enter(s.URL(), s.person)
	x.soon("document.querySelector('.side footer')?.innerText.includes('Ada Lindqvist')", 5*time.Second)
}

// work: a person creates a task, sees an agent take it, answers its question, and sees it done.
func (s *teamSite) work(x *tab) {
	t := x.t
	id := x.newTask(s.URL(), "shop", "Guest checkout keeps the cart")
	w := s.connect(t, s.MCP())
	begun := time.Now()
	claim, _ := w.take(id)
	x.soon(fmt.Sprintf("document.querySelector('#facts')?.innerText.includes(%q)", w.name), 10*time.Second)
	claimed := time.Since(begun)

	x.show(s.URL() + "/inbox?project=shop")
	type reply struct {
		said
		err error
	}
	answered := make(chan reply, 1)
	begun = time.Now()
	go func() {
		got, err := w.try(t.Context(), "ask_question", map[string]any{"claim": claim, "question": "Where is the cart kept?", "options": []string{"In a cookie", "In the database"}, "wait_seconds": 40})
		answered <- reply{got, err}
	}()
	x.soon("document.querySelector('#asks')?.innerText.includes('Where is the cart kept?')", 10*time.Second)
	asked := time.Since(begun)
	begun = time.Now()
	x.do(chromedp.Click(chromedp.CSS(`#asks button[value="In a cookie"]`)), chromedp.WaitVisible(chromedp.ID("notice")))
	got := <-answered
	if took := time.Since(begun); got.err != nil || !strings.Contains(got.Text, "In a cookie") {
		t.Fatalf("the agent got %q, %v after %v", got.Text, got.err, took)
	}

	x.show(s.URL() + "/task/" + id.String())
	begun = time.Now()
	w.call("report_task_done", map[string]any{"claim": claim, "summary": "The cart is in a cookie.", "no_changes": true})
	x.soon("document.querySelector('.task-top .state')?.innerText === 'Done' && document.querySelector('#result')?.innerText.includes('The cart is in a cookie.')", 10*time.Second)
	done := time.Since(begun)
	t.Logf("shown after: taken %v, asked %v, done %v", claimed, asked, done)
	for what, took := range map[string]time.Duration{"that an agent took the task": claimed, "the question": asked, "that the task is done": done} {
		if took > aSecond {
			t.Errorf("the page showed %s after %v, want %v", what, took, aSecond)
		}
	}
}

// filter: the address of a filtered board shows the same to somebody else.
func (s *teamSite) filter(x *tab) {
	x.newTask(s.URL(), "shop", "Vouchers expire")
	x.show(s.URL() + "/board?project=shop")
	tile := func(title string) string {
		return fmt.Sprintf("[...document.querySelectorAll('.tile h3')].some(h => h.innerText === %q)", title)
	}
	x.soon(tile("Vouchers expire")+" && "+tile("Guest checkout keeps the cart"), 5*time.Second)
	x.do(chromedp.SendKeys(chromedp.ID("f-q"), "voucher"), chromedp.Click(chromedp.CSS("#filter button")))
	filtered := tile("Vouchers expire") + " && !" + tile("Guest checkout keeps the cart") + " && document.querySelector('#f-q').value === 'voucher'"
	x.soon("location.search.includes('q=voucher') && location.search.includes('project=shop') && "+filtered, 5*time.Second)
	address := x.text("location.href")
	other := x.another()
	other.do(chromedp.Navigate(address), chromedp.WaitVisible(chromedp.ID("main")))
	other.soon(filtered, 5*time.Second)
}

// A laptop is a clone on a machine of its own.
type laptop struct{ home, dir string }

// clone clones a repository for another machine, whose owner accepts its settings.
func (s *teamSite) clone(t *testing.T, origin string) laptop {
	t.Helper()
	home := harness.Home(t)
	l := laptop{home: home, dir: filepath.Join(home, "api")}
	harness.Git(t, home, "clone", "-q", origin, l.dir)
	harness.Git(t, l.dir, "config", "user.name", "agent")
	harness.Git(t, l.dir, "config", "user.email", "agent@example.com")
	trust := harness.Command(t.Context(), l.home, s.program, "trust", "--yes")
	trust.Dir, trust.Env = l.dir, append(trust.Env, "BOSSMAN_PERSON=1")
	if out := harness.Run(t, trust); out.Code != 0 {
		t.Fatalf("bossman trust: %s", out.Stderr)
	}
	return l
}

// commit makes a branch with a file, and returns its name.
func (l laptop) commit(t *testing.T, branch, file, text string) string {
	t.Helper()
	if harness.Git(t, l.dir, "branch", "--list", branch) == "" {
		harness.Git(t, l.dir, "checkout", "-q", "-b", branch, "origin/main")
	} else {
		harness.Git(t, l.dir, "checkout", "-q", branch)
	}
	if err := os.WriteFile(filepath.Join(l.dir, file), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	harness.Git(t, l.dir, "add", ".")
	harness.Git(t, l.dir, "commit", "-q", "-m", branch)
	return branch
}
