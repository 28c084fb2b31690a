// Package faults kills programs and databases in the middle of their work and
// shows that nothing that was acknowledged is lost and nobody was told a lie.
//
// BOSSMAN_FAULTS multiplies the number of kills.
package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/boardtest"
	"github.com/bossman-dev/bossman/e2e/faults/history"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
	"github.com/bossman-dev/bossman/store/sqlite"
)

const lease = 600 * time.Millisecond

// A run is one board, the workers on it and what they have told.
type run struct {
	t      *testing.T
	bin    string
	db     string
	broken string
	open   func() board.Store

	mu      sync.Mutex
	started int
	ops     []history.Op
}

func newRun(t *testing.T, db string, open func() board.Store) *run {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "worker")
	build := exec.Command("go", "build", "-o", bin, "./worker")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build ./worker: %v\n%s", err, out)
	}
	return &run{t: t, bin: bin, db: db, open: open}
}

// fill makes the project and n tasks.
func (r *run) fill(n int) {
	r.t.Helper()
	store := r.open()
	defer store.Close()
	b := board.New(store, nil)
	ctx := r.t.Context()
	if err := b.SetProject(ctx, board.Project{Slug: "web", Policy: board.PolicyTrust}); err != nil {
		r.t.Fatal(err)
	}
	for n > 0 {
		plan := board.Plan{Project: "web"}
		for range min(n, 200) {
			key := strconv.Itoa(n)
			plan.Tasks = append(plan.Tasks, board.PlanTask{
				Key: key, NewTask: board.NewTask{Title: "task " + key, MaxFailures: 100, Priority: board.Priority(n % 4)},
			})
			n--
		}
		if _, err := b.CreatePlan(ctx, board.Actor{Principal: "local"}, plan); err != nil {
			r.t.Fatal(err)
		}
	}
}

// A process is one worker program.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// start starts a worker program; what it wrote is kept when it ends, however it
// ends.
func (r *run) start(args ...string) *process {
	r.t.Helper()
	r.mu.Lock()
	r.started++
	name := fmt.Sprintf("w%d", r.started)
	r.mu.Unlock()
	argv := append([]string{"-db", r.db, "-name", name, "-lease", lease.String(), "-broken", r.broken}, args...)
	p := &process{cmd: exec.Command(r.bin, argv...), done: make(chan struct{})}
	var stdout, stderr bytes.Buffer
	p.cmd.Stdout, p.cmd.Stderr = &stdout, &stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
		ops, err := history.Read(&stdout)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ops = append(r.ops, ops...)
		if err != nil {
			r.t.Error(err)
		}
		if s := strings.TrimSpace(stderr.String()); s != "" {
			r.t.Logf("%s wrote: %.2000s", name, s)
		}
	}()
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.done
}

// settle lets workers finish all tasks, without faults: everything that is not
// blocked can be taken and ended.
func (r *run) settle() {
	r.t.Helper()
	workers := []*process{r.start("-agents", "4"), r.start("-agents", "4")}
	store := r.open()
	defer store.Close()
	deadline := time.Now().Add(60 * time.Second)
	for {
		var c board.Counts
		err := store.Read(r.t.Context(), func(rd board.Reader) (err error) {
			c, err = rd.Counts([]string{"web"})
			return err
		})
		if err != nil {
			r.t.Fatal(err)
		}
		if c.Status[board.Done] == c.Total() {
			break
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("after a minute without faults the tasks are %v", c.Status)
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, w := range workers {
		w.stop()
	}
}

// check gives everything that is wrong with the board and with what was told.
func (r *run) check() []error {
	r.t.Helper()
	store := r.open()
	defer store.Close()
	errs := boardtest.Check(r.t.Context(), store)
	events := feed(r.t, store)
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[history.Outcome]int{}
	for _, op := range r.ops {
		known[op.Out]++
	}
	r.t.Logf("%d events; %d calls, of which %v", len(events), len(r.ops), known)
	return append(errs, history.Check(r.ops, events, lease)...)
}

// feed reads every event, in pages.
func feed(t *testing.T, store board.Store) []board.Event {
	t.Helper()
	var all []board.Event
	var after board.Cursor
	for {
		var page []board.Event
		err := store.Read(t.Context(), func(r board.Reader) (err error) {
			page, err = r.Feed(nil, after, 1000)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].Cursor
	}
}

func (r *run) mustBeClean() {
	r.t.Helper()
	errs := r.check()
	for i, err := range errs {
		if i == 10 {
			r.t.Errorf("… and %d more", len(errs)-i)
			break
		}
		r.t.Error(err)
	}
}

// times is how often to do something n times.
func times(n int) int {
	if m, err := strconv.Atoi(os.Getenv("BOSSMAN_FAULTS")); err == nil && m > 0 {
		return n * m
	}
	return n
}

func onSQLite(t *testing.T) *run {
	t.Helper()
	path := filepath.Join(t.TempDir(), "board.db")
	return newRun(t, path, func() board.Store {
		s, err := sqlite.Open(context.Background(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// Four programs write one file; one of them is killed, and started again.
func TestSQLite_killedWriters(t *testing.T) {
	r := onSQLite(t)
	r.fill(400)
	workers := make([]*process, 4)
	for i := range workers {
		workers[i] = r.start("-creates")
	}
	for range times(100) {
		time.Sleep(time.Duration(rand.Int64N(int64(120 * time.Millisecond))))
		i := rand.IntN(len(workers))
		workers[i].kill()
		workers[i] = r.start("-creates")
	}
	for _, w := range workers {
		w.stop()
	}
	r.settle()
	r.mustBeClean()
}

func onPostgres(t *testing.T) (*run, *pgtest.Cluster) {
	t.Helper()
	c := pgtest.Start(t)
	dsn := c.DSN(c.NewDatabase(t))
	return newRun(t, dsn, func() board.Store {
		s, err := postgres.Open(context.Background(), dsn, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}), c
}

// The database crashes under load and comes back; the programs stay.
func TestPostgres_crashes(t *testing.T) {
	r, c := onPostgres(t)
	r.fill(1000)
	workers := []*process{r.start("-agents", "4", "-creates"), r.start("-agents", "4", "-creates")}
	for range times(20) {
		time.Sleep(200*time.Millisecond + time.Duration(rand.Int64N(int64(300*time.Millisecond))))
		if err := errors.Join(c.Stop("immediate"), c.Start()); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range workers {
		w.stop()
	}
	r.settle()
	r.mustBeClean()
}

// A board without the fence, and one that trusts its clients' clocks, must be found
// out: otherwise the checks above show nothing.
func TestNegativeControls(t *testing.T) {
	for _, broken := range []string{"fence", "clock"} {
		t.Run(broken, func(t *testing.T) {
			r := onSQLite(t)
			r.broken = broken
			r.fill(5000) // more than they can do: who has nothing to do breaks nothing
			var errs []error
			for range 4 { // what goes wrong, goes wrong by chance
				workers := make([]*process, 4)
				for i := range workers {
					workers[i] = r.start("-agents", "2")
				}
				time.Sleep(8 * lease)
				for _, w := range workers {
					w.stop()
				}
				if errs = r.check(); len(errs) > 0 {
					break
				}
			}
			if len(errs) == 0 {
				t.Fatalf("nothing was found wrong with a board without its %s", broken)
			}
			t.Logf("found, among %d: %.600v", len(errs), errs[0])
		})
	}
}
