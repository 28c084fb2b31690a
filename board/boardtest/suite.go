package boardtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/invariant"
)

// Check is invariant.Check.
func Check(ctx context.Context, s board.Store) []error { return invariant.Check(ctx, s) }

// A group is the tests of one topic.
type group struct {
	name  string
	tests []test
}

// A test is a statement, and the function that shows that it holds.
type test struct {
	name string
	run  func(*fixture)
}

// Run runs the suite. open returns a new, empty store for each test, and closes it when
// the test ends; stores of several tests are open at the same time. After each test Run
// checks the invariants.
func Run(t *testing.T, open func(t *testing.T) board.Store) {
	for _, g := range []group{
		storeTasks, storeTransactions, storeClaims, storeHandOut, storeFeed, storeQuestions, storeSweep,
		ruleOrder, ruleFence, ruleReports, ruleChecks, ruleBudget, ruleKeys, ruleLinks, ruleParents, ruleQuestions, ruleParking,
		ruleWorkers, ruleApart, rulePresence, ruleDismissal, ruleWaiting, ruleVerdicts, ruleReviews, ruleByHand, rulePeople, ruleGrowth, ruleWhy, ruleMaintenance, ruleRuns, ruleDiffs, ruleArchives, ruleErasures, ruleInbox, ruleLanding, ruleQueue, ruleLandNotes, ruleIssues, ruleCalls, ruleSteps, ruleTouches, ruleArtifacts, ruleUpstreams, ruleRaces, controls,
	} {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.tests {
				t.Run(c.name, func(t *testing.T) { c.run(newFixture(t, open(t))) })
			}
		})
	}
	t.Run("model", func(t *testing.T) {
		t.Parallel()
		walk(t, open)
	})
}

// project is the project of the tests.
const project = "web"

// A fixture is a board on a new store, with one project.
type fixture struct {
	*testing.T
	ctx   context.Context
	store board.Store
	board *board.Board
	waits chan struct{} // receives whenever a worker begins to wait at a board with observer
	// unchecked is set by tests that break the invariants on purpose.
	unchecked bool
	// keys counts the idempotency keys of a test with keys; see bothWays.
	keys *int
}

func newFixture(t *testing.T, s board.Store) *fixture {
	f := &fixture{T: t, ctx: t.Context(), store: s, waits: make(chan struct{}, 1000)}
	f.board = board.New(s, &board.Options{Sweep: 10 * time.Millisecond, Observer: f.observer()})
	f.project(board.Project{Slug: project, Name: "Web", Skills: []string{"css", "go", "gpu", "sql"}})
	t.Cleanup(func() {
		if f.unchecked {
			return
		}
		for _, err := range Check(context.WithoutCancel(f.ctx), s) {
			t.Errorf("Check: %v", err)
		}
	})
	return f
}

func (f *fixture) project(p board.Project) {
	f.Helper()
	f.ok(f.board.SetProject(f.ctx, p))
}

// ok ends the test if err is not nil.
func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// is fails the test unless err is want.
func (f *fixture) is(what string, err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("%s: error %v, want %v", what, err, want)
	}
}

// equal fails the test unless got is want, both as %v shows them.
func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		f.Errorf("%s = %s, want %s", what, g, w)
	}
}

// write runs fn in a transaction of the store.
func (f *fixture) write(fn func(board.Tx) error) {
	f.Helper()
	f.ok(f.store.Write(f.ctx, fn))
}

// read runs fn on the store.
func (f *fixture) read(fn func(board.Reader) error) {
	f.Helper()
	f.ok(f.store.Read(f.ctx, fn))
}

// eventually waits until cond holds.
func (f *fixture) eventually(what string, cond func() bool) {
	f.Helper()
	for deadline := time.Now().Add(10 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.Fatalf("%s: not so after 10 s", what)
		}
	}
}

// observer lets waiting see who waits at a board.
func (f *fixture) observer() board.Observer {
	return board.Observer{Waiting: func() { f.waits <- struct{}{} }}
}

// waiting waits until n more workers wait for a task.
func (f *fixture) waiting(n int) {
	f.Helper()
	late := time.After(10 * time.Second)
	for range n {
		select {
		case <-f.waits:
		case <-late:
			f.Fatalf("after 10 s fewer than %d workers wait", n)
		}
	}
}

// running runs the board until the test ends.
func (f *fixture) running() {
	ctx, cancel := context.WithCancel(f.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.board.Run(ctx)
	}()
	f.Cleanup(func() {
		cancel()
		<-ended
	})
}

var ada = board.Actor{Principal: "ada", Owner: "ada", Name: "ada", Person: true}

// create creates a task, modified by more.
func (f *fixture) create(title string, more ...func(*board.NewTask)) board.ID {
	f.Helper()
	n := board.NewTask{Project: project, Title: title, Priority: board.Normal}
	for _, m := range more {
		m(&n)
	}
	t, _, err := f.board.Create(f.ctx, ada, n, "")
	if err != nil {
		f.Fatalf("create %q: %v", title, err)
	}
	return t.ID
}

func after(ids ...board.ID) func(*board.NewTask) {
	return func(n *board.NewTask) { n.DependsOn = ids }
}

func within(id board.ID) func(*board.NewTask) { return func(n *board.NewTask) { n.Parent = id } }

func accepting(s string) func(*board.NewTask) { return func(n *board.NewTask) { n.Acceptance = s } }

func wanting(kinds ...board.EvidenceKind) func(*board.NewTask) {
	return func(n *board.NewTask) { n.Wants = kinds }
}

func needing(skills ...string) func(*board.NewTask) {
	return func(n *board.NewTask) { n.Skills = skills }
}

func in(areas ...string) func(*board.NewTask) { return func(n *board.NewTask) { n.Areas = areas } }

func priority(p board.Priority) func(*board.NewTask) {
	return func(n *board.NewTask) { n.Priority = p }
}

func held(n *board.NewTask) { n.Hold = true }

func atMost(failures int) func(*board.NewTask) {
	return func(n *board.NewTask) { n.MaxFailures = failures }
}

// get reads all about a task.
func (f *fixture) get(id board.ID) board.Dossier {
	f.Helper()
	d, err := f.board.Get(f.ctx, id, 100)
	if err != nil {
		f.Fatalf("get %v: %v", id, err)
	}
	return d
}

// status fails the test unless a task has the status.
func (f *fixture) status(id board.ID, want board.Status) {
	f.Helper()
	if got := f.get(id).Task.Status; got != want {
		f.Fatalf("%v is %s, want %s", id, got, want)
	}
}

// kinds lists the kinds of a task's events.
func (f *fixture) kinds(id board.ID) string {
	f.Helper()
	var kinds []string
	for _, e := range f.get(id).Events {
		kinds = append(kinds, string(e.Kind))
	}
	return strings.Join(kinds, " ")
}

// last returns the newest event of a task.
func (f *fixture) last(id board.ID) board.Event {
	f.Helper()
	events := f.get(id).Events
	if len(events) == 0 {
		f.Fatalf("%v has no events", id)
	}
	return events[len(events)-1]
}

// event returns the newest event of a kind.
func (f *fixture) event(id board.ID, k board.Kind) board.Event {
	f.Helper()
	events := f.get(id).Events
	i := len(events) - 1
	for ; i >= 0 && events[i].Kind != k; i-- {
	}
	if i < 0 {
		f.Fatalf("%v has no event %s, only: %s", id, k, f.kinds(id))
	}
	return events[i]
}

// expireLease lets the lease of a task's claim expire, without a sweep. It was over before
// the last sweep, so that a slow test is not taken for an outage.
func (f *fixture) expireLease(id board.ID) {
	f.Helper()
	f.leaseLeft(id, -24*time.Hour)
}

// endCooldown lets a cool-down or a reservation end, without a sweep.
func (f *fixture) endCooldown(id board.ID) {
	f.Helper()
	f.write(func(tx board.Tx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		ts, err := tx.Lock(id)
		if err != nil {
			return err
		}
		if ts[0].NotBefore.IsZero() {
			f.Fatalf("%v is neither cooling down nor reserved", id)
		}
		ts[0].NotBefore = now.Add(-time.Second)
		return tx.UpdateTask(ts[0], ts[0].Seq)
	})
}

// overdue lets the deadline of a question pass.
func (f *fixture) overdue(id board.QuestionID) {
	f.Helper()
	f.write(func(tx board.Tx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		q, err := tx.Question(id)
		if err != nil {
			return err
		}
		q.NeededBy = now.Add(-time.Second)
		return tx.UpdateQuestion(q)
	})
}

// sweep makes the board sweep, which a call of Next that finds nothing does. The call is
// for another project, so that tasks that the sweep frees are not claimed.
func (f *fixture) sweep() {
	f.Helper()
	f.project(board.Project{Slug: "nowhere"})
	_, err := f.board.Next(f.ctx, board.Actor{Principal: "sweeper", Owner: "sweeper"}, board.Wish{Projects: []string{"nowhere"}})
	if _, nothing := errors.AsType[*board.Nothing](err); !nothing {
		f.Fatalf("sweep: %v, want nothing to hand out", err)
	}
}

// expire lets the lease of a task's claim expire, and sweeps.
func (f *fixture) expire(id board.ID) {
	f.Helper()
	f.expireLease(id)
	f.sweep()
}

// ids returns the IDs of tasks as text, sorted.
func ids(list []board.ID) string {
	var out []string
	for _, id := range list {
		out = append(out, id.String())
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func taskIDs(ts []board.Task) string {
	list := make([]board.ID, len(ts))
	for i := range ts {
		list[i] = ts[i].ID
	}
	var out []string
	for _, id := range list {
		out = append(out, id.String())
	}
	return strings.Join(out, " ")
}

// words formats values with spaces between them.
func words(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }
