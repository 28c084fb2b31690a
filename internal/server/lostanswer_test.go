package server

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// The answer to a hand-out is lost on its way to the client. The same request again finds the
// claim; a new one of the session is told which claim that may be, and gets neither it nor
// another until it says who it is.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{})
	for _, title := range []string{"One", "Two", "Three", "Four"} {
		if _, _, err := s.board.Create(t.Context(), board.Actor{Principal: "bob", Person: true}, board.NewTask{Project: "web", Title: title}, ""); err != nil {
			t.Fatal(err)
		}
	}
	key := s.key("web", auth.Worker, false)
	k, other := s.client(key, "2025-11-25"), s.client(key, "2025-11-25")
	says := func(k *testClient, id int, args, want string) string {
		t.Helper()
		k.id = id
		got := k.tool("get_next_task", args)
		if !strings.Contains(got.text, want) {
			t.Fatalf("get_next_task %s with the id %d = %s, want %q", args, id, got.text, want)
		}
		return got.text
	}
	first := says(k, 1, `{}`, "web-1 is yours") // and nobody reads it
	claim := regexp.MustCompile(`web-1/1\.\w+`).FindString(first)
	worker := regexp.MustCompile(`"worker":"([a-z0-9-]+)"`).FindStringSubmatch(first)[1]

	held := says(k, 2, `{}`, "Nothing handed out: this connection holds web-1")
	for _, next := range []string{worker, "new"} {
		if !strings.Contains(held, `get_next_task {\"worker\":\"`+next+`\"}`) {
			t.Errorf("the answer does not name the call of worker %s: %s", next, held)
		}
	}
	says(other, 2, `{}`, "web-2 is yours") // another session with the same key
	if again := says(k, 1, `{}`, "web-1 is still yours"); !strings.Contains(again, claim) {
		t.Errorf("the same request again = %s, want %s", again, claim)
	}
	third := says(k, 3, `{"worker":"new"}`, "web-3 is yours")
	says(k, 3, `{"worker":"new"}`, "web-3 is still yours")

	// Once they have worked on their tasks, the session may ask for another.
	for _, c := range []string{claim, regexp.MustCompile(`web-3/1\.\w+`).FindString(third)} {
		k.id++
		if got := k.tool("report_progress", `{"claim":"`+c+`","note":"begun"}`); got.kind != "" {
			t.Fatalf("report_progress = %s", got.text)
		}
	}
	says(k, 9, `{}`, "web-4 is yours")
}

// A client closes its socket while it waits for a task, and its session never comes back. The
// task that it was given is free again, without a failure, twice; the third time its lease
// decides.
func TestLostAnswer_closedSocket(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{})
	key := s.key("web", auth.Worker, false)
	var id board.ID
	for n := 1; n <= 3; n++ {
		k := s.client(key, "2025-11-25")
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		bob := board.Actor{Principal: "bob", Person: true}
		if err := s.board.Pause(t.Context(), bob, "web"); err != nil { // so that it waits
			t.Fatal(err)
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_next_task","arguments":{"wait_seconds":50}}}`
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nX-Api-Token: %s\r\nMcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\nContent-Length: %d\r\n\r\n%s",
			conn.RemoteAddr(), key, k.session, len(body), body)
		<-s.waits
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			task, _, err := s.board.Create(t.Context(), bob, board.NewTask{Project: "web", Title: "t"}, "")
			if err != nil {
				t.Fatal(err)
			}
			id = task.ID
		}
		if err := s.board.Resume(t.Context(), bob, "web"); err != nil {
			t.Fatal(err)
		}
		want := board.CauseUndelivered
		if n == 3 {
			want = "" // it is still held
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for {
			d, err := s.board.Get(ctx, id, 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Attempts) == n && d.Attempts[n-1].Cause == want {
				if d.Task.Failures != 0 {
					t.Errorf("attempt %d: %d failures were counted", n, d.Task.Failures)
				}
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}
