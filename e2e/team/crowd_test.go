package team

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/boardtest"
	"github.com/bossman-dev/bossman/e2e/faults/history"
	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/e2e/internal/teamserver"
	"github.com/bossman-dev/bossman/mcp"
)

const (
	crowd     = 200 // workers, half of them on laptops
	crowdKeys = 20  // that they share
	killEvery = 5 * time.Second
	lease     = 10 * time.Minute // the shorter of the two that there are

	// thinking is how long a worker has to do with a task, on average. Without it the
	// calls would wait for each other, and not for a replica.
	thinking = 2 * time.Second
)

// maxGap is how long it may take a call that met a replica's end to succeed from then on,
// for 99 of 100, beyond what others take in the second after it.
var maxGap = harness.Bound(time.Second)

// A crowd works while one replica after the other is killed and started again. Each
// attempt is granted once, what was acknowledged stays, and no call fails for a client
// that tries again (see worker.again).
func TestCrowd(t *testing.T) {
	tasks := 1500
	if n, err := strconv.Atoi(os.Getenv("BOSSMAN_E2E_TEAM_TASKS")); err == nil {
		tasks = n
	}
	team := teamserver.Start(t, bossman, 3)
	fill(t, team, tasks)
	keys := make([]string, crowdKeys)
	for i := range keys {
		keys[i] = team.Key(t, "--role", "worker", "--owner", fmt.Sprintf("crew-%d", i))
	}
	log := &journal{}
	workers := make([]*worker, crowd)
	for i := range workers {
		w := &worker{name: fmt.Sprintf("w%d", i), log: log, thinking: thinking}
		key := keys[i%len(keys)]
		if i%2 == 0 {
			w.hands = newAgent(t, team, key, revisions[i/2%len(revisions)], w)
		} else {
			w.hands = newLaptop(t, team, key, w)
		}
		workers[i] = w
	}

	// Everybody gets a first task, and with it a name, before there is trouble: a call
	// without a name cannot be repeated.
	begun := time.Now()
	parallel(workers, func(w *worker) { w.turn(t) })
	log.calls = nil // all came at once
	var killing sync.WaitGroup
	stop := make(chan struct{})
	kills := 0
	killing.Go(func() {
		for tick := time.NewTicker(killEvery); ; kills++ {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
			}
			r := team.Replicas[kills%len(team.Replicas)]
			log.kill()
			r.Kill()
			if err := r.Restart(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	parallel(workers, func(w *worker) {
		for w.turn(t) {
		}
	})
	took := time.Since(begun)
	close(stop)
	killing.Wait()

	log.report(t, tasks, took, kills)
	if refused := team.Refused(); kills > 0 && refused == 0 {
		t.Logf("no call met the end of a replica")
	}
	checkBoard(t, team, tasks, log.ops)
}

func parallel(workers []*worker, do func(*worker)) {
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(func() { do(w) })
	}
	wg.Wait()
}

// fill puts tasks on the board.
func fill(t *testing.T, team *teamserver.Team, tasks int) {
	t.Helper()
	b := board.New(team.Store(t), nil)
	for made := 0; made < tasks; {
		plan := board.Plan{Project: teamserver.Project}
		for range min(500, tasks-made) {
			made++
			plan.Tasks = append(plan.Tasks, board.PlanTask{
				Key: fmt.Sprintf("k%d", made), NewTask: board.NewTask{Title: fmt.Sprintf("Task %d", made), Priority: board.Normal},
			})
		}
		if _, err := b.CreatePlan(t.Context(), board.Actor{Principal: "ada", Owner: "key-ada", Name: "ada"}, plan); err != nil {
			t.Fatal(err)
		}
	}
}

// checkBoard holds what the clients were told against what the board says.
func checkBoard(t *testing.T, team *teamserver.Team, tasks int, ops []history.Op) {
	t.Helper()
	store := team.Store(t)
	errs := boardtest.Check(t.Context(), store)
	errs = append(errs, history.Check(ops, team.Events(t), lease)...)
	for i, err := range errs {
		if i == 10 {
			t.Errorf("… and %d more", len(errs)-i)
			break
		}
		t.Error(err)
	}
	for query, want := range map[string]int64{
		`SELECT count(*) FROM tasks WHERE status = 'done'`:                                       int64(tasks),
		`SELECT count(*) FROM tasks WHERE status <> 'done' OR attempt <> 1 OR failures <> 0`:     0,
		`SELECT count(*) FROM events WHERE kind = 'claimed'`:                                     int64(tasks),
		`SELECT count(*) FROM events WHERE kind = 'done'`:                                        int64(tasks),
		`SELECT count(DISTINCT task_id) FROM events WHERE kind = 'claimed'`:                      int64(tasks),
		`SELECT count(*) FROM events WHERE kind NOT IN ('created','claimed','delivered','done')`: 0,
		`SELECT count(*) FROM attempts WHERE ended_at IS NULL`:                                   0,
		`SELECT count(*) FROM claims`:                                                            0,
	} {
		if got := team.SQL(t, query); got != want {
			t.Errorf("%s = %d, want %d", query, got, want)
		}
	}
	t.Logf("%d claims were given again to who held them", team.SQL(t, `SELECT count(*) FROM events WHERE kind = 'delivered'`))
}

// A journal is what the crowd did and was told.
type journal struct {
	mu       sync.Mutex
	ops      []history.Op
	killed   time.Time       // the last time that a replica was
	calls    []time.Duration // that nothing happened to
	near     []time.Duration // those that began within a second after a replica was killed
	again    []time.Duration // that had to be tried again, from the first try
	gaps     []time.Duration // the same, from the first failure
	tries    int             // that failed
	failures int
}

func (j *journal) add(op history.Op) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ops = append(j.ops, op)
}

// call notes how long a call took, and since when it had failed, if it had.
func (j *journal) call(took time.Duration, failed time.Time, tries int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if tries == 0 {
		j.calls = append(j.calls, took)
		if since := time.Since(j.killed) - took; since > 0 && since < time.Second {
			j.near = append(j.near, took)
		}
		return
	}
	j.again = append(j.again, took)
	j.gaps = append(j.gaps, time.Since(failed))
	j.tries += tries
}

func (j *journal) kill() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.killed = time.Now()
}

func (j *journal) failed() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failures++
}

func (j *journal) report(t *testing.T, tasks int, took time.Duration, kills int) {
	t.Helper()
	t.Logf("%d workers, %d tasks in %.1f s: %.0f/s; %d replicas killed; %d calls %s, just after a kill %s; %d tried again, %d times: %s, and from the failure on %s; %d failed",
		crowd, tasks, took.Seconds(), float64(tasks)/took.Seconds(), kills, len(j.calls), spread(j.calls), spread(j.near),
		len(j.again), j.tries, spread(j.again), spread(j.gaps), j.failures)
	if j.failures > 0 {
		t.Errorf("%d calls failed, want none", j.failures)
	}
	if len(j.gaps) == 0 || len(j.near) == 0 {
		return
	}
	if gap, usual := at(j.gaps, 0.99), at(j.near, 0.99); gap > maxGap+usual {
		t.Errorf("a call that met the end of a replica took %v more (p99), want %v at most beyond what others take then (%v)", gap, maxGap, usual)
	}
}

// at is the value below which a part of a list lies.
func at(list []time.Duration, q float64) time.Duration {
	slices.Sort(list)
	return list[min(len(list)-1, int(q*float64(len(list))))]
}

func spread(list []time.Duration) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("p50 %v, p99 %v, max %v", at(list, 0.5).Round(time.Millisecond), at(list, 0.99).Round(time.Millisecond), at(list, 1).Round(time.Millisecond))
}

// A worker takes tasks one after the other and reports them done.
type worker struct {
	name  string
	log   *journal
	hands hands
	no    int
	fails fails
	// thinking is how long it has to do with a task, on average.
	thinking time.Duration
}

// hands are how a worker reaches the board.
type hands interface {
	next(ctx context.Context) (claim string, err error) // empty: there is nothing
	done(ctx context.Context, claim string) error
	// lasting reports whether the hands themselves try again.
	lasting() bool
}

// turn takes a task and reports it done. It reports false when there is nothing left.
func (w *worker) turn(t *testing.T) bool {
	claim := ""
	ok := w.again(t, history.Claim, &claim, func(ctx context.Context) (err error) {
		claim, err = w.hands.next(ctx)
		return err
	})
	if !ok || claim == "" {
		return false
	}
	time.Sleep(rand.N(2 * w.thinking))
	return w.again(t, history.Done, &claim, func(ctx context.Context) error { return w.hands.done(ctx, claim) })
}

const (
	firstPause = 20 * time.Millisecond
	mostPause  = 200 * time.Millisecond
	giveUp     = 15 * time.Second
)

// again makes a call, and repeats it as long as nobody has decided it: the server
// could not be connected to, the connection broke before an answer, or who is on the
// way said 429, 502, 503 or 504. That is safe for the two calls made here: a worker who
// asks for work under its name is given what it holds, and a report that was taken is
// answered as it was. Anything else that is not a success is a failure.
func (w *worker) again(t *testing.T, kind history.Kind, claim *string, do func(context.Context) error) bool {
	begun := time.Now()
	w.fails.reset()
	ctx, cancel := context.WithTimeout(t.Context(), 2*giveUp)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		w.no++
		op := history.Op{Client: w.name, No: w.no, Kind: kind, Claim: *claim, Call: time.Now().UnixNano()}
		err := do(ctx)
		op.Return, op.Out = time.Now().UnixNano(), history.OK
		if kind == history.Claim {
			op.Claim = *claim
			if err == nil && *claim == "" {
				op.Out = history.Nothing
			}
		}
		if err == nil {
			w.log.add(op)
			first, n := w.fails.since()
			w.log.call(time.Since(begun), first, n)
			return true
		}
		op.Out, op.Return, op.Why = history.Unknown, math.MaxInt64, err.Error()
		w.log.add(op)
		if !undecided(err) || w.hands.lasting() || time.Since(begun) > giveUp {
			t.Errorf("%s, %s %s after %v: %v", w.name, kind, *claim, time.Since(begun), err)
			w.log.failed()
			return false
		}
		time.Sleep(max(pause, retryAfter(err)))
	}
}

// undecided reports whether a call may be made again.
func undecided(err error) bool {
	status, ok := errors.AsType[*mcp.StatusError](err)
	if !ok {
		var refused *refusedError
		return !errors.As(err, &refused)
	}
	return slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, status.Code)
}

// retryAfter is what a server that refuses for now asks for.
func retryAfter(err error) time.Duration {
	status, ok := errors.AsType[*mcp.StatusError](err)
	if !ok {
		return 0
	}
	secs, _ := strconv.Atoi(cmp.Or(http.Header(status.Header).Get("Retry-After"), "0"))
	return time.Duration(secs) * time.Second
}
