package oauth

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// counted counts how often the person is asked.
func counted(n *atomic.Int32) func(context.Context, string) (string, error) {
	return func(ctx context.Context, address string) (string, error) {
		n.Add(1)
		return agree(ctx, address)
	}
}

// The person is not asked again because an authorization server is away.
func TestTransport_refreshFails(t *testing.T) {
	w := newWorld(t)
	w.as[0].expires = 1
	w.as[0].answer = func(form url.Values) (int, any) {
		if form.Get("grant_type") == "refresh_token" {
			return http.StatusServiceUnavailable, nil
		}
		return 0, nil
	}
	var people atomic.Int32
	c := w.client(Options{Authorize: counted(&people)})
	for range 3 {
		if got := w.visit(c); got != ok { // the server still takes the token
			t.Fatalf("visit = %s", got)
		}
	}
	clear(w.as[0].good)
	if got := w.visit(c); !strings.Contains(got, "503") {
		t.Errorf("visit = %s, want 503", got)
	}
	if people.Load() != 1 {
		t.Errorf("asked %d times, want once", people.Load())
	}
}

// Where a challenge said that the metadata is, it is looked for later as well.
func TestTransport_metadataElsewhere(t *testing.T) {
	w := newWorld(t)
	w.noPRM, w.header = true, w.server.URL+"/prm"
	w.as[0].expires = 1
	var people atomic.Int32
	c := w.client(Options{Authorize: counted(&people)})
	for range 2 {
		if got := w.visit(c); got != ok {
			t.Fatalf("visit = %s", got)
		}
	}
	if len(w.strays) > 0 || people.Load() != 1 || len(w.as[0].forms) != 2 {
		t.Errorf("asked at %q, the person %d times, for %d tokens", w.strays, people.Load(), len(w.as[0].forms))
	}
}

// What was given to one client is not used by another.
func TestTransport_clientsApart(t *testing.T) {
	w := newWorld(t)
	store := &Memory{}
	for _, id := range []string{"a", "b", "a"} {
		o := Options{Store: store, Grant: ClientCredentials{}, ClientID: id, ClientSecret: "s"}
		if got := w.visit(w.client(o)); got != ok {
			t.Fatalf("visit = %s", got)
		}
	}
	if n := len(w.as[0].forms); n != 3 {
		t.Errorf("asked for %d tokens, want one for each client in turn", n)
	}
	// Nor does it take away what another was registered as.
	other := w.client(Options{Store: store})
	if got := w.visit(other); got != ok {
		t.Fatalf("visit = %s", got)
	}
	if got := w.visit(w.client(Options{Store: store, Grant: ClientCredentials{}, ClientID: "c", ClientSecret: "s"})); got != ok {
		t.Fatalf("visit = %s", got)
	}
	if got := w.visit(w.client(Options{Store: store})); got != ok || w.as[0].clients != 1 {
		t.Errorf("visit = %s, registered %d times", got, w.as[0].clients)
	}
}

// Servers that share an authorization server and a store keep what each was given.
func TestTransport_sharedStore(t *testing.T) {
	one, two := newWorld(t), newWorld(t)
	two.as = one.as
	store := &Memory{}
	waits, goOn := make(chan struct{}), make(chan struct{})
	slow := one.client(Options{Store: store, Authorize: func(ctx context.Context, address string) (string, error) {
		close(waits)
		<-goOn
		return agree(ctx, address)
	}})
	done := make(chan string)
	go func() { done <- one.visit(slow) }()
	<-waits
	if got := two.visit(two.client(Options{Store: store})); got != ok {
		t.Fatalf("visit = %s", got)
	}
	close(goOn)
	if got := <-done; got != ok {
		t.Fatalf("visit = %s", got)
	}
	record, err := store.Load(t.Context(), one.as[0].URL)
	if err != nil || len(record.Tokens) != 2 {
		t.Errorf("kept %d tokens, %v; want both", len(record.Tokens), err)
	}
}

// A registration ends, by itself or because the authorization server forgets it.
func TestTransport_registrationEnds(t *testing.T) {
	w := newWorld(t)
	store := &Memory{}
	if got := w.visit(w.client(Options{Store: store})); got != ok {
		t.Fatalf("visit = %s", got)
	}
	as := w.as[0]
	record, err := store.Load(t.Context(), as.URL)
	if err != nil {
		t.Fatal(err)
	}
	record.Client.SecretExpires = time.Now().Add(-time.Hour).Unix()
	record.Tokens = nil
	if err := store.Save(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if got := w.visit(w.client(Options{Store: store})); got != ok || as.clients != 2 {
		t.Errorf("visit = %s, registered %d times, want 2", got, as.clients)
	}
	clear(as.good)
	as.answer = func(form url.Values) (int, any) {
		if strings.HasPrefix(form.Get("client_id"), "client-2-") {
			return http.StatusUnauthorized, Error{Code: "invalid_client"}
		}
		return 0, nil
	}
	if got := w.visit(w.client(Options{Store: store})); got != ok || as.clients != 3 {
		t.Errorf("visit = %s, registered %d times, want 3", got, as.clients)
	}
}

// A program that waits elsewhere for the person than last time is still known.
func TestTransport_anotherRedirect(t *testing.T) {
	w := newWorld(t)
	w.as[0].expires = 1
	store := &Memory{}
	var people atomic.Int32
	for _, port := range []string{"3000", "3001", "3002"} {
		tr, err := NewTransport(w.url(), &Options{Store: store, Authorize: counted(&people), Redirect: "http://127.0.0.1:" + port + "/callback"})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.visit(&http.Client{Transport: tr}); got != ok {
			t.Fatalf("visit = %s", got)
		}
	}
	if people.Load() != 1 || w.as[0].clients != 1 {
		t.Errorf("asked %d times, registered %d times, want once", people.Load(), w.as[0].clients)
	}
}

// Of two processes that refresh a token at the same time, the one that comes too
// late uses what the other was given.
func TestTransport_refreshedElsewhere(t *testing.T) {
	w := newWorld(t)
	as, store := w.as[0], &Memory{}
	as.expires = 1
	as.answer = func(form url.Values) (int, any) {
		if form.Get("grant_type") != "refresh_token" {
			return 0, nil
		}
		record, err := store.Load(context.Background(), as.URL)
		if err != nil {
			t.Error(err)
		}
		tok := record.Tokens[w.url()]
		tok.Access, tok.Refresh, tok.Expires = "theirs", "next", time.Now().Add(time.Hour)
		record.setToken(w.url(), &tok)
		as.good[tok.Access] = ""
		if err := store.Save(context.Background(), record); err != nil {
			t.Error(err)
		}
		return http.StatusBadRequest, Error{Code: "invalid_grant"}
	}
	var people atomic.Int32
	c := w.client(Options{Store: store, Authorize: counted(&people)})
	for range 3 {
		if got := w.visit(c); got != ok {
			t.Fatalf("visit = %s", got)
		}
	}
	if people.Load() != 1 || w.asked[len(w.asked)-1] != "Bearer theirs" {
		t.Errorf("asked %d times, and used %q", people.Load(), w.asked)
	}
}
