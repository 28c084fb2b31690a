package crew

import (
	"context"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// counted is a board with so many tasks, and a dossier.
type counted struct {
	Board
	counts  board.Counts
	dossier board.Dossier
}

func (b counted) Summary(context.Context, string) (board.Summary, error) {
	return board.Summary{Counts: b.counts}, nil
}

func (b counted) Get(context.Context, board.ID, int) (board.Dossier, error) { return b.dossier, nil }

// TestRunner_empty: a runner that ends when nothing is left waits for what is landed only if it lands that
// itself.
func TestRunner_empty(t *testing.T) {
	repo, _ := newRepo(t)
	for _, x := range []struct {
		landing, own int
		lands, want  bool
	}{{0, 0, false, true}, {2, 0, false, true}, {2, 1, true, false}, {2, 0, true, true}} {
		b := counted{counts: board.Counts{Status: map[board.Status]int{board.Landing: x.landing}}}
		r := New(&Options{Board: b, Repo: repo})
		if x.lands {
			r.o.ToLand = func(context.Context) (int, error) { return x.own, nil }
		}
		if got, err := r.empty(t.Context(), false); err != nil || got != x.want {
			t.Errorf("with %+v: empty = %v, %v", x, got, err)
		}
	}
}

// TestRunner_Results_landing: work that was accepted is shown as what it is now: waiting to be landed,
// landed, or taken back. What was landed is not to be merged.
func TestRunner_Results_landing(t *testing.T) {
	repo, _ := newRepo(t)
	h := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 1, Nonce: "k7f2q"}
	for status, want := range map[board.Status]EventKind{board.Landing: Landing, board.InReview: Review, board.Done: Done, board.Pending: Lost} {
		b := counted{dossier: board.Dossier{
			Task: board.Task{ID: h.Task, Status: status, Attempt: 1}, Attempts: []board.Attempt{{Handle: h, Cause: board.CauseDone}},
			Doc: board.Doc{Result: &board.Result{Worker: "otter", Landed: "0123"}},
		}}
		r := New(&Options{Board: b, Repo: repo})
		for _, before := range []EventKind{Done, Review, Landing} {
			r.results = []Result{{Task: h.Task, Kind: before, claim: h}}
			if got := r.Results(t.Context()); got[0].Kind != want || got[0].Merge != "" {
				t.Errorf("%s, and the task is %s: %+v, want %s", before, status, got[0], want)
			}
		}
	}
}
