package board_test

import (
	"context"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// A late store does something right after a hand-out that found nothing.
type late struct {
	board.Store
	then func()
}

func (l *late) Claim(ctx context.Context, w board.Want) ([]board.Claim, error) {
	claims, err := l.Store.Claim(ctx, w)
	if then := l.then; then != nil && len(claims) == 0 {
		l.then = nil
		then()
	}
	return claims, err
}

// TestNext_freedMeanwhile: a worker that does not wait is given the task that another process has freed while it looked,
// and not told that nothing is ready.
func TestNext_freedMeanwhile(t *testing.T) {
	l := &late{}
	b := openBoard(t, "web", func(s board.Store) board.Store {
		l.Store = s
		return l
	})
	if _, _, err := b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "a"}, ""); err != nil {
		t.Fatal(err)
	}
	first := board.Actor{Principal: "local", Owner: "p-first"}
	h, err := b.Next(t.Context(), first, board.Wish{Projects: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	l.then = func() {
		first.Worker = h.Claim.Worker.Name
		if err := b.GiveBack(t.Context(), first, h.Claim.Handle, ""); err != nil {
			t.Error(err)
		}
	}
	got, err := b.Next(t.Context(), board.Actor{Principal: "local", Owner: "p-second"}, board.Wish{Projects: []string{"web"}})
	if err != nil || got.Claim.Task != h.Claim.Task {
		t.Errorf("Next = %+v, %v, want %v", got, err, h.Claim.Task)
	}
}
