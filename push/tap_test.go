package push_test

import (
	"errors"
	"path"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/push"
)

// tapWorld is a world with a question that ada's browser was told of, and its links.
func tapWorld(t *testing.T, q board.NewQuestion) (w *world, s *push.Sender, question board.Question, links []string, key string) {
	t.Helper()
	w = newWorld(t)
	s = w.sender(push.Options{})
	service := newReceiver(t, nil)
	key = w.person("ada", "web", auth.Worker)
	sub := newSubscription(t)
	target := sub.target(key, service.URL)
	target.Text = true
	w.add(s, target)
	w.run(s)
	question = w.ask(q)
	for _, a := range sub.shown(t, service.wait(t, 1)[0]).Actions {
		links = append(links, path.Base(a.URL))
	}
	return w, s, question, links, key
}

var cart = board.NewQuestion{Text: "Which cart wins?", Options: []string{"Merge both", "The guest's"}}

// TestTap: a link answers once, as the person.
func TestTap(t *testing.T) {
	w, s, q, links, _ := tapWorld(t, cart)
	if len(links) != 2 {
		t.Fatalf("%d links", len(links))
	}
	o, err := s.Offer(t.Context(), links[1])
	if err != nil || o.Answer != "The guest's" || o.Question.ID != q.ID || o.Caller.Name != "ada" {
		t.Fatalf("Offer = %+v, %v", o, err)
	}
	if now, err := w.board.Question(t.Context(), q.ID); err != nil || now.State != board.QuestionOpen {
		t.Fatalf("after a look the question is %v, %v", now.State, err)
	}
	if _, err := s.Answer(t.Context(), links[1]); err != nil {
		t.Fatal(err)
	}
	now, err := w.board.Question(t.Context(), q.ID)
	if err != nil || now.Answer != "The guest's" || now.AnsweredBy != "ada" || now.AnsweredAs != board.ByPerson {
		t.Errorf("the question is %+v, %v", now, err)
	}
	for _, link := range links { // replayed, and the other answer
		if _, err := s.Answer(t.Context(), link); !errors.Is(err, board.ErrConflict) {
			t.Errorf("Answer again = %v, want %v", err, board.ErrConflict)
		}
	}
	if _, err := s.Answer(t.Context(), links[0][:len(links[0])-2]+"AA"); !errors.Is(err, push.ErrLink) {
		t.Errorf("Answer(forged) = %v, want %v", err, push.ErrLink)
	}
}

func TestTap_refused(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(w *world, key string)
		want error
	}{
		"a disabled person": {func(w *world, _ string) { check(w.t, w.keys.DisablePerson(w.t.Context(), "ada")) }, board.ErrDenied},
		"a revoked key": {func(w *world, key string) {
			_, err := w.keys.RevokeKey(w.t.Context(), key, "test")
			check(w.t, err)
		}, board.ErrDenied},
		"a lowered key": {func(w *world, key string) {
			_, err := w.keys.LowerKey(w.t.Context(), key, "web", auth.Viewer, "test")
			check(w.t, err)
		}, board.ErrDenied},
		"a question that changed": {func(w *world, _ string) {
			w.cluster.Exec(w.t, w.db, `UPDATE questions SET text = 'Shall I delete both?'`)
		}, push.ErrChanged},
		"a question that became a risky permission": {func(w *world, _ string) {
			w.cluster.Exec(w.t, w.db, `UPDATE questions SET options = '{yes,no}', human_only = true, text = E'May claude use Bash?\n  | rm -rf x'`)
		}, push.ErrChanged},
	} {
		t.Run(name, func(t *testing.T) {
			w, s, q, links, key := tapWorld(t, cart)
			c.lose(w, key)
			if _, err := s.Offer(t.Context(), links[0]); !errors.Is(err, c.want) {
				t.Errorf("Offer = %v, want %v", err, c.want)
			}
			if _, err := s.Answer(t.Context(), links[0]); !errors.Is(err, c.want) {
				t.Errorf("Answer = %v, want %v", err, c.want)
			}
			if now, err := w.board.Question(t.Context(), q.ID); err != nil || now.State != board.QuestionOpen {
				t.Errorf("the question is %v, %v", now.State, err)
			}
		})
	}
}

// TestTap_deadline: a link does not outlive the question's deadline.
func TestTap_deadline(t *testing.T) {
	q := cart
	q.Within = 2 * time.Second
	_, s, _, links, _ := tapWorld(t, q)
	time.Sleep(3 * time.Second)
	if _, err := s.Answer(t.Context(), links[0]); !errors.Is(err, push.ErrExpired) {
		t.Errorf("Answer after the deadline = %v, want %v", err, push.ErrExpired)
	}
}
