package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bossman-dev/bossman/board"
)

// TestCreate creates a task by its form: the page shows within a second that an agent has
// taken it, and a person takes it back.
func TestCreate(t *testing.T) {
	s := newSite(t)
	x := open(t, s, "/board?project=api")
	x.do(chromedp.Navigate(s.url+"/board/new?project=api"), chromedp.SendKeys(chromedp.ID("t-title"), "Guest checkout keeps the cart"), chromedp.SendKeys(chromedp.ID("t-desc"), "Keep **the cart**."), chromedp.Click(chromedp.CSS("#taskform .go")),
		chromedp.WaitVisible(chromedp.ID("spec")))
	x.soon(isLive, 5*time.Second)
	path, err := chromedp.Run(x.ctx, chromedp.Evaluate[string]("location.pathname"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := board.ParseID(strings.TrimPrefix(path, "/task/"))
	if err != nil {
		t.Fatalf("the form leads to %s", path)
	}
	h, err := s.board.Next(t.Context(), board.Actor{Principal: "key:late", Owner: "p-late"}, board.Wish{Projects: []string{"api"}, Task: id})
	if err != nil || h.Task.ID != id {
		t.Fatalf("Next(%v) = %v, %v", id, h, err)
	}
	if d := x.soon(fmt.Sprintf("document.querySelector('#facts')?.innerText.includes('%s')", h.Claim.Worker.Name), 5*time.Second); d > 2*time.Second { // a second, and a busy machine
		t.Errorf("the page took %v to show the agent", d)
	}
	x.do(chromedp.Click(chromedp.CSS("#act-release summary")), chromedp.SendKeys(chromedp.ID("x-release"), "I do it myself"), chromedp.Click(chromedp.CSS("#act-release button")), chromedp.WaitVisible(chromedp.ID("notice")))
	x.soon("document.querySelector('#notice').innerText.includes('No failure was counted')", time.Second)
	if d, err := s.board.Get(t.Context(), id, 0); err != nil || d.Task.Status != board.Pending {
		t.Errorf("the task is %v, %v", d.Task.State(), err)
	}
}

// TestPlan shows a plan, and creates it.
func TestPlan(t *testing.T) {
	s := newSite(t)
	x := open(t, s, "/board?project=api")
	x.do(chromedp.Navigate(s.url+"/board/plan?project=api"), chromedp.SendKeys(chromedp.ID("p-text"), "# Express checkout\n- [ ] Schema {key: schema}\n- [ ] Page {after: schema}\n"),
		chromedp.Click(chromedp.CSS("#planform button")), chromedp.WaitVisible(chromedp.CSS("#preview .graph")), chromedp.Click(chromedp.CSS("#preview .go")), chromedp.WaitVisible(chromedp.ID("notice")))
	found, err := s.board.List(t.Context(), board.TaskFilter{Projects: []string{"api"}, Query: "schema"})
	if err != nil || len(found) != 1 {
		t.Errorf("the board has %d tasks of the plan, %v", len(found), err)
	}
}
