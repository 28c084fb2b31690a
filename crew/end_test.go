package crew

import (
	"context"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/git"
)

// failing is a board that answers reports of failures with an error.
type failing struct {
	Board
	err error
}

func (b failing) Fail(context.Context, board.Actor, board.Handle, board.Failure) (board.Outcome, error) {
	return board.Outcome{}, b.err
}

type named struct{ agent.Agent }

func (named) Name() string { return "sh" }

// TestJob_untold: a task is said to be taken away if the board says so, and not if it could not be
// told of the end of its job.
func TestJob_untold(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for _, test := range []struct {
		err  error
		want EventKind
	}{{nil, Parked}, {board.ErrFull, Untold}, {board.ErrUnavailable, Untold}, {&board.LostError{}, Lost}} {
		s := &slot{agent: named{}}
		s.r = New(&Options{Repo: new(git.Repo), Board: failing{err: test.err}})
		j := &job{slot: s, h: &board.Handout{}}
		if res := j.overBudget(t.Context(), ended, &costError{2, 1}); res.Kind != test.want {
			t.Errorf("after %v the job is %s, want %s", test.err, res.Kind, test.want)
		}
	}
}
