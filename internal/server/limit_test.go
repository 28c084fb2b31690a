package server

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// A key's questions count against it, however many older ones of others are open.
func TestFull_questions(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ask := func(principal string, n int) {
		t.Helper()
		err := store.Write(t.Context(), func(tx board.Tx) error {
			for range n {
				q := board.Question{Project: "web", Text: "?", Asker: board.WorkerID{Principal: principal}, State: board.QuestionOpen}
				if _, err := tx.InsertQuestion(q); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	b := board.New(store, nil)
	if err := b.SetProject(t.Context(), board.Project{Slug: "web"}); err != nil {
		t.Fatal(err)
	}
	ask("key:others", 1000)
	ask("key:mine", maxAsked-1)
	full := func() string {
		t.Helper()
		s := &Server{board: b} // it remembers nothing
		text, err := s.full(t.Context(), "key:mine", auth.Questions)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if text := full(); text != "" {
		t.Errorf("with %d open questions: %q, want another one to be allowed", maxAsked-1, text)
	}
	ask("key:mine", 1)
	if text := full(); text == "" {
		t.Errorf("with %d open questions another one is allowed", maxAsked)
	}
}

// The rates are an owner's: more keys are no more calls.
func TestLimit_owner(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Options{})
	s.limiter.Rates[auth.Questions] = auth.Rate{Each: time.Hour, Burst: 3}
	asked := 0
	for i := range 6 { // each with a key of its own
		got := s.client(s.key("web", auth.Worker, i%2 == 0), newest).tool("ask_question", fmt.Sprintf(`{"question":"%d?","wait_seconds":0}`, i))
		switch {
		case strings.Contains(got.text, "Recorded as"):
			asked++
		case !strings.Contains(got.text, "keys of one owner"):
			t.Fatal(got.text)
		}
	}
	if asked != 3 {
		t.Errorf("an owner asked %d questions with six keys, want 3", asked)
	}
}
