package sqlite

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
)

func TestClaim_order(t *testing.T) {
	s := open(t, path(t), nil)
	seed(t, s, 6, func(i int, task *board.Task) {
		task.QueuedAt = task.QueuedAt.Add(-time.Duration(i) * time.Second) // the last is the oldest
		switch i {
		case 0:
			task.Priority = board.Urgent
		case 5:
			task.Priority = board.Low
		case 4:
			task.Hold = true
		}
	})
	got := claim(t, s, want("a", "b"))
	got = append(got, claim(t, s, want("c", "d", "e", "f"))...)
	if want := []int64{1, 4, 3, 2, 6}; !slices.Equal(got, want) {
		t.Errorf("Claim() gave %v, want %v", got, want)
	}
}

func TestClaim_areas(t *testing.T) {
	s := open(t, path(t), nil)
	seed(t, s, 6, func(i int, task *board.Task) {
		task.Areas = [][]string{{"web/ui"}, {"web"}, {"web/ui/x"}, {"webby"}, {"."}, {"web/ui"}}[i]
		if i == 5 {
			task.Priority = board.High
		}
	})
	// 6 for its priority; then 4, which alone does not overlap; then the rest by age.
	if got, want := claim(t, s, want("a", "b", "c", "d", "e", "f")), []int64{6, 4, 1, 2, 3, 5}; !slices.Equal(got, want) {
		t.Errorf("Claim() gave %v, want %v", got, want)
	}
}

func TestClaim_skills(t *testing.T) {
	s := open(t, path(t), nil)
	seed(t, s, 3, func(i int, task *board.Task) { task.Skills = [][]string{{"go", "sql"}, {"go"}, nil}[i] })
	none, some := want("a", "b", "c"), want("d", "e", "f")
	none.Skills, some.Skills = []string{}, []string{"go"}
	if got := claim(t, s, none); !slices.Equal(got, []int64{3}) {
		t.Errorf("Claim(no skills) = %v, want 3", got)
	}
	if got := claim(t, s, some); !slices.Equal(got, []int64{2}) {
		t.Errorf("Claim(go) = %v, want 2", got)
	}
	if got := claim(t, s, want("g")); !slices.Equal(got, []int64{1}) {
		t.Errorf("Claim(undeclared) = %v, want 1", got)
	}
}

func TestClaim_declined(t *testing.T) {
	now := time.Unix(1000, 0)
	s := open(t, path(t), &Options{Clock: func() time.Time { return now }})
	seed(t, s, 60, nil)
	write(t, s, func(tx board.Tx) error {
		for no := range int64(59) {
			if err := tx.Decline(claimant("a").Worker, web(no+1), now.Add(10*time.Minute)); err != nil {
				return err
			}
		}
		return nil
	})
	if got := claim(t, s, want("a", "b")); !slices.Equal(got, []int64{60, 1}) {
		t.Errorf("Claim() = %v, want 60 for who declined the others", got)
	}
	now = now.Add(11 * time.Minute)
	write(t, s, func(tx board.Tx) error { return tx.DeleteClaim(web(60)) })
	if got := claim(t, s, want("a")); !slices.Equal(got, []int64{2}) {
		t.Errorf("Claim() later = %v, want 2", got)
	}
}

func TestClaim_projects(t *testing.T) {
	s := open(t, path(t), nil)
	drawn := map[string]int{}
	write(t, s, func(tx board.Tx) error {
		for _, p := range []board.Project{{Slug: "web"}, {Slug: "app", Lease: time.Hour}, {Slug: "idle", PausedBy: "ann"}, {Slug: "old", Archived: true}} {
			if err := errors.Join(tx.PutProject(p), addTasks(tx, p.Slug, 30, nil)); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range 30 {
		w := want("w" + string(rune('A'+i)))
		w.Projects = []string{"web", "app", "idle", "old", "none"}
		claims, err := s.Claim(t.Context(), w)
		if err != nil || len(claims) != 1 {
			t.Fatalf("Claim() = %v, %v", claims, err)
		}
		c := claims[0]
		drawn[c.Task.Project]++
		if lease := map[string]time.Duration{"web": 10 * time.Minute, "app": time.Hour}[c.Task.Project]; c.Lease != lease {
			t.Errorf("lease of %v = %v, want %v", c.Task, c.Lease, lease)
		}
	}
	if drawn["web"] < 3 || drawn["app"] < 3 || len(drawn) != 2 {
		t.Errorf("drawn %v", drawn)
	}
}

func TestClaim_oneEach(t *testing.T) {
	s := open(t, path(t), nil)
	seed(t, s, 5, nil)
	claim(t, s, want("a"))
	if got := claim(t, s, want("a", "b")); !slices.Equal(got, []int64{2}) {
		t.Errorf("Claim() = %v, want 2 for b alone", got)
	}
	write(t, s, func(tx board.Tx) error {
		c, err := tx.LiveClaim(web(1))
		c.Task = web(3)
		if err := tx.InsertClaim(c, nil); !errors.Is(err, board.ErrConflict) {
			t.Errorf("InsertClaim() for a worker that has one = %v, want ErrConflict", err)
		}
		if _, err := tx.LiveClaim(web(3)); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("LiveClaim() of none = %v, want ErrNotFound", err)
		}
		return err
	})
}

func TestClaim_roundTrip(t *testing.T) {
	now := time.Unix(1000, 5000).UTC()
	s := open(t, path(t), &Options{Clock: func() time.Time { return now }})
	seed(t, s, 2, func(i int, task *board.Task) { task.Areas = []string{"a"} })
	w := want("a")
	w.For[0].Session, w.For[0].Where = "s1", board.Where{Host: "h", Dir: "/d", Branch: "b", Head: "abc", Uncommitted: 2}
	claims, err := s.Claim(t.Context(), w)
	if err != nil || len(claims) != 1 {
		t.Fatalf("Claim() = %v, %v", claims, err)
	}
	c := claims[0]
	write(t, s, func(tx board.Tx) error {
		got, err := tx.LiveClaim(c.Task)
		if !reflect.DeepEqual(got, c) {
			t.Errorf("LiveClaim() = %+v\nwant %+v", got, c)
		}
		a, err2 := tx.Attempt(c.Task, 1)
		if a.Where != w.For[0].Where || a.Handle != c.Handle || !a.EndedAt.IsZero() {
			t.Errorf("Attempt() = %+v", a)
		}
		a.EndedAt, a.Cause, a.Reason, a.DoNotRepeat, a.Created, a.ReportHash, a.ReportAnswer = now, board.CauseDone, "r", "d", 2, "h", "x"
		err3 := tx.UpdateAttempt(a)
		b, err4 := tx.Attempt(c.Task, 1)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("Attempt() = %+v\nwant %+v", b, a)
		}
		for owner, want := range map[string]bool{"p1": true, "p2": false} {
			if held, err := tx.Held(c.Task, board.Claimant{Owner: owner}); held != want || err != nil {
				t.Errorf("Held(%s) = %v, %v", owner, held, err)
			}
		}
		return errors.Join(err, err2, err3, err4)
	})
	read(t, s, func(r board.Reader) error {
		st, err := r.Standing(c.Worker)
		if st.Claim == nil || st.Claim.Handle != c.Handle || st.Worker.Owner != "p1" || !st.Worker.LastSeen.Equal(now) {
			t.Errorf("Standing() = %+v", st)
		}
		for _, f := range []board.ClaimFilter{{}, {Project: "web"}, {Principal: "local"}, {Owner: "p1", Worker: "a"}, {Session: "s1"}} {
			if list, err := r.Claims(f); len(list) != 1 || err != nil {
				t.Errorf("Claims(%+v) = %v, %v", f, list, err)
			}
		}
		if list, err := r.Claims(board.ClaimFilter{Owner: "p2"}); len(list) != 0 || err != nil {
			t.Errorf("Claims(p2) = %v, %v", list, err)
		}
		workers, err2 := r.Workers(now)
		later, err3 := r.Workers(now.Add(time.Second))
		if len(workers) != 1 || len(later) != 0 {
			t.Errorf("Workers() = %v, %v", workers, later)
		}
		return errors.Join(err, err2, err3)
	})
}

func TestLease(t *testing.T) {
	now := time.Unix(1000, 0).UTC()
	s := open(t, path(t), &Options{Clock: func() time.Time { return now }})
	seed(t, s, 2, nil)
	claims, err := s.Claim(t.Context(), want("a"))
	if err != nil || len(claims) != 1 {
		t.Fatal(claims, err)
	}
	h := claims[0].Handle
	renew := func(h board.Handle, want bool) {
		t.Helper()
		if ok, err := s.Renew(t.Context(), h); ok != want || err != nil {
			t.Errorf("Renew(%v) at %d = %v, %v, want %v", h, now.Unix(), ok, err, want)
		}
	}
	expired := func(want int) {
		t.Helper()
		write(t, s, func(tx board.Tx) error {
			list, err := tx.Expired(10)
			if len(list) != want {
				t.Errorf("Expired() at %d = %v, want %d", now.Unix(), list, want)
			}
			return err
		})
	}
	now = now.Add(9 * time.Minute)
	renew(h, true)
	renew(board.Handle{Task: h.Task, Attempt: h.Attempt, Nonce: "zzzzz"}, false)
	now = now.Add(10*time.Minute - time.Microsecond)
	expired(0)
	now = now.Add(time.Microsecond)
	expired(1)
	renew(h, false)
}

func TestDue(t *testing.T) {
	now := time.Unix(1000, 0).UTC()
	s := open(t, path(t), &Options{Clock: func() time.Time { return now }})
	otter := board.WorkerID{Principal: "local", Name: "otter"}
	seed(t, s, 2, func(i int, task *board.Task) {
		if i == 0 {
			task.NotBefore, task.ReservedFor = now.Add(time.Minute), otter
		}
	})
	write(t, s, func(tx board.Tx) error {
		st, err := tx.Standing(otter)
		if st.Reserved != web(1) || !st.Worker.IsZero() {
			t.Errorf("Standing() = %+v, want web-1 reserved", st)
		}
		if err := tx.PutWorker(board.Worker{WorkerID: otter, Owner: "p-1", LastSeen: now}); err != nil { // it is connected
			return err
		}
		due, err2 := tx.Due(10)
		if len(due) != 0 {
			t.Errorf("Due() = %v", due)
		}
		now = now.Add(time.Minute)
		due, err3 := tx.Due(10)
		if len(due) != 1 || due[0].ID != web(1) {
			t.Errorf("Due() a minute later = %v", due)
		}
		return errors.Join(err, err2, err3)
	})
}
