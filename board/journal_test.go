package board_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A slowBook takes a while for each write.
type slowBook struct {
	takes         time.Duration
	ends, touches int
}

func (b *slowBook) wait(ctx context.Context) error {
	select {
	case <-time.After(b.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *slowBook) EndCalls(ctx context.Context, ends []board.EndedCall) error {
	if err := b.wait(ctx); err != nil {
		return err
	}
	b.ends += len(ends)
	return nil
}

func (b *slowBook) Touch(ctx context.Context, list []board.Touched) error {
	if err := b.wait(ctx); err != nil {
		return err
	}
	b.touches += len(list)
	return nil
}

// A journal that ends while it writes loses nothing of that, and does not wait for ever.
func TestJournal_ends(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		want  int
		err   error
	}{
		{500 * time.Millisecond, 1, nil},
		{time.Hour, 0, context.Canceled},
	} {
		synctest.Test(t, func(t *testing.T) {
			book := &slowBook{takes: c.takes}
			var failed error
			j := board.NewJournal(book, func(err error) { failed = err })
			j.End(board.EndedCall{})
			j.Touch(board.Handle{}, "p", false, "up", "x", false)
			ctx, stop := context.WithCancel(t.Context())
			begun := time.Now()
			time.AfterFunc(board.JournalEvery+c.takes/2, stop) // in mid-write
			if c.takes > time.Minute {
				stop()
			}
			_ = j.Run(ctx)
			if book.ends != c.want || book.touches != c.want || !errors.Is(failed, c.err) {
				t.Errorf("writes that take %v: %d ends and %d touches are written, %v", c.takes, book.ends, book.touches, failed)
			}
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("the end took %v", took)
			}
		})
	}
}
