package sqlite

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
)

func TestQuestion(t *testing.T) {
	now := time.Unix(1000, 0).UTC()
	s := open(t, path(t), &Options{Clock: func() time.Time { return now }})
	seed(t, s, 1, nil)
	q := board.Question{
		Project: "web", Claim: board.Handle{Task: web(1), Attempt: 1, Nonce: "abcde"}, Asker: claimant("a").Worker, Owner: "p1", ChatID: "c",
		Text: "Which?", Options: []string{"x", "y"}, Default: "x", NeededBy: now.Add(time.Minute), Blocking: true, HumanOnly: true,
		State: board.QuestionOpen, AskedAt: now,
	}
	write(t, s, func(tx board.Tx) (err error) {
		q.ID, err = tx.InsertQuestion(q)
		bare, err2 := tx.InsertQuestion(board.Question{Project: "web", Text: "And?", State: board.QuestionOpen, NeededBy: now})
		if bare != q.ID+1 {
			t.Errorf("InsertQuestion() = %v after %v", bare, q.ID)
		}
		over, err3 := tx.Overdue(5)
		now = now.Add(time.Minute)
		later, err4 := tx.Overdue(5)
		if len(over) != 0 || len(later) != 1 || later[0].ID != q.ID {
			t.Errorf("Overdue() = %v, a minute later %v", over, later)
		}
		return errors.Join(err, err2, err3, err4)
	})
	read(t, s, func(r board.Reader) error {
		got, err := r.Question(q.ID)
		if !reflect.DeepEqual(got, q) {
			t.Errorf("Question() = %+v\nwant %+v", got, q)
		}
		if _, err := r.Question(99); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("Question(99) = %v, want ErrNotFound", err)
		}
		for _, tt := range []struct {
			filter board.QuestionFilter
			want   int
		}{
			{board.QuestionFilter{}, 2},
			{board.QuestionFilter{Projects: []string{"web"}, State: board.QuestionOpen}, 2},
			{board.QuestionFilter{Projects: []string{"app"}}, 0},
			{board.QuestionFilter{State: board.QuestionAnswered}, 0},
			{board.QuestionFilter{Task: web(1)}, 1},
			{board.QuestionFilter{After: q.ID}, 1},
			{board.QuestionFilter{Limit: 1}, 1},
		} {
			if list, err := r.Questions(tt.filter); len(list) != tt.want || err != nil {
				t.Errorf("Questions(%+v) = %v, %v; want %d", tt.filter, list, err, tt.want)
			}
		}
		return err
	})
	q.State, q.Answer, q.AnsweredBy, q.AnsweredAt = board.QuestionAnswered, "y", "ann", now
	write(t, s, func(tx board.Tx) error {
		err := tx.UpdateQuestion(q)
		if err := tx.UpdateQuestion(q); !errors.Is(err, board.ErrConflict) {
			t.Errorf("UpdateQuestion() again = %v, want ErrConflict", err)
		}
		return err
	})
}

func TestOnce(t *testing.T) {
	now := time.Unix(1000, 0).UTC()
	s := open(t, path(t), &Options{Clock: func() time.Time { return now }})
	k := board.Key{Principal: "local", Key: "k", Op: "create_task", Hash: "h"}
	write(t, s, func(tx board.Tx) error {
		kept, err := tx.Once(k)
		if kept != nil {
			t.Errorf("Once() = %v, want nil", kept)
		}
		return errors.Join(err, tx.Keep(k, "web-1"))
	})
	write(t, s, func(tx board.Tx) error {
		kept, err := tx.Once(board.Key{Principal: "local", Key: "k", Op: "other", Hash: "i"})
		if want := (board.Kept{Op: "create_task", Hash: "h", Answer: "web-1"}); kept == nil || *kept != want {
			t.Errorf("Once() again = %v, want %v", kept, want)
		}
		return err
	})
	now = now.Add(8 * 24 * time.Hour)
	write(t, s, func(tx board.Tx) error {
		if err := tx.Forget(7 * 24 * time.Hour); err != nil {
			return err
		}
		kept, err := tx.Once(k)
		if kept != nil {
			t.Errorf("Once() after a week = %v, want nil", kept)
		}
		return err
	})
}

func TestFeed(t *testing.T) {
	s := open(t, path(t), nil)
	seed(t, s, 3, nil)
	write(t, s, func(tx board.Tx) error {
		return errors.Join(tx.PutProject(board.Project{Slug: "app"}), addTasks(tx, "app", 2, nil))
	})
	detail := board.Detail{Attempt: 1, Text: "a \xff b", Where: board.Where{Dir: "/d"}, Fields: []string{"title"}, Late: true, Question: 3}
	write(t, s, func(tx board.Tx) error {
		if err := tx.Append(board.Event{Task: web(1), Seq: 1}); !errors.Is(err, board.ErrConflict) {
			t.Errorf("Append() of the same event = %v, want ErrConflict", err)
		}
		return tx.Append(board.Event{Task: web(1), Seq: 2, Actor: "ann", Kind: board.EventNote, From: board.Pending, To: board.Pending, Detail: detail})
	})
	read(t, s, func(r board.Reader) error {
		var cursor board.Cursor
		n := 0
		for {
			page, err := r.Feed(nil, cursor, 2)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			n += len(page)
			cursor = page[len(page)-1].Cursor
		}
		if n != 6 {
			t.Errorf("the feed has %d events, want 6", n)
		}
		app, err := r.Feed([]string{"app"}, "", 0)
		none, err2 := r.Feed([]string{}, "", 0)
		if len(app) != 2 || len(none) != 0 {
			t.Errorf("Feed(app) = %v, Feed(nothing) = %v", app, none)
		}
		if _, err := r.Feed(nil, "x", 0); !errors.Is(err, board.ErrInvalid) {
			t.Errorf("Feed(x) = %v, want ErrInvalid", err)
		}
		events, err3 := r.Events(web(1), 1, 10)
		detail.Text = "a \ufffd b"
		if len(events) != 1 || !reflect.DeepEqual(events[0].Detail, detail) || events[0].At.IsZero() {
			t.Errorf("Events() = %+v", events)
		}
		if _, err := r.Events(web(99), 0, 10); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("Events() of none = %v, want ErrNotFound", err)
		}
		return errors.Join(err, err2, err3)
	})
}
