package web

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// shipping is the work of an agent: lines that a person has something to say about.
const shipping = "package shipping\n\nconst free = 4900\n\nfunc Free(total int) bool {\n\treturn total >= free\n}\n"

// review: a person comments on two lines of an agent's work and sends it back, and the next attempt is told both. It is
// accepted, a lander on another laptop lands it, and the page of the queue shows it; other work is returned from the queue.
func (s *teamSite) review(x *tab) {
	t := x.t
	ada := s.Laptop(t, s.person, "api")
	origin := filepath.Join(filepath.Dir(ada.Dir), "origin.git")
	config, err := os.ReadFile(filepath.Join(ada.Dir, ".bossman", "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ada.Dir, ".bossman", "config.toml"), append(config, "[check]\ncommand = \"test -f README.md\"\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	harness.Git(t, ada.Dir, "commit", "-q", "-a", "-m", "check")
	harness.Git(t, ada.Dir, "clone", "-q", "--bare", ada.Dir, origin)
	harness.Git(t, ada.Dir, "remote", "add", "origin", origin)
	harness.Git(t, ada.Dir, "fetch", "-q", "origin")
	ada.Run(t, "trust", "--yes")
	ada.Run(t, "project", "set", "api", "--land", "origin/main")

	id := x.newTask(s.URL(), "api", "Free shipping from 49")
	there := s.clone(t, origin)
	w := s.start(t, there.home, there.dir)
	claim, _ := w.take(id)
	branch := there.commit(t, "free-shipping", "shipping.go", shipping)
	w.report(claim, branch)
	x.soon("document.querySelector('.task-top .state')?.innerText.includes('Review')", 10*time.Second)

	x.show(s.URL() + "/review/" + id.String())
	for i, c := range []struct {
		line int
		text string
	}{{3, "Say which currency."}, {6, "Vouchers are taken off after this."}} {
		link := fmt.Sprintf(`a.talkon[href*="on=1.%d#"]`, c.line)
		x.soon(fmt.Sprintf("(a => a && (a.scrollIntoView({block: 'center'}), true))(document.querySelector('%s'))", link), 3*time.Second)
		x.do(chromedp.Click(chromedp.CSS(link)))
		x.soon("document.activeElement.id === 'say-text'", 5*time.Second)
		x.do(chromedp.SendKeys(chromedp.ID("say-text"), c.text), chromedp.Click(chromedp.CSS("#say button")))
		x.soon(fmt.Sprintf("document.querySelectorAll('.diff [data-talk]').length === %d && !document.querySelector('#say')", i+1), 5*time.Second)
		x.soon(isLive, 5*time.Second)
	}
	x.do(chromedp.Click(chromedp.CSS(`button[value="reject"]`)))
	x.soon("location.pathname === '/review' && document.querySelector('#notice')", 5*time.Second)

	claim, text := w.take(id)
	for _, want := range []string{"shipping.go:3", "Say which currency.", "shipping.go:6", "Vouchers are taken off after this."} {
		if !strings.Contains(text, want) {
			t.Errorf("the next attempt is not told %q:\n%s", want, text)
		}
	}
	there.commit(t, branch, "shipping.go", strings.Replace(shipping, "free = 4900", "free = 4900 // cents", 1))
	x.show(s.URL() + "/review")
	w.report(claim, branch)
	x.soon(fmt.Sprintf("document.querySelector('#main a[href^=\"/review/%v\"]')", id), 10*time.Second)

	s.land(x, ada.Run, id)
	s.returned(x, w, there)
}

// report reports work on a branch.
func (w *worker) report(claim, branch string) {
	w.t.Helper()
	got := w.call("report_task_done", map[string]any{"claim": claim, "summary": "Orders from 49 ship free.", "branch": branch})
	if got.Status != string(board.InReview) {
		w.t.Fatalf("report_task_done = %s", got.Text)
	}
}

// accept accepts work that is in review.
func (s *teamSite) accept(x *tab, id board.ID) {
	x.t.Helper()
	x.show(s.URL() + "/review/" + id.String())
	x.do(chromedp.Click(chromedp.CSS(`button[value="accept"]`)))
	x.soon("location.pathname === '/review' && document.querySelector('#notice')", 5*time.Second)
}

// land accepts work, and lets a laptop land it.
func (s *teamSite) land(x *tab, run func(testing.TB, ...string) string, id board.ID) {
	x.t.Helper()
	s.accept(x, id)
	x.show(s.URL() + "/landing?project=api")
	x.soon(fmt.Sprintf("document.querySelector('#q-%v')", id), 5*time.Second)
	begun := time.Now()
	said := run(x.t, "land")
	if !strings.Contains(said, id.String()+"  landed") {
		x.t.Fatalf("bossman land says:\n%s", said)
	}
	took := time.Since(begun)
	begun = time.Now()
	x.soon(fmt.Sprintf("!document.querySelector('#q-%v') && document.querySelector('[aria-label=\"Landed last\"]')?.innerText.includes('%v')", id, id), 10*time.Second)
	shown := time.Since(begun)
	x.t.Logf("landed in %v, shown %v after bossman land had ended", took, shown)
	if shown > aSecond {
		x.t.Errorf("the page showed the landing after %v, want %v", shown, aSecond)
	}
	x.show(s.URL() + "/task/" + id.String())
	x.soon("document.querySelector('.task-top .state')?.innerText === 'Done' && document.querySelector('#result').innerText.includes('Landed with')", 5*time.Second)
}

// returned: a person takes accepted work out of the queue, and the next attempt is told why.
func (s *teamSite) returned(x *tab, w *worker, there laptop) {
	x.t.Helper()
	id := x.newTask(s.URL(), "api", "Round prices")
	claim, _ := w.take(id)
	w.report(claim, there.commit(x.t, "round", "round.go", "package shipping\n\nfunc Round(n int) int { return n / 100 * 100 }\n"))
	s.accept(x, id)
	x.show(s.URL() + "/landing?project=api")
	x.do(chromedp.Click(chromedp.CSS(fmt.Sprintf("#q-%v .btn", id))), chromedp.WaitVisible(chromedp.CSS("#return")))
	x.soon(isLive, 5*time.Second)
	x.do(chromedp.SendKeys(chromedp.CSS("#return textarea"), "The tax office wants cents."), chromedp.Click(chromedp.CSS("#return button")))
	x.soon("location.pathname === '/landing' && document.querySelector('#notice')", 5*time.Second)
	if _, text := w.take(id); !strings.Contains(text, "The tax office wants cents.") {
		x.t.Errorf("the next attempt is not told why:\n%s", text)
	}
	x.soon(fmt.Sprintf("!document.querySelector('#q-%v')", id), 5*time.Second)
}
