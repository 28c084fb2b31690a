package remote_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// Long texts come in several answers of a bounded size, and in one list.
func TestBoard_longRows(t *testing.T) {
	s := newSite(t)
	bob := s.as("bob")
	task, _, err := s.b.Create(t.Context(), board.Actor{Principal: "ada"}, board.NewTask{Project: "web", Title: "long"}, "")
	if err != nil {
		t.Fatal(err)
	}
	out, err := bob.Next(t.Context(), local, board.Wish{Projects: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	const notes = 120
	long := strings.Repeat("x", 32_000)
	for i := range notes {
		if _, err := bob.Progress(t.Context(), local, out.Claim.Handle, board.Note{Text: fmt.Sprint(i, long)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		if _, err := s.b.Ask(t.Context(), board.Actor{Principal: "key:bob"}, board.NewQuestion{Project: "web", Text: fmt.Sprint(i, long)}); err != nil {
			t.Fatal(err)
		}
	}

	want, err := s.b.Events(t.Context(), task.ID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, got []board.Event, err error, want []board.Event) {
		t.Helper()
		if err != nil || !slices.EqualFunc(got, want, func(a, b board.Event) bool {
			return a.Task == b.Task && a.Seq == b.Seq && a.Detail.Text == b.Detail.Text
		}) {
			t.Errorf("%s: %d events, %v; want %d", what, len(got), err, len(want))
		}
	}
	got, err := bob.Events(t.Context(), task.ID, 0, 0)
	same("all", got, err, want)
	got, err = bob.Events(t.Context(), task.ID, 3, 50)
	same("fifty", got, err, want[3:53])
	feed, err := s.b.Feed(t.Context(), []string{"web"}, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err = bob.Feed(t.Context(), []string{"web"}, "", 0)
	same("feed", got, err, feed)
	qs, err := bob.Questions(t.Context(), board.QuestionFilter{Projects: []string{"web"}})
	if err != nil || len(qs) != 40 || qs[39].Text != fmt.Sprint(39, long) {
		t.Errorf("questions: %d, %v; want 40", len(qs), err)
	}
	for n, most := range map[int]int{0: 0, 5: 5, 20: 20, 1000: 16 + 64} { // the last events, as far as there is room
		d, err := bob.Get(t.Context(), task.ID, n)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Events) > most || n <= 20 && len(d.Events) != n {
			t.Errorf("a dossier with %d events has %d, want at most %d", n, len(d.Events), most)
		}
		same(fmt.Sprint("dossier with ", n), d.Events, nil, want[len(want)-len(d.Events):])
	}

	client, err := streamable.Connect(t.Context(), s.address, &streamable.ClientOptions{Header: http.Header{"X-Api-Token": {"bob"}}}, &mcp.ClientOptions{Revision: mcp.LatestRevision})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for method, args := range map[string]string{
		"bossman/get": `{"ID":"web-1","Events":1000}`, "bossman/events": `{"ID":"web-1","Limit":1000}`, "bossman/feed": `{"Projects":["web"]}`, "bossman/questions": `{}`,
	} {
		raw, err := client.Forward(t.Context(), method, json.RawMessage(`{"as":{},"args":`+args+`}`), nil)
		if err != nil || len(raw) < 1<<20 || len(raw) > 5<<19 {
			t.Errorf("%s answers %d bytes, %v; want 1 to 2.5 MiB", method, len(raw), err)
		}
	}
}
