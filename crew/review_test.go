package crew

import (
	"context"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
)

// reviewBoard is a board with tasks.
type reviewBoard struct {
	Board
	counts *board.Counts
}

func (b reviewBoard) Summary(context.Context, string) (board.Summary, error) {
	return board.Summary{Counts: *b.counts}, nil
}

// TestRunner_emptyReviews: while tasks are in review, nothing is empty until every slot that reviews has looked
// since there was nothing else to do, and found none.
func TestRunner_emptyReviews(t *testing.T) {
	counts := &board.Counts{Status: map[board.Status]int{board.InReview: 1}}
	r := New(&Options{Repo: first(newRepo(t)), Board: reviewBoard{counts: counts}, Agents: []agent.Agent{nobody{}}, Reviewers: []agent.Agent{nobody{}}})
	s := &slot{r: r, agent: nobody{}, reviews: true}
	r.looks[s] = time.Time{}
	want := func(when string, want bool) {
		t.Helper()
		if got, err := r.empty(t.Context(), false); err != nil || got != want {
			t.Errorf("%s: empty = %v, %v; want %v", when, got, err, want)
		}
	}
	before := time.Now()
	want("it has not looked", false)
	r.looked(s, before)
	want("it looked before", false)
	r.looked(s, time.Now())
	want("it has found nothing since", true)
	r.looked(s, time.Time{})
	want("it reviews", false)
	counts.Ready = 1
	r.looked(s, time.Now())
	want("a task is ready", false)
	counts.Ready, counts.Status[board.InProgress] = 0, 1
	r.looked(s, time.Now())
	want("a task is worked on", false)
	counts.Status[board.InProgress] = 0
	want("it was reported since the last look", false)
	r.looked(s, time.Now())
	want("it is not for this slot", true)
	counts.Ready = 1
	want("a task is ready again", false)
	r.o.Agents = nil
	want("no slot takes tasks, and it has to look again", false)
	r.looked(s, time.Now())
	want("no slot takes tasks", true)
	r.looked(s, time.Time{})
	delete(r.looks, s)
	want("the slot has ended", true)
}

func first[A, B any](a A, _ B) A { return a }
