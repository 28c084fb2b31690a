package web

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/web/webtest"
)

// TestReview: two comments on lines, written in place, go to the next attempt; the keyboard
// leads from comment to comment.
func TestReview(t *testing.T) {
	s := newSite(t)
	waiting, err := s.board.List(t.Context(), board.TaskFilter{Projects: []string{"shop"}, Statuses: []board.Status{board.InReview}})
	if err != nil || len(waiting) == 0 {
		t.Fatal("nothing is in review", err)
	}
	id := waiting[0].ID
	line := firstLine(t, s, id)
	x := open(t, s, "/review/"+id.String())
	for i, text := range []string{"Use the total after vouchers.", "This belongs in the config."} {
		x.soon(isLive, 5*time.Second)
		x.soon(fmt.Sprintf(`(a => a && (a.scrollIntoView({block: 'center'}), true))(document.querySelector('a.talkon[href*="on=1.%d#"]'))`, line+1+i), time.Second)
		x.do(chromedp.Click(chromedp.CSS(fmt.Sprintf(`a.talkon[href*="on=1.%d#"]`, line+1+i))))
		x.soon("document.activeElement.id === 'say-text'", 3*time.Second)
		if i == 0 { // what is typed survives what others do meanwhile
			x.do(chromedp.SendKeys(chromedp.ID("say-text"), text))
			if err := s.board.Comment(t.Context(), webtest.Ada, id, []board.Comment{{File: "README.md", Text: "Say so in the changes."}}); err != nil {
				t.Fatal(err)
			}
			x.soon("document.body.innerText.includes('Say so in the changes.')", 3*time.Second)
			if !x.is("document.activeElement.id === 'say-text' && document.querySelector('#say-text').value === 'Use the total after vouchers.'") {
				t.Error("the text of the comment was lost when another comment came")
			}
		} else {
			x.do(chromedp.SendKeys(chromedp.ID("say-text"), text))
			// A verdict does not lose a comment that is not added yet.
			x.do(chromedp.KeyEvent("\u001b"), chromedp.KeyEvent("a"), chromedp.KeyEvent("\r"))
			x.soon("document.querySelector('#say [role=alert]') && document.activeElement.id === 'say-text'", 3*time.Second)
			if !x.is(fmt.Sprintf("document.querySelector('#say-text').value === %q", text)) {
				t.Error("the text of the comment was lost at a verdict")
			}
		}
		x.do(chromedp.Click(chromedp.CSS("#say button")))
		x.soon(fmt.Sprintf("document.querySelector('.diff [data-talk]') && document.body.innerText.includes('%s') && !document.querySelector('#say')", text), 5*time.Second)
	}
	x.soon(isLive, 5*time.Second)
	x.do(chromedp.KeyEvent("n"))
	x.soon("document.activeElement.matches('[data-talk]')", time.Second)
	x.do(chromedp.KeyEvent("n"), chromedp.KeyEvent("p"), chromedp.KeyEvent("r"))
	x.soon("document.activeElement.textContent.includes('Send back with 3 comments')", time.Second)
	x.do(chromedp.KeyEvent("\r"))
	x.soon("location.pathname === '/review' && document.querySelector('#notice')", 5*time.Second)
	h, err := s.board.Next(t.Context(), board.Actor{Principal: "key:next", Owner: "p-next"}, board.Wish{Projects: []string{"shop"}, Task: id})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.board.Get(t.Context(), h.Task.ID, 50)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(d.Events) // an earlier attempt may have been rejected, too
	told := slices.IndexFunc(d.Events, func(e board.Event) bool { return e.Kind == board.EventRejected })
	if told < 0 || len(d.Events[told].Detail.Comments) != 3 || d.Events[told].Detail.Comments[1].Line != line+1 {
		t.Errorf("the next attempt gets %+v", d.Events)
	}
}

// TestReview_unseen: a comment that came while the page was open keeps the work from being
// accepted, although the page shows it by now.
func TestReview_unseen(t *testing.T) {
	s := newSite(t)
	waiting, err := s.board.List(t.Context(), board.TaskFilter{Projects: []string{"shop"}, Statuses: []board.Status{board.InReview}})
	if err != nil || len(waiting) == 0 {
		t.Fatal("nothing is in review", err)
	}
	id := waiting[0].ID
	x := open(t, s, "/review/"+id.String())
	if err := s.board.Comment(t.Context(), webtest.Ada, id, []board.Comment{{File: "README.md", Text: "Wait for me."}}); err != nil {
		t.Fatal(err)
	}
	x.soon("document.body.innerText.includes('Wait for me.')", 3*time.Second)
	x.do(chromedp.KeyEvent("a"), chromedp.KeyEvent("\r"))
	x.soon("document.querySelector('#decide [role=alert]')", 5*time.Second)
	x.soon(isLive, 5*time.Second)
	x.do(chromedp.KeyEvent("a"), chromedp.KeyEvent("\r"))
	x.soon("document.querySelector('#notice')", 5*time.Second)
	if d, err := s.board.Get(t.Context(), id, 0); err != nil || d.Task.Status != board.Landing {
		t.Errorf("the task is %v, %v", d.Task.Status, err)
	}
}
