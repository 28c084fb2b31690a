package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// create creates tasks in the project shop. Their priority is normal, unless it is high or low.
func (s *testSite) create(ns ...board.NewTask) (ids []board.ID) {
	s.t.Helper()
	person := board.Actor{Principal: "local", Name: "ada", Person: true}
	for _, n := range ns {
		if n.Project = "shop"; n.Priority == board.Urgent {
			n.Priority = board.Normal
		}
		t, _, err := s.board.Create(s.t.Context(), person, n, "")
		if err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, t.ID)
	}
	return ids
}

// section is the part of a page that has an id, up to the next section.
func section(body, id string) string {
	_, rest, _ := strings.Cut(body, `id="`+id+`"`)
	part, _, _ := strings.Cut(rest, "</section>")
	return part
}

// TestBoard_cancelled: a cancelled task has no column, and the board leads to it.
func TestBoard_cancelled(t *testing.T) {
	s := newTestSite(t, false)
	b := s.signedIn("ada", "shop", auth.Lead)
	ids := s.create(board.NewTask{Title: "Carousel"}, board.NewTask{Title: "Footer"})
	if _, body := b.get("/board"); strings.Contains(body, "cancelled") {
		t.Error("nothing is cancelled, and the board says so")
	}
	if _, err := s.board.Cancel(t.Context(), board.Actor{Principal: "local", Person: true}, ids[0], "", board.DependentsKeep); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/board":            `, <a href="/board?state=cancelled">1 cancelled</a>.`,
		"/board?q=Carousel": `0 open, 0 done, <a href="/board?q=Carousel&amp;state=cancelled">1 cancelled</a>.`,
		"/board?q=Footer":   "1 open, 0 done.",
	} {
		if _, body := b.get(path); !strings.Contains(body, want) {
			t.Errorf("GET %s lacks %q: %s", path, want, section(body, "main"))
		}
	}
}

// TestPosted: the script does not replace the answer to a form by the page at its address.
func TestPosted(t *testing.T) {
	s := newTestSite(t, false)
	b := s.signedIn("ada", "shop", auth.Lead)
	if _, body := b.get("/board/new"); strings.Contains(body, "data-posted") {
		t.Error("a page that answers no form says that it does")
	}
	if status, body := b.send("/board/new", url.Values{"title": {strings.Repeat("x", 300)}, "description": {"precious"}}); status != http.StatusUnprocessableEntity || !strings.Contains(body, " data-posted>") || !strings.Contains(body, "precious") {
		t.Errorf("POST /board/new = %d %s", status, body)
	}
}

// TestBoard_proposal: what an agent proposes counts as a need of the board, on all pages.
func TestBoard_proposal(t *testing.T) {
	s := newTestSite(t, false)
	s.inReview(board.Report{Summary: "Done.", FollowUps: []board.NewTask{{Title: "Mend the footer"}}})
	b := s.signedIn("ada", "shop", auth.Lead)
	_, body := b.get("/")
	if !strings.Contains(body, "<title>(2) ") || !strings.Contains(body, "2 things need you") {
		t.Errorf("the title and the page differ: %.300s", body)
	}
}

// TestBoard_columns: each task is in the column of its state, and what needs a person is
// marked there.
func TestBoard_columns(t *testing.T) {
	s := newTestSite(t, false)
	s.ask(board.NewQuestion{Text: "Which cart wins?", Blocking: new(true)})
	ids := s.create(board.NewTask{Title: "Ready one", Priority: board.High}, board.NewTask{Title: "Held one", Hold: true})
	s.create(board.NewTask{Title: "Blocked one", DependsOn: ids[:1]})
	b := s.signedIn("ada", "shop", auth.Lead)
	status, body := b.get("/board")
	if status != http.StatusOK {
		t.Fatalf("GET /board = %d %s", status, body)
	}
	for id, want := range map[string][]string{
		"c-ready": {"Ready one", "high"}, "c-held": {"Held one"}, "c-blocked": {"Blocked one", "waits for 1 task"},
		"c-progress": {"Guest checkout", "tile you", "question", "need you"},
	} {
		part := section(body, id)
		for _, w := range want {
			if !strings.Contains(part, w) {
				t.Errorf("the column %s lacks %q: %s", id, w, part)
			}
		}
	}
	for path, want := range map[string]string{"/board?q=HELD": "Held one", "/board?state=blocked": "Blocked one", "/board?state=held": "Held one", "/board?worker=nobody": "None matches"} {
		_, body := b.get(path)
		if !strings.Contains(body, want) || strings.Contains(body, ">Ready one<") {
			t.Errorf("GET %s lacks %q, or has another task", path, want)
		}
	}
	if resp, _ := b.do(http.MethodGet, "/board?q=shop-2", nil); resp.Header.Get("Location") != "/task/shop-2" {
		t.Errorf("a search for an id leads to %q", resp.Header.Get("Location"))
	}
	if resp, _ := b.do(http.MethodGet, "/board?q=api-2", nil); resp.StatusCode != http.StatusOK {
		t.Errorf("a search for an id of another project = %d", resp.StatusCode)
	}
	for _, path := range []string{"/board?state=nonsense", "/board?state=all&after=api-1", "/board?state=all&after=x"} {
		if status, _ := b.get(path); status != http.StatusNotFound {
			t.Errorf("GET %s = %d", path, status)
		}
	}
}

// TestBoard_many: a board with many tasks shows a bounded number, and lists lead through all.
func TestBoard_many(t *testing.T) {
	s := newTestSite(t, false)
	person := board.Actor{Principal: "local", Name: "ada", Person: true}
	long := strings.Repeat("very ", 38) + "long"
	for range 5 {
		p := board.Plan{Project: "shop", Goal: "Many"}
		for i := range 300 {
			p.Tasks = append(p.Tasks, board.PlanTask{Key: fmt.Sprint(i), NewTask: board.NewTask{Title: long, Hold: i%3 == 0}})
			if i%3 == 1 {
				p.Tasks[i].After = []string{fmt.Sprint(i - 1)}
			}
		}
		if _, err := s.board.CreatePlan(t.Context(), person, p); err != nil {
			t.Fatal(err)
		}
	}
	b := s.signedIn("ada", "shop", auth.Lead)
	_, body := b.get("/board")
	if len(body) > 100<<10 || !strings.Contains(body, "494 more") {
		t.Errorf("the board has %d bytes", len(body))
	}
	for _, state := range []string{"ready", "held", "blocked"} {
		seen, path := map[string]bool{}, "/board?state="+state
		for range 20 {
			_, body = b.get(path)
			if len(body) > 200<<10 {
				t.Errorf("GET %s has %d bytes", path, len(body))
			}
			for _, part := range strings.Split(body, `<tr id="r-`)[1:] {
				id, _, _ := strings.Cut(part, `"`)
				seen[id] = true
			}
			_, next, ok := strings.Cut(body, `From the start</a>`)
			if !ok {
				_, next, _ = strings.Cut(body, `aria-label="Pages"`)
			}
			_, next, ok = strings.Cut(next, `href="`)
			if !ok {
				break
			}
			next, _, _ = strings.Cut(next, `"`)
			path = strings.ReplaceAll(next, "&amp;", "&")
		}
		if len(seen) != 500 {
			t.Errorf("the pages of %s list %d tasks, want 500", state, len(seen))
		}
	}
}

func TestBoard_filled(t *testing.T) {
	s := newFilledSite(t)
	b := s.signedIn("ada", auth.EveryProject, auth.Lead)
	for _, path := range []string{"/board", "/board?project=shop", "/board?q=checkout", "/board?state=done", "/board?" + url.Values{"q": {"a"}, "skill": {"go"}}.Encode()} {
		if status, body := b.get(path); status != http.StatusOK || len(body) > 200<<10 {
			t.Errorf("GET %s = %d, %d bytes", path, status, len(body))
		}
	}
}
