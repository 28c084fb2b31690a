package postgres_test

import (
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/boardtest"
	"github.com/bossman-dev/bossman/internal/pgtest"
)

// Two replicas count the tasks all the while, as Run does every few seconds.
func TestBoard(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	boardtest.Run(t, func(t *testing.T) board.Store {
		s := c.Open(t, nil)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for ; t.Context().Err() == nil; time.Sleep(10 * time.Millisecond) {
					if err := s.Count(t.Context()); err != nil && t.Context().Err() == nil {
						t.Errorf("Count: %v", err)
					}
				}
			})
		}
		t.Cleanup(wg.Wait)
		return s
	})
}
