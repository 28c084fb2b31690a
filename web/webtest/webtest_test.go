package webtest_test

import (
	"path/filepath"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/store/sqlite"
	"github.com/bossman-dev/bossman/web/webtest"
)

// TestFill: a filled board has something of everything that pages show.
func TestFill(t *testing.T) {
	clock := &webtest.Clock{}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "board.db"), &sqlite.Options{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	b := board.New(store, nil)
	if err := webtest.Fill(t.Context(), b, clock); err != nil {
		t.Fatal(err)
	}
	in, err := b.Inbox(t.Context(), "shop")
	if err != nil || len(in.Open) < 4 || len(in.Review) < 2 || len(in.Failed) < 1 || len(in.Landing) < 1 {
		t.Errorf("Inbox: %d questions, %d reviews, %d failed, %d landings, %v", len(in.Open), len(in.Review), len(in.Failed), len(in.Landing), err)
	}
	c, err := b.Counts(t.Context())
	if err != nil || c.Total() < 200 || c.Status[board.Done] < 80 || c.Status[board.InProgress] < 10 || c.Ready == 0 || c.Blocked == 0 || c.Held == 0 {
		t.Errorf("Counts = %+v, %v", c, err)
	}
	if s, err := b.Spent(t.Context(), "shop"); err != nil || s.Cost == 0 {
		t.Errorf("Spent = %+v, %v", s, err)
	}
}
