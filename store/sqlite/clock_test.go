package sqlite

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/boardtest"
)

// A machine whose clock is a year ahead uses the board once. Time goes on afterwards, and
// after the repair it is the right time again, also in a process that was running.
func TestClock_ahead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "board.db")
	const year = 365 * 24 * time.Hour
	clock := time.Now().Truncate(time.Microsecond)
	var log bytes.Buffer
	open := func(ahead time.Duration) (*Store, *board.Board) {
		s, err := Open(t.Context(), path, &Options{
			Clock:  func() time.Time { return clock.Add(ahead) },
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s, board.New(s, nil)
	}
	wrong, b := open(year)
	if err := b.SetProject(t.Context(), board.Project{Slug: "web", Policy: board.PolicyTrust}); err != nil {
		t.Fatal(err)
	}
	a := board.Actor{Principal: "ada", Owner: "p1"}
	create := func(b *board.Board) {
		t.Helper()
		if _, _, err := b.Create(t.Context(), a, board.NewTask{Project: "web", Title: "t", MaxFailures: 3}, ""); err != nil {
			t.Fatal(err)
		}
	}
	next := func(b *board.Board) *board.Handout {
		t.Helper()
		h, err := b.Next(t.Context(), a, board.Wish{Projects: []string{"web"}})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	create(b)
	next(b)
	wrong.Close()

	s, b := open(0)
	claim := func() board.Claim {
		t.Helper()
		claims, err := b.Claims(t.Context(), board.ClaimFilter{})
		if err != nil || len(claims) != 1 {
			t.Fatalf("claims = %v, %v, want one", claims, err)
		}
		return claims[0]
	}
	now := func() (now time.Time) {
		t.Helper()
		if err := s.Read(t.Context(), func(r board.Reader) (err error) { now, err = r.Now(); return err }); err != nil {
			t.Fatal(err)
		}
		return now
	}
	before := now()
	clock = clock.Add(3 * time.Minute)
	if d := now().Sub(before); d != 3*time.Minute {
		t.Errorf("in three minutes, %v have passed on a board that was a year ahead", d)
	}
	if n := strings.Count(log.String(), "repair-clock"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, log.String())
	}
	left := claim().LeaseUntil.Sub(now())
	ahead, err := s.RepairClock(t.Context())
	if err != nil || ahead != year {
		t.Errorf("RepairClock = %v, %v, want a year", ahead, err)
	}
	if !now().Equal(clock) {
		t.Errorf("after the repair it is %v, want %v", now(), clock)
	}
	if c := claim(); c.LeaseUntil.Sub(clock) != left || c.GrantedAt.After(clock) {
		t.Errorf("the claim was granted at %v and has %v left, want %v", c.GrantedAt, c.LeaseUntil.Sub(clock), left)
	}
	create(b)
	if got := next(b); !got.Claim.GrantedAt.Equal(clock) {
		t.Errorf("granted at %v, want %v", got.Claim.GrantedAt, clock)
	}
	for _, err := range boardtest.Check(t.Context(), s) {
		t.Error(err)
	}
	if ahead, err := s.RepairClock(t.Context()); err != nil || ahead != 0 {
		t.Errorf("RepairClock again = %v, %v, want 0", ahead, err)
	}
}
