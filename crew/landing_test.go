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

// TestRunner_empty_landed: a task that landed while the runner looked has made another one ready.
func TestRunner_empty_landed(t *testing.T) {
	repo, _ := newRepo(t)
	b := &counted{counts: board.Counts{Status: map[board.Status]int{board.Landing: 1, board.Pending: 1}, Blocked: 1}}
	r := New(&Options{Board: b, Repo: repo, ToLand: func(context.Context) (int, error) {
		b.counts = board.Counts{Status: map[board.Status]int{board.Done: 1, board.Pending: 1}, Ready: 1}
		return 0, nil
	}})
	if got, err := r.empty(t.Context(), false); err != nil || got {
		t.Errorf("empty = %v, %v with a task that is ready", got, err)
	}
}

// TestRunner_Results_landing: work that was accepted is shown as what it is now: waiting to be landed,
// landed, or taken back. What was landed is not to be merged.
func TestRunner_Results_landing(t *testing.T) {
	repo, _ := newRepo(t)
	h := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 1, Nonce: "k7f2q"}
	for _, before := range []EventKind{Review, SentBack} { // what the review says is not said twice
		b := counted{dossier: board.Dossier{
			Task: board.Task{ID: h.Task, Status: board.Pending, Attempt: 1}, Attempts: []board.Attempt{{Handle: h, Cause: board.CauseDone, Reason: "rejected"}},
		}}
		r := New(&Options{Board: b, Repo: repo})
		r.results = []Result{{Task: h.Task, Kind: before, claim: h}, {Task: h.Task, Kind: Rejected}}
		if got := r.Results(t.Context()); len(got) != 1 || got[0].Kind != Rejected {
			t.Errorf("%s, and rejected: %+v", before, got)
		}
	}
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
