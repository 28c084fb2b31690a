package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/telemetry"
)

var (
	worker = board.Actor{Principal: "local", Owner: "a"}
	person = board.Actor{Principal: "local", Owner: "p", Person: true}
)

// TestBoard lets a crew work on a board, and looks at what was measured.
func TestBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bench := newBench(t, telemetry.Options{})
		b := openBoard(t, &board.Options{Observer: bench.BoardObserver(), Sweep: 5 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = b.Run(ctx) })
		wg.Go(func() { _ = bench.WatchBoard(ctx, b) })
		defer wg.Wait()
		defer cancel()

		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		next := func(name string) *board.Handout {
			t.Helper()
			h, err := b.Next(ctx, worker, board.Wish{Projects: []string{"web"}, Worker: name})
			must(err)
			return h
		}
		for i := range 3 {
			_, _, err := b.Create(ctx, person, board.NewTask{Project: "web", Title: fmt.Sprintf("task %d", i)}, "")
			must(err)
		}
		time.Sleep(20 * time.Second) // in line
		h := next("")
		next(h.Claim.Worker.Name) // again
		time.Sleep(30 * time.Second)
		_, err := b.Done(ctx, worker, h.Claim.Handle, board.Report{Summary: "done"})
		must(err)

		h = next(h.Claim.Worker.Name)
		q, err := b.Ask(ctx, worker, board.NewQuestion{Claim: h.Claim.Handle, Text: "Which one?"})
		must(err)
		d, err := b.Ask(ctx, worker, board.NewQuestion{Claim: h.Claim.Handle, Text: "Or that?", Default: "yes", Within: time.Minute})
		must(err)
		time.Sleep(telemetry.CountEvery + time.Second)
		all := scrape(t, bench.Telemetry)
		wantSeries(t, all, "bossman_questions_open", 2)
		wantSeries(t, all, "bossman_leases_active", 1)
		wantSeries(t, all, `bossman_tasks{state="in_progress"}`, 1)
		wantSeries(t, all, `bossman_tasks{state="ready"}`, 1)
		wantSeries(t, all, `bossman_tasks{state="done"}`, 1)

		_, err = b.Answer(ctx, person, q.ID, "This one")
		must(err)
		time.Sleep(time.Hour) // the other gets its default, and the lease runs out
		if q, err := b.Question(ctx, d.ID); err != nil || q.State != board.QuestionAnswered {
			t.Fatalf("the question with a default is %s, %v", q.State, err)
		}
		if _, err := b.Done(ctx, worker, board.Handle{Task: h.Task.ID, Attempt: 7, Nonce: "aaaaa"}, board.Report{Summary: "x"}); !errors.Is(err, board.ErrLeaseLost) {
			t.Errorf("Done with an invented claim = %v", err)
		}
		must(b.Pause(ctx, person, "web"))
		var nothing *board.Nothing
		if _, err := b.Next(ctx, worker, board.Wish{Projects: []string{"web"}}); !errors.As(err, &nothing) {
			t.Errorf("Next on a paused project = %v", err)
		}
		if _, err := b.Next(ctx, worker, board.Wish{Projects: []string{"web"}, Worker: "nobody"}); !errors.Is(err, board.ErrInvalid) {
			t.Errorf("Next for nobody = %v", err)
		}
		gone, leave := context.WithCancel(ctx)
		leave()
		if _, err := b.Next(gone, worker, board.Wish{Projects: []string{"web"}}); err == nil {
			t.Error("Next for a caller that has gone")
		}

		must(b.Resume(ctx, person, "web"))
		_, err = b.Next(ctx, worker, board.Wish{Projects: []string{"web"}, Task: h.Task.ID}) // which had expired 45 minutes ago or so
		must(err)

		all = scrape(t, bench.Telemetry)
		for result, n := range map[string]float64{"granted": 3, "again": 1, "nothing": 1, "refused": 1, "failed": 1} {
			wantSeries(t, all, fmt.Sprintf("bossman_task_claims_total{result=%q}", result), n)
		}
		wantSeries(t, all, "bossman_lease_expirations_total", 1)
		wantSeries(t, all, "bossman_task_queue_wait_seconds_count", 3)
		wantSeries(t, all, `bossman_task_queue_wait_seconds_bucket{le="1800"}`, 2)
		wantSeries(t, all, `bossman_task_queue_wait_seconds_bucket{le="3600"}`, 3) // since it was free, not since it was made
		wantSeries(t, all, `bossman_task_queue_wait_seconds_bucket{le="15"}`, 0)
		wantSeries(t, all, `bossman_task_queue_wait_seconds_bucket{le="60"}`, 2)
		wantSeries(t, all, `bossman_task_run_seconds_count{cause="done"}`, 1)
		wantSeries(t, all, `bossman_task_run_seconds_sum{cause="done"}`, 30)
		wantSeries(t, all, `bossman_task_run_seconds_count{cause="expired"}`, 1)
		wantSeries(t, all, `bossman_question_answer_seconds_count{by="person"}`, 1)
		wantSeries(t, all, `bossman_question_answer_seconds_count{by="default"}`, 1)
	})
}

// A slowCounter takes its time.
type slowCounter struct {
	took   time.Duration
	counts int
	broken atomic.Bool
}

func (c *slowCounter) Counts(context.Context) (board.Counts, error) {
	c.counts++
	time.Sleep(c.took)
	var err error
	if c.broken.Load() {
		err = errors.New("gone")
	}
	return board.Counts{Status: map[board.Status]int{board.InProgress: 3}, Ready: 2}, err
}

func (c *slowCounter) Questions(_ context.Context, f board.QuestionFilter) ([]board.Question, error) {
	const open = 450 // three pages
	n := min(open-int(f.After), f.Limit)
	page := make([]board.Question, n)
	for i := range page {
		page[i].ID = f.After + board.QuestionID(i) + 1
	}
	return page, nil
}

// TestWatchBoard_cost counts a board that takes long to count: less often.
func TestWatchBoard_cost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, telemetry.Options{})
		c := &slowCounter{took: 10 * time.Second}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := b.WatchBoard(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("WatchBoard = %v", err)
			}
		})
		time.Sleep(time.Hour)
		wantSeries(t, scrape(t, b.Telemetry), "bossman_questions_open", 450)
		c.broken.Store(true)
		time.Sleep(time.Hour)
		if _, ok := scrape(t, b.Telemetry)["bossman_leases_active"]; ok {
			t.Error("what cannot be counted is shown")
		}
		wg.Wait()
		if most := int(3*time.Hour/(10*time.Second)) / telemetry.CountShare; c.counts > most+1 {
			t.Errorf("counted %d times in three hours, want at most %d", c.counts, most+1)
		}
	})
}

func TestDatabase(t *testing.T) {
	b := newBench(t, telemetry.Options{})
	observe := b.Database()
	for _, err := range []error{
		nil, board.ErrNotFound, fmt.Errorf("x: %w", board.ErrConflict), &board.LostError{}, &board.StoppedError{}, context.Canceled,
	} {
		observe("write", time.Millisecond, err)
	}
	for _, err := range []error{board.ErrUnavailable, board.ErrUnknown, errors.New("syntax error"), errors.Join(board.ErrUnavailable, context.Canceled)} {
		observe("write", time.Millisecond, err)
	}
	all := scrape(t, b.Telemetry)
	wantSeries(t, all, `bossman_db_query_duration_seconds_count{operation="write",result="ok"}`, 6)
	wantSeries(t, all, `bossman_db_query_duration_seconds_count{operation="write",result="error"}`, 4)
}
