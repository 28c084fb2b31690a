package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
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
		s.door = NewKeyDoor(s.keys, s.board)
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
	if d := time.Since(begun); d > 2*time.Second { // on a busy machine; the goal is one
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
