package postgres_test

import (
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/boardtest"
	"github.com/bossman-dev/bossman/internal/pgtest"
)

func TestBoard(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	boardtest.Run(t, func(t *testing.T) board.Store { return c.Open(t, nil) })
}
