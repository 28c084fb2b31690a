package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
)

// newReplicas starts several sites on one database.
func newReplicas(t *testing.T, n int) (list []*testSite, servers []*httptest.Server) {
	t.Helper()
	cluster := pgtest.Shared(t)
	db := cluster.Database(t)
	for range n {
		store := cluster.OpenIn(t, db, nil)
		s := &testSite{t: t, board: board.New(store, nil), keys: auth.New(store, nil)}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { _ = s.keys.Run(ctx); close(done) }()
		t.Cleanup(func() { cancel(); <-done })
		s.door = NewKeyDoor(s.keys, callers(s.board))
		if err := s.board.SetProject(t.Context(), board.Project{Slug: "shop", Policy: board.PolicyPerson}); err != nil {
			t.Fatal(err)
		}
		s.start(s.door, true)
		list, servers = append(list, s), append(servers, s.server)
	}
	return list, servers
}

// at lets a browser go to another replica, with the same session.
func (b *browser) at(s *testSite, session string) *browser {
	other := s.browser()
	other.headers.Set("Cookie", "bossman-"+port(s.url)+"="+session)
	return other
}

// TestReplicas: an event of one replica is seen on the pages of the others, a page that
// loses its replica misses nothing at another one, and a session ends on all of them.
func TestReplicas(t *testing.T) {
	sites, servers := newReplicas(t, 3)
	_, key := sites[0].key("ada", true, "shop", auth.Lead)
	b := sites[0].browser()
	if status, body := b.post("/signin", url.Values{"key": {key}}); status != http.StatusSeeOther {
		t.Fatalf("sign in = %d %s", status, body)
	}
	session := b.session()
	second, third := b.at(sites[1], session), b.at(sites[2], session)
	if status, _ := third.get("/"); status != http.StatusOK {
		t.Fatalf("GET / at another replica = %d", status)
	}
	l := second.listen(string(sites[1].hub.cursor()), "")
	l.want("event: ready")
	begun := time.Now()
	one := sites[0].task("shop", "one")
	last := ""
	for _, line := range l.want(one.String()) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			last = id
		}
	}
	if d := time.Since(begun); d > 3*time.Second { // on a busy machine; the goal is one
		t.Errorf("the event of another replica took %v", d)
	}
	servers[1].CloseClientConnections()
	two := sites[0].task("shop", "two")
	l = third.listen("", last)
	if got := strings.Join(l.want(two.String()), "\n"); strings.Contains(got, one.String()+`"`) {
		t.Errorf("at another replica the page gets %q after %q, want %v alone", got, last, two)
	}
	if status, body := b.send("/signout", url.Values{}); status != http.StatusSeeOther {
		t.Fatalf("sign out = %d %s", status, body)
	}
	begun = time.Now()
	l.want("event: signedout")
	if d := time.Since(begun); d > 8*time.Second {
		t.Errorf("the other replica ended the stream after %v", d)
	}
	if status, _ := third.get("/"); status != http.StatusSeeOther {
		t.Errorf("GET / at another replica after signing out = %d", status)
	}
}

// TestReplicas_claims: an event that gives nobody work wakes no replica, and pages are told soon nevertheless, also
// those that were opened just before.
func TestReplicas_claims(t *testing.T) {
	sites, _ := newReplicas(t, 2)
	const n = 4
	for range n {
		sites[0].task("shop", "x")
	}
	time.Sleep(followEvery) // until the hints of this are over
	l := sites[1].signedIn("ada", "shop", auth.Viewer).listen(string(sites[1].hub.cursor()), "")
	l.want("event: ready")
	begun := time.Now()
	for i := range n { // each right after the one before was told: the longest wait
		h, err := sites[0].board.Next(t.Context(), board.Actor{Principal: "key:x", Owner: "p-" + strconv.Itoa(i)}, board.Wish{Projects: []string{"shop"}})
		if err != nil {
			t.Fatal(err)
		}
		l.want(`"task":"` + h.Task.ID.String() + `","kind":"claimed"`)
	}
	if d := time.Since(begun); d > n*followEvery*2/3 {
		t.Errorf("%d claims were told within %v, one after the other", n, d)
	}
}

// A slowBoard reads its feed late.
type slowBoard struct{ *board.Board }

func (b slowBoard) Feed(ctx context.Context, projects []string, after board.Cursor, limit int) ([]board.Event, error) {
	time.Sleep(200 * time.Millisecond)
	return b.Board.Feed(ctx, projects, after, limit)
}

// TestReplicas_behind: a page is told of an event by one replica, and asks another one that has not heard of it yet.
// It gets the page with that event: nothing would make it ask again.
func TestReplicas_behind(t *testing.T) {
	sites, _ := newReplicas(t, 2)
	first, second := sites[0], sites[1]
	late, err := New(Options{Board: slowBoard{second.board}, Door: second.door})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { _ = late.Run(ctx); close(done) }()
	server := httptest.NewServer(late)
	t.Cleanup(func() { server.Close(); cancel(); <-done })
	second.Site, second.url = late, server.URL
	b := first.signedIn("ada", "shop", auth.Viewer)
	other := b.at(second, b.session())
	other.headers.Set("Bossman-Part", "main")
	l := b.listen(string(first.hub.cursor()), "")
	l.want("event: ready")
	for range 3 {
		if status, _ := other.get("/board?project=shop"); status != http.StatusOK { // rendered, and kept
			t.Fatalf("GET /board = %d", status)
		}
		id := first.task("shop", "new")
		lines := l.want(`"task":"` + id.String() + `"`)
		other.headers.Set("Bossman-After", strings.TrimPrefix(lines[len(lines)-2], "id: "))
		if _, body := other.get("/board?project=shop"); !strings.Contains(body, `id="t-`+id.String()+`"`) {
			t.Errorf("the other replica shows a board without %v", id)
		}
	}
	other.headers.Set("Bossman-After", "nonsense")
	begun := time.Now()
	if status, _ := other.get("/board?project=shop"); status != http.StatusOK || time.Since(begun) > 3*time.Second {
		t.Errorf("GET /board after nonsense = %d after %v", status, time.Since(begun))
	}
}
