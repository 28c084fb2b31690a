// Command worker works on a board until it is killed, told to stop or out of tasks,
// and writes what it does and is told to its standard output.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/boardtest"
	"github.com/bossman-dev/bossman/e2e/faults/history"
	"github.com/bossman-dev/bossman/store/postgres"
	"github.com/bossman-dev/bossman/store/sqlite"
)

func main() {
	db := flag.String("db", "", "a file, or postgres://…")
	name := flag.String("name", "w", "its name in the history")
	lease := flag.Duration("lease", time.Second, "the length of a claim")
	agents := flag.Int("agents", 1, "how many work at once in this process")
	holds := flag.Int("hold", 0, "instead of agents: how many tasks to hold until the process is stopped")
	sweeps := flag.Bool("sweep", true, "end what has expired")
	creates := flag.Bool("creates", false, "also create tasks")
	broken := flag.String("broken", "", "fence or clock: a board that is wrong on purpose")
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix(*name + ": ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	store, err := open(ctx, *db)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	switch *broken {
	case "fence":
		store = boardtest.NoFence(store)
	case "clock":
		store = boardtest.ClientClock(store, time.Duration(rand.Int64N(int64(10**lease))))
	}
	b := board.New(store, &board.Options{Lease: *lease, Sweep: min(*lease/10, time.Second)})
	var running sync.WaitGroup
	ctx2, end := context.WithCancel(ctx)
	if *sweeps {
		running.Go(func() { _ = b.Run(ctx2) })
	}
	var wg sync.WaitGroup
	out := &output{}
	if *holds > 0 {
		*agents = 0
		wg.Go(func() { hold(ctx, b, out, *name, *holds, *lease) })
	} else if *agents == 0 {
		wg.Go(func() { <-ctx.Done() })
	}
	for i := range *agents {
		a := &agent{
			b: b, out: out, lease: *lease, creates: *creates,
			name:  fmt.Sprintf("%s.%d", *name, i),
			actor: board.Actor{Principal: "local", Owner: fmt.Sprintf("%s.%d.%d", *name, os.Getpid(), i)},
		}
		wg.Go(func() { a.work(ctx) })
	}
	wg.Wait()
	end()
	running.Wait()
}

func open(ctx context.Context, db string) (board.Store, error) {
	if strings.HasPrefix(db, "postgres://") || strings.Contains(db, "host=") {
		return postgres.Open(ctx, db, nil)
	}
	return sqlite.Open(ctx, db, nil)
}

// An output writes lines whole: what was written is kept when the process is killed.
type output struct{ mu sync.Mutex }

func (o *output) write(op history.Op) {
	line, err := json.Marshal(op)
	if err != nil {
		log.Fatal(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
		os.Exit(1) // nobody listens any more
	}
}

// An agent claims tasks one after the other and ends them in different ways.
type agent struct {
	b       *board.Board
	out     *output
	lease   time.Duration
	creates bool
	name    string
	actor   board.Actor
	worker  string
	no      int
}

func (a *agent) work(ctx context.Context) {
	for ctx.Err() == nil {
		if a.creates && rand.IntN(4) == 0 {
			a.create(ctx)
		}
		h := a.claim(ctx)
		if h == nil {
			select {
			case <-ctx.Done():
			case <-time.After(a.lease / 20):
			}
			continue
		}
		claim := h.Claim.Handle
		switch rand.IntN(10) {
		case 0: // too slow: the lease runs out, and somebody else may have it by now
			select {
			case <-ctx.Done():
				return
			case <-time.After(a.lease + a.lease/2):
			}
			a.done(ctx, claim)
		case 1:
			a.fail(ctx, claim)
		case 2:
			a.note(ctx, claim)
			a.done(ctx, claim)
		default:
			a.done(ctx, claim)
			if rand.IntN(10) == 0 {
				a.done(ctx, claim) // the same again
			}
		}
	}
}

// try makes a call with the history around it, and again as long as the database
// cannot be reached.
func (a *agent) try(ctx context.Context, op history.Op, call func(context.Context, *history.Op) error) bool {
	for {
		a.no++
		op.Client, op.No, op.Call, op.Out, op.Return, op.Why = a.name, a.no, time.Now().UnixNano(), "", 0, ""
		a.out.write(op)
		cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		err := call(cctx, &op)
		cancel()
		op.Return = time.Now().UnixNano()
		op.Out = outcome(err)
		if err != nil {
			op.Why = err.Error()
		}
		a.out.write(op)
		if op.Out == history.OK || !errors.Is(err, board.ErrUnavailable) || ctx.Err() != nil {
			return op.Out == history.OK
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func outcome(err error) history.Outcome {
	var nothing *board.Nothing
	switch {
	case err == nil:
		return history.OK
	case errors.As(err, &nothing):
		return history.Nothing
	case errors.Is(err, board.ErrLeaseLost):
		return history.Lost
	case errors.Is(err, board.ErrUnknown), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return history.Unknown
	}
	return history.Refused
}

func (a *agent) claim(ctx context.Context) (h *board.Handout) {
	a.try(ctx, history.Op{Kind: history.Claim}, func(ctx context.Context, op *history.Op) (err error) {
		wish := board.Wish{Worker: a.worker, Projects: []string{"web"}}
		if rand.IntN(2) == 0 {
			wish.Wait = a.lease
		}
		h, err = a.b.Next(ctx, a.actor, wish)
		if unknown, ok := errors.AsType[*board.UnknownError](err); ok {
			a.worker = unknown.Worker // it may have a task under this name
		}
		if errors.Is(err, board.ErrInvalid) {
			a.worker = "" // it never got a task under this name
		}
		if err == nil {
			a.worker = h.Claim.Worker.Name
			op.Claim = h.Claim.Handle.String()
		}
		return err
	})
	return h
}

func (a *agent) done(ctx context.Context, h board.Handle) {
	a.try(ctx, history.Op{Kind: history.Done, Claim: h.String()}, func(ctx context.Context, _ *history.Op) error {
		_, err := a.b.Done(ctx, a.actor, h, board.Report{Summary: "done by " + a.name})
		return err
	})
}

func (a *agent) fail(ctx context.Context, h board.Handle) {
	a.try(ctx, history.Op{Kind: history.Fail, Claim: h.String()}, func(ctx context.Context, _ *history.Op) error {
		_, err := a.b.Fail(ctx, a.actor, h, board.Failure{Reason: "no luck"})
		return err
	})
}

func (a *agent) note(ctx context.Context, h board.Handle) {
	text := fmt.Sprintf("note %s %d", a.name, a.no)
	a.try(ctx, history.Op{Kind: history.Note, Claim: h.String(), Key: text}, func(ctx context.Context, _ *history.Op) error {
		_, err := a.b.Progress(ctx, a.actor, h, board.Note{Text: text})
		return err
	})
}

// create makes a task, and asks again with the same key, as a client does that has
// not heard the answer.
func (a *agent) create(ctx context.Context) {
	key := fmt.Sprintf("%s-%d-%d", a.actor.Owner, a.no, rand.Int64())
	for range 1 + rand.IntN(2) {
		a.try(ctx, history.Op{Kind: history.Create, Key: key}, func(ctx context.Context, op *history.Op) error {
			t, _, err := a.b.Create(ctx, a.actor, board.NewTask{Project: "web", Title: key, MaxFailures: 100, Priority: board.Normal}, key)
			op.Task = t.ID.String()
			return err
		})
	}
}
