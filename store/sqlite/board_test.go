package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/boardtest"
	"github.com/bossman-dev/bossman/store/sqlite"
)

func TestBoard(t *testing.T) {
	boardtest.Run(t, func(t *testing.T) board.Store {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "board.db"), sqlite.Unflushed)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	})
}
