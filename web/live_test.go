package web

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// A listener reads a stream.
type listener struct {
	t      *testing.T
	lines  chan string
	cancel context.CancelFunc
	status int
}

// listen opens the stream of a page that had an event last.
func (b *browser) listen(after, last string) *listener {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, b.site.url+"/live?after="+after, nil)
	for k, v := range b.headers {
		r.Header[k] = v
	}
	r.Header.Set("Accept", "text/event-stream")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	l := &listener{t: b.t, lines: make(chan string, 1000), cancel: cancel, status: resp.StatusCode}
	go func() {
		defer close(l.lines)
		defer resp.Body.Close()
		for in := bufio.NewScanner(resp.Body); in.Scan(); {
			l.lines <- in.Text()
		}
	}()
	b.t.Cleanup(cancel)
	return l
}

// want reads until a line contains a text, and returns what came before it.
func (l *listener) want(text string) (before []string) {
	l.t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case line, ok := <-l.lines:
			if !ok {
				l.t.Fatalf("the stream ended without %q: %q", text, before)
			}
			before = append(before, line)
			if strings.Contains(line, text) {
				return before
			}
		case <-timeout:
			l.t.Fatalf("no %q within a minute: %q", text, before)
		}
	}
}

// task creates a task.
func (s *testSite) task(project, title string) board.ID {
	s.t.Helper()
	t, _, err := s.board.Create(s.t.Context(), board.Actor{Principal: "local", Name: "ada", Person: true}, board.NewTask{Project: project, Title: title}, "")
	if err != nil {
		s.t.Fatal(err)
	}
	return t.ID
}

// TestLive: an event reaches the pages of those who may see its project, at once, and a
// stream that comes back gets what it missed.
func TestLive(t *testing.T) {
	s := newTestSite(t, true)
	ada, bob := s.signedIn("ada", "shop", auth.Viewer), s.signedIn("bob", "api", auth.Admin)
	la, lb := ada.listen(string(s.hub.cursor()), ""), bob.listen(string(s.hub.cursor()), "")
	la.want("event: ready")
	lb.want("event: ready")
	begun := time.Now()
	one := s.task("shop", "secret")
	lines := la.want(`"task":"` + one.String() + `"`)
	if d := time.Since(begun); d > 3*time.Second {
		t.Errorf("the event took %v", d)
	}
	last := ""
	for _, l := range lines {
		if id, ok := strings.CutPrefix(l, "id: "); ok {
			last = id
		}
		if strings.Contains(l, "secret") {
			t.Errorf("the stream has text of a task: %s", l)
		}
	}
	two := s.task("api", "other")
	for _, l := range lb.want(two.String()) {
		if strings.Contains(l, "shop") {
			t.Errorf("somebody of another project is told %s", l)
		}
	}
	la.cancel()
	three := s.task("shop", "third")
	back := ada.listen("", last)
	missed := strings.Join(back.want("event: ready"), "\n")
	if !strings.Contains(missed, three.String()) || strings.Contains(missed, two.String()) || strings.Contains(missed, one.String()+`"`) {
		t.Errorf("after %q a stream that comes back gets %q, want %v alone", last, missed, three)
	}
	if got := strings.Join(ada.listen("nonsense", "").want("event: "), "\n"); !strings.Contains(got, "event: reload") {
		t.Errorf("a stream after nonsense begins with %q", got)
	}
}

// TestLive_tooMuch: a page that missed very many events loads again instead.
func TestLive_tooMuch(t *testing.T) {
	s := newTestSite(t, true)
	ada := s.signedIn("ada", "shop", auth.Viewer)
	from := string(s.hub.cursor())
	for range maxMissed + 1 {
		s.task("shop", "x")
	}
	l := ada.listen(from, "")
	if got := strings.Join(l.want("event: "), "\n"); !strings.Contains(got, "event: reload") {
		t.Errorf("the stream begins with %q", got)
	}
	l.want("event: ready") // else the page would go on saying that the server does not answer
}

// TestLive_signedOut: a stream ends with its session, and one of another session does not.
func TestLive_signedOut(t *testing.T) {
	s := newTestSite(t, true)
	ada, bob := s.signedIn("ada", "shop", auth.Viewer), s.signedIn("bob", "shop", auth.Viewer)
	la, lb := ada.listen(string(s.hub.cursor()), ""), bob.listen(string(s.hub.cursor()), "")
	la.want("event: ready")
	lb.want("event: ready")
	if err := s.door.Leave(t.Context(), ada.session()); err != nil { // on another replica, as it were
		t.Fatal(err)
	}
	la.want("event: signedout")
	s.task("shop", "x")
	lb.want("shop-1")
	if l := ada.listen("", ""); l.status != http.StatusUnauthorized {
		t.Errorf("GET /live after it = %d", l.status)
	}
}

// TestLive_slow: a page that does not read its events is told to load again, and does not
// hold up the others.
func TestLive_slow(t *testing.T) {
	h := newHub()
	slow := h.open("s", testCaller("shop"))
	quick := h.open("q", testCaller("shop"))
	for range queueSize + 1 {
		h.publish(&pageEvent{project: "shop", text: []byte("x")})
		<-quick.queue
	}
	select {
	case <-slow.said:
		if slow.word != "reload" {
			t.Errorf("the slow page is told %q", slow.word)
		}
	default:
		t.Error("the slow page is told nothing")
	}
	if h.count() != 1 {
		t.Errorf("%d streams are open, want 1", h.count())
	}
}

// TestLive_questionWithoutTask: a question that belongs to no task makes no event on the
// board, and pages are told nevertheless.
func TestLive_questionWithoutTask(t *testing.T) {
	s := newTestSite(t, true)
	ada := s.signedIn("ada", "shop", auth.Viewer)
	l := ada.listen(string(s.hub.cursor()), "")
	l.want("event: ready")
	time.Sleep(2 * followEvery) // it compares with what was open before
	if _, err := s.board.Ask(t.Context(), board.Actor{Principal: "key:x", Owner: "p-x"}, board.NewQuestion{Project: "shop", Text: "Where is the database?"}); err != nil {
		t.Fatal(err)
	}
	l.want(`"kind":"asked"`)
}

// TestPart: the script gets the changing part of a page, without the head, and tokens of its
// own session although the rendering is shared.
func TestPart(t *testing.T) {
	s := newTestSite(t, true)
	s.ask(board.NewQuestion{Text: "Which cart wins?"})
	_, key := s.key("ada", true, "shop", auth.Lead)
	sessions := []string{}
	for range 2 {
		b := s.browser()
		b.post("/signin", map[string][]string{"key": {key}})
		b.headers.Set("Bossman-Part", "main")
		_, body := b.get("/inbox")
		if strings.Contains(body, "<head>") || !strings.HasPrefix(body, `<div class="shell" id="shell"`) || !strings.Contains(body, formToken(b.session())) || strings.Contains(body, s.placeholder) {
			t.Errorf("the part = %.300s", body)
		}
		sessions = append(sessions, b.session())
		for _, other := range sessions[:len(sessions)-1] {
			if strings.Contains(body, formToken(other)) {
				t.Error("a part has the token of another session")
			}
		}
	}
	s.parts.mu.Lock()
	n := len(s.parts.entries)
	s.parts.mu.Unlock()
	if n != 1 {
		t.Errorf("%d renderings are kept, want one for both sessions", n)
	}
}
