package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// Writers of different speed append while readers follow: every reader sees every
// event once, and each task's in order.
func TestFeed_neverSkips(t *testing.T) {
	t.Parallel()
	s := pgtest.Shared(t).Open(t, &postgres.Options{MaxConns: 24})
	const writers, rounds = 12, 30
	for _, slug := range []string{"a", "b"} {
		seed(t, s, slug, writers, nil)
	}
	var readers, wg sync.WaitGroup
	done := make(chan struct{})
	deadline := time.Now().Add(time.Minute)
	follow := func(projects []string, limit int, total int) {
		readers.Go(func() {
			var cursor board.Cursor
			seen, last := 0, map[board.ID]int64{}
			for {
				finished := false
				select {
				case <-done:
					finished = true
				default:
				}
				var events []board.Event
				if err := s.Read(t.Context(), func(r board.Reader) (err error) {
					events, err = r.Feed(projects, cursor, limit)
					return err
				}); err != nil {
					t.Error(err)
					return
				}
				for _, e := range events {
					if e.Seq != last[e.Task]+1 {
						t.Errorf("%v: event %d after %d", e.Task, e.Seq, last[e.Task])
						return
					}
					last[e.Task] = e.Seq
					cursor = e.Cursor
					seen++
				}
				// Transactions of other databases hold the feed back, for a short time.
				if seen >= total && finished && len(events) == 0 || time.Now().After(deadline) {
					break
				}
			}
			if seen != total {
				t.Errorf("Feed(%v) showed %d events, want %d", projects, seen, total)
			}
		})
	}
	each := writers + writers*rounds*2
	follow(nil, 7, 2*each)
	follow(nil, 1000, 2*each)
	follow([]string{"a"}, 5, each)
	follow([]string{"a", "b", "none"}, 50, 2*each)
	for i := range writers {
		wg.Go(func() {
			for j := range rounds {
				err := s.Write(t.Context(), func(tx board.Tx) error {
					for _, slug := range []string{"a", "b"} {
						id := board.ID{Project: slug, No: int64(i + 1)}
						seq := int64(2 + 2*j)
						if err := tx.Append(
							board.Event{Task: id, Seq: seq, Kind: board.EventNote, Detail: board.Detail{Text: fmt.Sprint(j)}},
							board.Event{Task: id, Seq: seq + 1, Kind: board.EventNote}); err != nil {
							return err
						}
						time.Sleep(time.Duration(i%4) * time.Millisecond)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(done)
	readers.Wait()
}

// A database that was restored, or failed over, begins a new epoch: nothing that is
// written then is below a cursor given before.
func TestFeed_epoch(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	s := c.OpenIn(t, db, nil)
	seed(t, s, "web", 1, nil)
	c.Exec(t, db, "UPDATE meta SET system_id = 5")
	s2 := c.OpenIn(t, db, nil)
	seed(t, s2, "web2", 1, nil)
	c.OpenIn(t, db, nil)
	read(t, s2, func(r board.Reader) error {
		events, err := r.Feed(nil, "", 0)
		if err != nil || len(events) != 2 || events[0].Cursor[:2] != "1." || events[1].Cursor[:2] != "2." {
			t.Errorf("Feed = %v, %v, want one event in epoch 1 and one in 2", events, err)
		}
		// One that comes from where transactions had greater numbers.
		events, err = r.Feed(nil, "1.18446744073709551615.9", 0)
		if err != nil || len(events) != 1 || events[0].Task.Project != "web2" {
			t.Errorf("Feed = %v, %v, want the event of epoch 2", events, err)
		}
		for _, bad := range []board.Cursor{"x", "1.2", "1.2.x", "-1.2.3", "1.-2.3", "1.2.3.4", "99999999999.1.1"} {
			if _, err := r.Feed(nil, bad, 0); !errors.Is(err, board.ErrInvalid) {
				t.Errorf("Feed(%q) = %v, want ErrInvalid", bad, err)
			}
		}
		return nil
	})
}

// A cursor is read, or refused; what was read is written and read the same.
func FuzzCursor(f *testing.F) {
	for _, c := range []string{"", "1.2.3", "0.0.0", "1.18446744073709551615.9", "1..", "-1.2.3", "+1.2.3", "1.2.3.4"} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, c string) {
		epoch, xid, id, err := postgres.Place(board.Cursor(c))
		if err != nil {
			if !errors.Is(err, board.ErrInvalid) {
				t.Errorf("%q: %v, want ErrInvalid", c, err)
			}
			return
		}
		e2, x2, i2, err := postgres.Place(board.Cursor(fmt.Sprintf("%d.%s.%d", epoch, xid, id)))
		if err != nil || e2 != epoch || x2 != xid || i2 != id || epoch < 0 || id < 0 {
			t.Errorf("%q is read as %d.%s.%d, then as %d.%s.%d, %v", c, epoch, xid, id, e2, x2, i2, err)
		}
	})
}
