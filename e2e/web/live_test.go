package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/web/webtest"
)

// A tab is the browser at the site.
type tab struct {
	t   *testing.T
	ctx context.Context
	s   *site
}

// isLive is true in a page whose script follows the board.
const isLive = `document.querySelector('#live span')?.textContent.startsWith('Live')`

// open lets the browser in and shows a page.
func open(t *testing.T, s *site, path string) *tab {
	t.Helper()
	x := &tab{t, newBrowser(t), s}
	x.do(chromedp.Navigate(s.url+s.door.Link()), chromedp.WaitVisible(chromedp.ID("shell")), chromedp.Navigate(s.url+path), chromedp.WaitVisible(chromedp.ID("main")))
	x.soon(isLive, 5*time.Second)
	return x
}

// do does one step after the other, each on a page that is loaded: before its stylesheet is there, things are
// elsewhere, and a click misses them.
func (x *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	x.t.Helper()
	for n, step := range steps {
		ctx, cancel := context.WithTimeout(x.ctx, 20*time.Second)
		err := chromedp.Do(ctx, step)
		cancel()
		if err != nil {
			text, _ := chromedp.Run(x.ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText.slice(0, 1500)"))
			x.t.Fatalf("step %d: %v\n%s", n+1, err, text)
		}
		x.soon("document.readyState === 'complete'", 20*time.Second)
	}
}

// is reports whether an expression is true in the page.
func (x *tab) is(expression string) bool {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, 20*time.Second)
	defer cancel()
	ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
	return err == nil && ok
}

// soon waits until an expression is true in the page, and returns how long that took.
func (x *tab) soon(expression string, within time.Duration) time.Duration {
	x.t.Helper()
	begun := time.Now()
	for time.Since(begun) < within {
		if x.is(expression) {
			return time.Since(begun)
		}
		time.Sleep(20 * time.Millisecond)
	}
	text, _ := chromedp.Run(x.ctx, chromedp.Evaluate[string]("document.body.innerText.slice(0, 1500)"))
	x.t.Fatalf("after %v it is not true that %s\n%s", within, expression, text)
	return 0
}

// ask lets an agent ask.
func (s *site) ask(t *testing.T, text string) board.Question {
	t.Helper()
	q, err := s.board.Ask(t.Context(), board.Actor{Principal: "key:asker", Owner: "p-asker"}, board.NewQuestion{Project: "shop", Text: text, Options: []string{"Red", "Blue"}})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestLive: a page follows the board within a second, keeps what a person types, and answers.
func TestLive(t *testing.T) {
	s := newSite(t)
	first := s.ask(t, "Which colour has the button?")
	x := open(t, s, "/inbox?project=shop")
	box := fmt.Sprintf("n-%v", first.ID)
	x.do(chromedp.SendKeys(chromedp.ID(box), "I would say"))
	if _, _, err := s.board.Create(t.Context(), webtest.Ada, board.NewTask{Project: "shop", Title: "Nothing to see"}, ""); err != nil {
		t.Fatal(err)
	}
	second := s.ask(t, "And the link?")
	if d := x.soon(fmt.Sprintf("document.getElementById('%v')", second.ID), 5*time.Second); d > 2*time.Second {
		t.Errorf("the question appeared after %v", d)
	}
	if !x.is(fmt.Sprintf("document.activeElement.id === '%s' && document.activeElement.value === 'I would say'", box)) {
		t.Error("what was typed, or its focus, is lost")
	}
	// Somebody else answers: the text stays.
	if _, err := s.board.Answer(t.Context(), webtest.Ada, first.ID, "Red"); err != nil {
		t.Fatal(err)
	}
	x.soon(fmt.Sprintf("document.getElementById('%v').innerText.includes('Not open any more') && document.getElementById('%s').value === 'I would say'", first.ID, box), 5*time.Second)
	// An answer.
	x.do(chromedp.Click(chromedp.CSS(fmt.Sprintf("#%v button[value=Blue]", second.ID))), chromedp.WaitVisible(chromedp.ID("notice")))
	if q, err := s.board.Question(t.Context(), second.ID); err != nil || q.Answer != "Blue" || q.AnsweredAs != board.ByPerson {
		t.Errorf("Question = %+v, %v", q, err)
	}
	x.soon("!location.search.includes('said')", time.Second)
}

// TestLive_slowOnce: one slow answer does not keep a page from the next event for long.
func TestLive_slowOnce(t *testing.T) {
	s := newSite(t)
	x := open(t, s, "/inbox?project=shop")
	show := func(text string) time.Duration {
		t.Helper()
		return x.soon(fmt.Sprintf("document.getElementById('%v')", s.ask(t, text).ID), 10*time.Second)
	}
	s.slow.Store(1)
	show("Is this slow?")
	if d := show("And this?"); d > 3*time.Second { // half of it is the pause after a slow answer
		t.Errorf("after one slow answer the next question appeared after %v", d)
	}
}

// TestPhone: a risky permission is answered from a phone, beside all of its command.
func TestPhone(t *testing.T) {
	s := newSite(t)
	questions, err := s.board.Questions(t.Context(), board.QuestionFilter{State: board.QuestionOpen, Projects: []string{"shop"}})
	if err != nil {
		t.Fatal(err)
	}
	var q board.Question
	for _, q = range questions {
		if strings.Contains(q.Text, "prisma") {
			break
		}
	}
	x := open(t, s, "/?project=shop")
	if err := windows[2].set(x.ctx); err != nil {
		t.Fatal(err)
	}
	x.do(chromedp.Navigate(s.url+"/inbox?project=shop"), chromedp.WaitVisible(chromedp.ID("asks")))
	if x.is(fmt.Sprintf("document.querySelector('#%v button')", q.ID)) {
		t.Error("the list has a button for a risky permission")
	}
	x.do(chromedp.Click(chromedp.CSS(fmt.Sprintf("#%v .btn.go", q.ID))), chromedp.WaitVisible(chromedp.CSS("button[value=no]")))
	if !x.is("document.querySelector('.cmd').innerText === 'npx prisma migrate deploy' && document.querySelector('.facts').innerText.includes('/srv/shop.worktrees/')") {
		t.Error("the page lacks the command or its directory")
	}
	x.do(chromedp.SendKeys(chromedp.CSS("input[name=text]"), "Use the test database"), chromedp.Click(chromedp.CSS("button[value=no]")), chromedp.WaitVisible(chromedp.ID("notice")))
	if q, err := s.board.Question(t.Context(), q.ID); err != nil || q.Answer != "Use the test database" {
		t.Errorf("Question = %+v, %v", q, err)
	}
}

// TestPhone_unseen: a phone, too, says beside the decision that files were not shown.
func TestPhone_unseen(t *testing.T) {
	s := newSite(t)
	agent := board.Actor{Principal: "key:phone", Owner: "p-phone"}
	h, err := s.board.Next(t.Context(), agent, board.Wish{Projects: []string{"shop"}})
	if err != nil {
		t.Fatal(err)
	}
	diff := board.Diff{Base: strings.Repeat("a", 40), Tip: strings.Repeat("b", 40), Files: []board.FileDiff{{Path: "orders.sql", Kind: "A", Left: "large", Added: 4812}}}
	if _, err := s.board.Done(t.Context(), agent, h.Claim.Handle, board.Report{Summary: "The orders are there.", Diff: diff, Tip: board.Tip{Commit: diff.Tip, Tree: strings.Repeat("c", 40), Base: diff.Base}}); err != nil {
		t.Fatal(err)
	}
	x := open(t, s, "/?project=shop")
	if err := windows[2].set(x.ctx); err != nil {
		t.Fatal(err)
	}
	x.do(chromedp.Navigate(s.url+"/review/"+h.Task.ID.String()), chromedp.WaitVisible(chromedp.ID("decide")))
	if !x.is("document.querySelector('.decide b').textContent.startsWith('This page does not show') && document.querySelector('.decide b').checkVisibility()") {
		t.Error("the phone does not say it")
	}
}

// TestReconnect: a page says that it lost the server, and catches up when it is back.
func TestReconnect(t *testing.T) {
	s := newSite(t)
	x := open(t, s, "/inbox?project=shop")
	s.server.Close()
	x.soon("document.querySelector('#conn').innerText.includes('Reconnecting')", 10*time.Second)
	q := s.ask(t, "Where is the server?")
	time.Sleep(3 * time.Second)
	s.listen(t)
	x.soon(fmt.Sprintf("document.getElementById('%v') && document.querySelector('#conn').innerText === ''", q.ID), 30*time.Second)
}

// TestReconnect_tooMuch: a page that missed very many events says that it is back.
func TestReconnect_tooMuch(t *testing.T) {
	s := newSite(t)
	x := open(t, s, "/board?project=shop")
	s.server.Close()
	x.soon("document.querySelector('#conn').innerText.includes('Reconnecting')", 10*time.Second)
	for n := range 220 {
		if _, _, err := s.board.Create(t.Context(), webtest.Ada, board.NewTask{Project: "shop", Title: fmt.Sprint("Task ", n)}, ""); err != nil {
			t.Fatal(err)
		}
	}
	s.listen(t)
	x.soon("document.querySelector('#conn').innerText === '' && "+isLive, 30*time.Second)
}

// TestLive_refused: a page whose update failed tries again.
func TestLive_refused(t *testing.T) {
	s := newSite(t)
	x := open(t, s, "/inbox?project=shop")
	s.refused.Store(2)
	q := s.ask(t, "Is this seen?")
	x.soon(fmt.Sprintf("document.getElementById('%v')", q.ID), 10*time.Second)
}

// TestAnswered: what a form was answered stays in the page, with what was typed, also in a second tab.
func TestAnswered(t *testing.T) {
	s := newSite(t)
	first := open(t, s, "/inbox?project=shop")
	ctx, cancel := chromedp.NewContext(first.ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate(s.url+"/board/plan?project=shop")); err != nil {
		t.Fatal(err)
	}
	x := &tab{t, ctx, s}
	x.do(chromedp.SendKeys(chromedp.CSS("#planform textarea"), "# Goal\n- [ ] One\n"), chromedp.Click(chromedp.CSS("button[value=preview]")), chromedp.WaitVisible(chromedp.CSS("button[value=create]")))
	time.Sleep(2 * time.Second) // a tab without the stream looks once more
	if !x.is("document.querySelector('button[value=create]') && document.querySelector('#planform textarea').value.includes('One')") {
		t.Error("the preview is gone")
	}
}

// TestTabs: the tabs of a browser share one stream, and another one takes over when the tab
// that has it closes.
func TestTabs(t *testing.T) {
	s := newSite(t)
	first := open(t, s, "/inbox?project=shop")
	tabs := []*tab{first}
	for range 8 { // more than a browser opens connections to a host
		ctx, cancel := chromedp.NewContext(first.ctx)
		t.Cleanup(cancel)
		if err := chromedp.Do(ctx, chromedp.Navigate(s.url+"/inbox?project=shop")); err != nil {
			t.Fatal(err)
		}
		tabs = append(tabs, &tab{t, ctx, s})
	}
	for _, x := range tabs {
		x.soon(isLive, 5*time.Second)
	}
	seen := func(q board.Question, tabs []*tab) {
		for _, x := range tabs {
			x.soon(fmt.Sprintf("document.querySelector('#asks').innerHTML.includes('%v') || document.hidden", q.ID), 5*time.Second)
		}
	}
	seen(s.ask(t, "One?"), tabs)
	first.do(chromedp.Navigate("about:blank"))
	q := s.ask(t, "Two?")
	last := tabs[len(tabs)-1]
	last.soon("!document.hidden", time.Second)
	last.soon(fmt.Sprintf("document.querySelector('#asks').innerHTML.includes('%v')", q.ID), 5*time.Second)
}

// TestKeyboard: a person can do without a mouse.
func TestKeyboard(t *testing.T) {
	s := newSite(t)
	x := open(t, s, "/?project=shop")
	x.do(chromedp.KeyEvent("j"))
	x.soon("document.activeElement.closest('#needs > li:first-child')", time.Second)
	x.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("k"), chromedp.KeyEvent("\r"))
	x.soon("location.pathname.startsWith('/inbox/q-')", 5*time.Second)
	x.soon(isLive, 5*time.Second)
	x.do(chromedp.KeyEvent("?"))
	x.soon("document.querySelector('#help').open", time.Second)
	x.do(chromedp.KeyEvent("?"))
	x.soon("!document.querySelector('#help').open", time.Second)
	x.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("i"))
	x.soon("location.pathname === '/inbox'", 5*time.Second)
}

// TestWithoutScript: pages work without the script, and so do their forms.
func TestWithoutScript(t *testing.T) {
	s := newSite(t)
	q := s.ask(t, "Which colour has the button?")
	ctx := newBrowser(t)
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	x := &tab{t, ctx, s}
	x.do(chromedp.Navigate(s.url+s.door.Link()), chromedp.Click(chromedp.CSS("button.go")), chromedp.WaitVisible(chromedp.ID("shell")),
		chromedp.Navigate(s.url+"/inbox?project=shop"), chromedp.Click(chromedp.CSS(fmt.Sprintf("#%v button[value=Blue]", q.ID))), chromedp.WaitVisible(chromedp.ID("notice")))
	if q, err := s.board.Question(t.Context(), q.ID); err != nil || q.Answer != "Blue" {
		t.Errorf("Question = %+v, %v", q, err)
	}
}

// TestLinkFromElsewhere: somebody who is signed in follows a link of another site, and sees
// the page: the cookie is withheld from that request, and not from the reload.
func TestLinkFromElsewhere(t *testing.T) {
	s := newSite(t)
	x := open(t, s, "/?project=shop")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<a id="link" href="%s/inbox?project=shop">look</a>`, s.url)
	}))
	defer other.Close()
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	x.do(chromedp.Navigate(elsewhere), chromedp.Click(chromedp.ID("link")), chromedp.WaitVisible(chromedp.ID("asks")))
	// A stranger comes to the sign-in page.
	stranger := newBrowser(t)
	if err := chromedp.Do(stranger, chromedp.Navigate(elsewhere), chromedp.Click(chromedp.ID("link")), chromedp.WaitVisible(chromedp.CSS("main.door"))); err != nil {
		t.Fatal(err)
	}
}

// TestSignOut: after signing out the cookie is worth nothing, and open pages say so.
func TestSignOut(t *testing.T) {
	s := newSite(t)
	x := open(t, s, "/?project=shop")
	x.do(chromedp.Click(chromedp.CSS(".side footer form button")), chromedp.WaitVisible(chromedp.CSS("main.door")))
	x.do(chromedp.Navigate(s.url+"/inbox"), chromedp.WaitVisible(chromedp.CSS("main.door")))
	resp, err := http.Get(s.url + "/inbox")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !strings.HasPrefix(resp.Request.URL.Path, "/signin") {
		t.Errorf("a stranger is led to %s", resp.Request.URL)
	}
}
