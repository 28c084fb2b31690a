package sqlite_test

import (
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/boardtest"
	"github.com/bossman-dev/bossman/store/sqlite"
)

func TestBoard(t *testing.T) {
	boardtest.Run(t, func(t *testing.T) board.Store { return sqlite.OpenEmpty(t) })
}
