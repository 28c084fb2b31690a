package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A crew works through a plan by the rules, with everything that can happen on the
// way; then the history must tell a consistent story.
func TestBoard_aDay(t *testing.T) {
	path := path(t)
	b := board.New(open(t, path, nil), &board.Options{Home: &board.Project{Slug: "web", Policy: board.PolicyTrust}})
	ann := board.Actor{Principal: "local", Owner: "ann", Name: "ann", Person: true}
	plan := board.Plan{Project: "web", Goal: "All of it"}
	const tasks = 40
	for i := range tasks {
		task := board.PlanTask{Key: fmt.Sprint("t", i), NewTask: board.NewTask{
			Title: fmt.Sprint("Task ", i), Description: "Do it.", Areas: []string{fmt.Sprint("a", i%3)},
		}}
		if i >= 5 {
			task.After = []string{fmt.Sprint("t", i-5), fmt.Sprint("t", i-3)}
		}
		if i%10 == 9 {
			task.Within = fmt.Sprint("t", i-9)
			task.After = nil
		}
		plan.Tasks = append(plan.Tasks, task)
	}
	planned, err := b.CreatePlan(t.Context(), ann, plan)
	if err != nil || len(planned.Tasks) != tasks {
		t.Fatalf("CreatePlan() = %d tasks, %v", len(planned.Tasks), err)
	}
	var wg sync.WaitGroup
	for i := range 5 {
		b := board.New(open(t, path, nil), nil) // a process of its own, as far as the file goes
		wg.Go(func() {
			a := board.Actor{Principal: "local", Owner: fmt.Sprint("p", i)}
			name := ""
			for {
				h, err := b.Next(t.Context(), a, board.Wish{Worker: name, Projects: []string{"web"}})
				if _, ok := errors.AsType[*board.Nothing](err); ok {
					s, err := b.Summary(t.Context(), "web")
					if err != nil {
						t.Error(err)
						return
					}
					if s.Counts.Status[board.Done] == tasks {
						return
					}
					time.Sleep(time.Millisecond)
					continue
				}
				if err != nil {
					t.Errorf("Next() = %v", err)
					return
				}
				name = h.Claim.Worker.Name
				a.Worker = name
				switch n := rand.IntN(20); {
				case n == 0:
					_, err = b.Fail(t.Context(), a, h.Claim.Handle, board.Failure{Kind: board.FailNotNow, Reason: "later"})
					name, a.Worker = "", ""
				case n < 4:
					_, err = b.Progress(t.Context(), a, h.Claim.Handle, board.Note{Text: "half"})
				default:
					_, err = b.Done(t.Context(), a, h.Claim.Handle, board.Report{Summary: "did it"})
				}
				if err != nil {
					t.Errorf("%v: %v", h.Claim.Handle, err)
					return
				}
			}
		})
	}
	wg.Wait()
	s, err := b.Summary(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	if s.Counts.Status[board.Done] != tasks {
		t.Errorf("%+v, want all done", s.Counts)
	}
	store := open(t, path, nil)
	for _, check := range []struct{ what, query string }{
		{"events with a gap", `SELECT count(*) FROM tasks t WHERE t.seq <> (SELECT count(*) FROM events e WHERE e.task_id = t.id)
			OR t.seq <> (SELECT max(seq) FROM events e WHERE e.task_id = t.id)`},
		{"wrong open_blockers", `SELECT count(*) FROM tasks t WHERE t.open_blockers <>
			(SELECT count(*) FROM links k JOIN tasks b ON b.id = k.blocker_id WHERE k.task_id = t.id AND b.status <> 'done')`},
		{"attempts without an end", `SELECT count(*) FROM attempts a WHERE a.ended_at IS NULL
			AND NOT EXISTS (SELECT 1 FROM claims c WHERE c.task_id = a.task_id AND c.attempt = a.attempt)`},
		{"claims of tasks not in progress", `SELECT count(*) FROM claims c JOIN tasks t ON t.id = c.task_id WHERE t.status <> 'in_progress'`},
		{"overlapping attempts", `SELECT count(*) FROM attempts a JOIN attempts b ON a.task_id = b.task_id AND a.attempt + 1 = b.attempt
			WHERE a.ended_at > b.granted_at`},
	} {
		write(t, store, func(w board.Tx) error {
			n := -1
			err := w.(*tx).get(check.query, nil, &n)
			if n != 0 {
				t.Errorf("%s: %d", check.what, n)
			}
			return err
		})
	}
}

// An agent whose process died comes back in another one under its name, once its
// lease has run out: however short that was, and not before.
func TestBoard_nameAfterExpiry(t *testing.T) {
	clock := time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC)
	store := open(t, path(t), &Options{Clock: func() time.Time { return clock }})
	b := board.New(store, &board.Options{Home: &board.Project{Slug: "web", Lease: 30 * time.Second}})
	dead := board.Actor{Principal: "local", Owner: "dead"}
	back := board.Actor{Principal: "local", Owner: "back"}
	for _, title := range []string{"One", "Two"} {
		if _, _, err := b.Create(t.Context(), dead, board.NewTask{Project: "web", Title: title, Priority: board.Normal}, ""); err != nil {
			t.Fatal(err)
		}
	}
	h, err := b.Next(t.Context(), dead, board.Wish{Projects: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	wish := board.Wish{Worker: h.Claim.Worker.Name, Projects: []string{"web"}}
	clock = clock.Add(29 * time.Second)
	if _, err := b.Next(t.Context(), back, wish); !errors.Is(err, board.ErrDenied) {
		t.Errorf("Next(%s) from another process = %v, want denied while the lease runs", wish.Worker, err)
	}
	clock = clock.Add(2 * time.Second)
	other := board.Actor{Principal: "local", Owner: "other"}
	for range 2 { // takes Two, finds nothing, sweeps, and takes One
		if _, err := b.Next(t.Context(), other, board.Wish{Projects: []string{"web"}}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = b.Next(t.Context(), back, wish)
	if _, nothing := errors.AsType[*board.Nothing](err); !nothing {
		t.Errorf("Next(%s) from another process = %v, want that there is nothing: the name is free", wish.Worker, err)
	}
}

// The history names the worker, also where a process that was started again knows
// only its claim.
func TestBoard_claimFromAnotherProcess(t *testing.T) {
	clock := time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC)
	b := board.New(open(t, path(t), &Options{Clock: func() time.Time { return clock }}), &board.Options{Home: &board.Project{Slug: "web"}})
	first := board.Actor{Principal: "local", Owner: "first"}
	second := board.Actor{Principal: "local", Owner: "second"}
	if _, _, err := b.Create(t.Context(), first, board.NewTask{Project: "web", Title: "One", Priority: board.Normal}, ""); err != nil {
		t.Fatal(err)
	}
	h, err := b.Next(t.Context(), first, board.Wish{Projects: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Progress(t.Context(), second, h.Claim.Handle, board.Note{Text: "half of it"}); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(time.Hour)
	if _, err := b.Next(t.Context(), second, board.Wish{Projects: []string{"web"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Done(t.Context(), second, h.Claim.Handle, board.Report{Summary: "late"}); !errors.Is(err, board.ErrLeaseLost) {
		t.Fatalf("Done() = %v, want the lease lost", err)
	}
	events, err := b.Events(t.Context(), h.Task.ID, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	notes := 0
	for _, e := range events {
		if e.Kind != board.EventNote {
			continue
		}
		notes++
		if e.Actor != h.Claim.Worker.Name || e.Detail.Worker != h.Claim.Worker.Name {
			t.Errorf("the note %q is by %s, worker %q, want %s", e.Detail.Text, e.Actor, e.Detail.Worker, h.Claim.Worker.Name)
		}
	}
	if notes != 2 {
		t.Errorf("%d notes, want 2", notes)
	}
}
