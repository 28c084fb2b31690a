package web

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// claimed and over are the events of an attempt.
func claimed(id board.ID, attempt int, worker string, at time.Time) board.Event {
	return board.Event{Task: id, Seq: int64(10 * attempt), At: at, Kind: board.EventClaimed, From: board.Pending, To: board.InProgress, Detail: board.Detail{Attempt: attempt, Worker: worker, Where: board.Where{Client: "claude-code"}}}
}

func over(id board.ID, attempt int, kind board.Kind, to board.Status, at time.Time) board.Event {
	return board.Event{Task: id, Seq: int64(10*attempt + 5), At: at, Kind: kind, From: board.InProgress, To: to, Detail: board.Detail{Attempt: attempt, Text: "because"}}
}

// TestHistory_anyOrder: the past is read while events arrive, so they come in any order and
// more than once.
func TestHistory_anyOrder(t *testing.T) {
	now := time.Now()
	id, other := board.ID{Project: "shop", No: 7}, board.ID{Project: "shop", No: 8}
	at := func(m int) time.Time { return now.Add(time.Duration(m-200) * time.Minute) }
	events := []board.Event{
		claimed(id, 1, "otter-7", at(0)), over(id, 1, board.EventExpired, board.Pending, at(30)),
		claimed(id, 2, "wren-6", at(40)), over(id, 2, board.EventFailed, board.Pending, at(60)),
		claimed(id, 3, "otter-7", at(70)), over(id, 3, board.EventReview, board.InReview, at(90)),
		claimed(other, 1, "wren-6", at(100)),
		{Task: id, Seq: 90, At: at(95), Kind: board.EventAccepted, From: board.InReview, To: board.Landing, Actor: "ada", Detail: board.Detail{Attempt: 3, By: board.ByPerson}},
		{Task: other, Seq: 91, At: at(97), Kind: board.EventReturned, From: board.Landing, To: board.Pending, Detail: board.Detail{Attempt: 1, Returned: &board.Returned{Kind: board.ReturnConflict}}},
	}
	want := map[string]outcome{"shop-7/1": expired, "shop-7/2": failed, "shop-7/3": reached, "shop-8/1": running}
	for seed := range uint64(20) {
		h := newHistory()
		list := append(slices.Clone(events), events...)
		r := rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, e := range list {
			h.add(e)
		}
		got := map[string]outcome{}
		for _, x := range h.between([]string{"shop"}, at(-1), now) {
			got[fmt.Sprintf("%v/%d", x.Task, x.Attempt)] = x.How
			if x.Worker == "" || x.Begin.IsZero() {
				t.Errorf("seed %d: %+v lacks its worker or beginning", seed, x)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("seed %d: attempts = %v, want %v", seed, got, want)
		}
		if n, m := len(h.actsOf([]string{"shop"})), len(h.sentBack("shop")); n != 1 || m != 1 {
			t.Errorf("seed %d: %d acts and %d returns, want 1 and 1", seed, n, m)
		}
		if len(h.between([]string{"api"}, at(-1), now)) != 0 || len(h.actsOf([]string{"api"})) != 0 {
			t.Error("another project has attempts")
		}
	}
}

func TestTimeline_filled(t *testing.T) {
	s := newFilledSite(t)
	b := s.signedIn("ada", auth.EveryProject, auth.Lead)
	lost := board.ID{Project: "shop", No: 9999}
	s.history.add(claimed(lost, 8, "zebra-1", time.Now().Add(-18*time.Hour)))
	s.history.add(over(lost, 8, board.EventExpired, board.Pending, time.Now().Add(-8*time.Hour)))
	s.history.add(claimed(lost, 9, "zebra-2", time.Now().Add(-7*time.Hour)))
	s.history.add(over(lost, 9, board.EventReview, board.InReview, time.Now().Add(-6*time.Hour)))
	_, body := b.get("/timeline?span=24h")
	for _, want := range []string{" attempts by ", "shop-9999, attempt 8: lease ran out after 10 h", "zebra-1 fell silent; zebra-2 went on", `class="overs"`, `class="b run"`, `class="b lost"`, "landed shop-", "Where time was lost", `href="/task/shop-`, "waiting for you"} {
		if !strings.Contains(body, want) {
			t.Errorf("the timeline lacks %q", want)
		}
	}
	_, short := b.get("/timeline?span=1h")
	if strings.Contains(short, "lease ran out after") || !strings.Contains(short, "Earlier") {
		t.Error("the last hour shows what was before")
	}
	_, trouble := b.get("/timeline?span=24h&show=trouble")
	if strings.Count(trouble, `<li class="lane">`) >= strings.Count(body, `<li class="lane">`) {
		t.Error("only trouble shows as many lanes as everything")
	}
	end := fmt.Sprint(time.Now().Add(-6 * time.Hour).Unix())
	if status, past := b.get("/timeline?end=" + end); status != http.StatusOK || strings.Contains(past, "nowline") || !strings.Contains(past, ">Later</a>") {
		t.Errorf("a span in the past = %d", status)
	}
	for _, bad := range []string{"end=x", "end=-1", "end=99999999999999999999", "span=9y", "show=%3Cscript%3E", "end=1"} {
		if status, _ := b.get("/timeline?" + bad); status != http.StatusOK {
			t.Errorf("GET /timeline?%s = %d", bad, status)
		}
	}
	_, landing := b.get("/landing?project=shop")
	for _, want := range []string{"Landing on <code>main</code>", "Conflict with shop-1", "It counts as a failure.", "checks 2 tasks together", "from accepted to landed", "it conflicts for the third time"} {
		if !strings.Contains(landing, want) {
			t.Errorf("the landing page lacks %q", want)
		}
	}
	if viewer := s.signedIn("eve", "shop", auth.Viewer); true {
		if _, body := viewer.get("/landing"); strings.Contains(body, "#return") {
			t.Error("a viewer is offered to return work")
		}
	}
	for _, page := range []string{body, landing} {
		if len(page) > 200<<10 {
			t.Errorf("a page has %d bytes", len(page))
		}
	}
}

// TestTimeline_bounded: the page stays small however much happened, and short attempts have
// a link to a closer look.
func TestTimeline_bounded(t *testing.T) {
	s := newTestSite(t, false)
	now := time.Now()
	for w := range 60 {
		for i := range 150 {
			id := board.ID{Project: "shop", No: int64(1 + w*150 + i)}
			at := now.Add(-time.Duration(160-i) * time.Hour)
			s.history.add(claimed(id, 1, fmt.Sprintf("otter-%d", w), at))
			s.history.add(over(id, 1, board.EventReview, board.InReview, at.Add(20*time.Minute)))
		}
	}
	b := s.signedIn("ada", "shop", auth.Lead)
	for _, span := range []string{"1h", "6h", "24h", "7d"} {
		status, body := b.get("/timeline?span=" + span)
		if status != http.StatusOK || len(body) > 200<<10 {
			t.Errorf("span %s = %d with %d bytes", span, status, len(body))
		}
		if span == "7d" && (!strings.Contains(body, "look closer") || !strings.Contains(body, "span=24h")) {
			t.Error("attempts that are too short to be seen lead nowhere")
		}
		if !strings.Contains(body, "more agents worked") && span == "7d" {
			t.Error("the page does not say that there are more agents")
		}
	}
}

func TestAdmin_scope(t *testing.T) {
	s := newTestSite(t, false)
	s.o.Directory = s.keys
	s.key("carol", false, "shop", auth.Worker)
	s.key("dora", false, "api", auth.Worker)
	s.key("root", true, auth.EveryProject, auth.Admin)
	boss := s.signedIn("boss", "shop", auth.Admin)
	for _, tab := range []string{"", "people", "projects", "audit"} {
		status, body := boss.get("/admin?tab=" + tab)
		if status != http.StatusOK || strings.Contains(body, "dora") || strings.Contains(body, "root") || strings.Contains(body, ">api<") {
			t.Errorf("tab %q for an administrator of the shop = %d, and it may show more", tab, status)
		}
		if tab != "projects" && !strings.Contains(body, "carol") {
			t.Errorf("tab %q lacks carol", tab)
		}
		all := s.signedIn("root", auth.EveryProject, auth.Admin)
		if _, body := all.get("/admin?tab=" + tab); tab != "projects" && (!strings.Contains(body, "dora") || !strings.Contains(body, "root")) {
			t.Errorf("tab %q for an administrator of everything lacks something", tab)
		}
		for role := auth.Viewer; role < auth.Admin; role++ {
			if status, _ := s.signedIn("p"+role.String(), "shop", role).get("/admin?tab=" + tab); status != http.StatusForbidden {
				t.Errorf("tab %q as %v = %d", tab, role, status)
			}
		}
	}
	_, body := boss.get("/admin")
	for _, k := range []string{"bossman_", "Hash"} {
		if strings.Contains(body, k) {
			t.Errorf("the page has %q", k)
		}
	}
	if status, _ := boss.send("/admin", url.Values{"act": {"pause"}, "project": {"shop"}}); status != http.StatusSeeOther {
		t.Errorf("pause = %d", status)
	}
	if p, err := s.board.Project(t.Context(), "shop"); err != nil || p.PausedBy == "" {
		t.Errorf("the project is paused by %q, %v", p.PausedBy, err)
	}
	if _, body := boss.get("/admin?tab=projects"); !strings.Contains(body, "paused by boss") {
		t.Error("the page does not say who paused it")
	}
	if status, _ := boss.send("/admin", url.Values{"act": {"resume"}, "project": {"shop"}}); status != http.StatusSeeOther {
		t.Errorf("resume = %d", status)
	}
	if status, _ := boss.send("/admin", url.Values{"act": {"pause"}, "project": {"api"}}); status != http.StatusNotFound {
		t.Errorf("pause of another project = %d", status)
	}
	if status, _ := boss.post("/admin", url.Values{"act": {"pause"}, "project": {"shop"}, "token": {"AAAA"}}); status != http.StatusForbidden {
		t.Errorf("pause with a forged token = %d", status)
	}
	s.o.Directory = nil
	if _, body := boss.get("/admin"); !strings.Contains(body, "This board has no keys") {
		t.Error("a board without keys does not say so")
	}
}
