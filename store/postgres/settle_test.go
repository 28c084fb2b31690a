package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// cutAnswer cuts the first connection that gets a statement with a text, as its answer
// comes: pass bytes of it arrive.
func cutAnswer(text string, pass int) func(pgtest.Piece) int {
	cut := 0
	return func(p pgtest.Piece) int {
		switch {
		case cut == 0 && !p.Answer && bytes.Contains(p.Bytes, []byte(text)):
			cut = p.Conn
		case cut == p.Conn && p.Answer:
			cut = -1
			return pass
		}
		return pgtest.Whole
	}
}

// Agents wait for work, and the connection is lost when one statement has claimed a task for
// each. They all get their tasks.
func TestClaim_lostAnswer(t *testing.T) {
	t.Parallel()
	const agents = 60
	c := pgtest.Shared(t)
	db := c.Database(t)
	cutter := c.Cutter(t)
	s, err := postgres.Open(t.Context(), cutter.DSN(pgtest.App, db), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seed(t, s, "web", 0, nil)
	var waiting sync.WaitGroup
	waiting.Add(agents)
	b := board.New(s, &board.Options{Observer: board.Observer{Waiting: waiting.Done}})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = b.Run(ctx) })
	defer running.Wait()
	defer cancel()

	var mu sync.Mutex
	told := map[board.Handle]bool{}
	var agent sync.WaitGroup
	for range agents {
		agent.Go(func() {
			h, err := b.Next(t.Context(), ada, board.Wish{Projects: []string{"web"}, Wait: 20 * time.Second, Session: "talk-7"})
			if err != nil {
				t.Errorf("Next = %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			told[h.Claim.Handle] = true
		})
	}
	waiting.Wait()
	cutter.Judge(cutAnswer("talk-7", 0))
	direct := c.OpenIn(t, db, nil)
	seed(t, direct, "web", agents, nil)
	direct.Hint()
	agent.Wait()
	if cutter.Cuts() != 1 {
		t.Errorf("%d connections were cut, want 1", cutter.Cuts())
	}
	read(t, direct, func(r board.Reader) error {
		claims, err := r.Claims(board.ClaimFilter{})
		for _, claim := range claims {
			if !told[claim.Handle] {
				t.Errorf("nobody was told of %v", claim.Handle)
			}
		}
		if len(claims) != agents || len(told) != agents {
			t.Errorf("%d claims, of which %d agents were told, want %d", len(claims), len(told), agents)
		}
		return err
	})
}

// A hand-out that was cut off before the server got it, or got all of it, is sent again.
func TestClaim_lostRequest(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	cutter := c.Cutter(t)
	s, err := postgres.Open(t.Context(), cutter.DSN(pgtest.App, db), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seed(t, s, "web", 3, nil)
	for i, pass := range []int{0, 20} {
		name := string(rune('a' + i))
		cut := false
		cutter.Judge(func(p pgtest.Piece) int {
			if cut || p.Answer || !bytes.Contains(p.Bytes, []byte("owner-"+name)) {
				return pgtest.Whole
			}
			cut = true
			return pass
		})
		w := want("web", name)
		w.For[0].Owner = "owner-" + name
		claims, err := s.Claim(t.Context(), w)
		if err != nil || len(claims) != 1 {
			t.Errorf("Claim of which %d bytes arrived = %v, %v, want a claim", pass, claims, err)
		}
		if cutter.Cuts() != i+1 {
			t.Errorf("%d connections were cut, want %d", cutter.Cuts(), i+1)
		}
	}
}

// If the database does not come back, the outcome is unknown, and the error says which
// worker may have a task.
func TestClaim_unknown(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	cutter := c.Cutter(t)
	s, err := postgres.Open(t.Context(), cutter.DSN(pgtest.App, db), &postgres.Options{CommitTimeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seed(t, s, "web", 1, nil)
	b := board.New(s, nil)
	first := cutAnswer("talk-7", 0)
	away := false
	cutter.Judge(func(p pgtest.Piece) int {
		if away {
			return 0
		}
		most := first(p)
		away = most != pgtest.Whole
		return most
	})
	_, err = b.Next(t.Context(), ada, board.Wish{Projects: []string{"web"}, Session: "talk-7"})
	lost, ok := errors.AsType[*board.UnknownError](err)
	if !ok || !errors.Is(err, board.ErrUnknown) {
		t.Fatalf("Next = %v, want an UnknownError", err)
	}
	cutter.Judge(nil)
	h, err := b.Next(t.Context(), ada, board.Wish{Projects: []string{"web"}, Worker: lost.Worker})
	if err != nil || !h.Again {
		t.Errorf("Next(%s) = %+v, %v, want the claim again", lost.Worker, h, err)
	}
}

// A claim whose answer was lost has ended before anybody could look. Nothing may be handed out
// in its place, as if it had never been, even if the database is slow to say so.
func TestClaim_lostAndEnded(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	cutter := c.Cutter(t)
	s, err := postgres.Open(t.Context(), cutter.DSN(pgtest.App, db), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seed(t, s, "web", 2, nil)
	direct := c.OpenIn(t, db, nil)
	first := cutAnswer("talk-7", 0)
	cutter.Judge(func(p pgtest.Piece) int {
		most := first(p)
		if most != pgtest.Whole {
			write(t, direct, func(x board.Tx) error { return x.DeleteClaim(board.ID{Project: "web", No: 1}) })
		}
		if bytes.Contains(p.Bytes, []byte("w.last_seen >=")) {
			time.Sleep(200 * time.Millisecond) // the network is slow
		}
		return most
	})
	w := want("web", "a")
	w.For[0].Session = "talk-7"
	if claims, err := s.Claim(t.Context(), w); !errors.Is(err, board.ErrUnknown) {
		t.Errorf("Claim = %v, %v, want that the outcome is unknown", claims, err)
	}
}

// A late store answers Claim, with what it has really done, when it is told to.
type late struct {
	board.Store
	waiting, asked, answer chan struct{}
}

func (s *late) Claim(ctx context.Context, w board.Want) ([]board.Claim, error) {
	claims, err := s.Store.Claim(ctx, w)
	if len(claims) > 0 {
		s.asked <- struct{}{}
		select {
		case <-s.answer:
		case <-time.After(20 * time.Second):
		}
	}
	return claims, err
}

// lateBoard runs a board on a store with nothing to do, and makes the store late.
func lateBoard(t *testing.T, store board.Store) (*board.Board, *late) {
	t.Helper()
	s := &late{Store: store, waiting: make(chan struct{}, 1), asked: make(chan struct{}, 1), answer: make(chan struct{})}
	seed(t, s, "web", 0, nil)
	b := board.New(s, &board.Options{Observer: board.Observer{Waiting: func() { s.waiting <- struct{}{} }}})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = b.Run(ctx) })
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	return b, s
}

// askLate waits for a task until a statement that claims one is in flight.
func askLate(t *testing.T, ctx context.Context, b *board.Board, s *late, wait time.Duration) <-chan error {
	t.Helper()
	told := make(chan error, 1)
	go func() {
		h, err := b.Next(ctx, ada, board.Wish{Projects: []string{"web"}, Wait: wait})
		if err == nil && h.Claim.IsZero() {
			err = errors.New("a hand-out without a claim")
		}
		told <- err
	}()
	<-s.waiting
	seed(t, s, "web", 1, nil)
	select {
	case <-s.asked:
	case <-time.After(20 * time.Second):
		t.Fatal("no statement claimed the task")
	}
	return told
}

var ada = board.Actor{Principal: "ada", Owner: "the-laptop"}

// The time of an agent that waits is over while a statement has claimed a task for it. It
// gets the task.
func TestWait_overInFlight(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	b, s := lateBoard(t, c.OpenIn(t, c.Database(t), nil))
	told := askLate(t, t.Context(), b, s, 3*time.Second)
	time.AfterFunc(4*time.Second, func() { close(s.answer) })
	if err := <-told; err != nil {
		t.Errorf("Next = %v, want a task", err)
	}
}

// If the statement takes longer, the agent is told under which name to ask.
func TestWait_overUnknown(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	b, s := lateBoard(t, c.OpenIn(t, c.Database(t), nil))
	err := <-askLate(t, t.Context(), b, s, 3*time.Second)
	lost, ok := errors.AsType[*board.UnknownError](err)
	if !ok {
		t.Fatalf("Next = %v, want an UnknownError", err)
	}
	close(s.answer)
	h, err := b.Next(t.Context(), ada, board.Wish{Projects: []string{"web"}, Worker: lost.Worker})
	if err != nil || !h.Again {
		t.Errorf("Next(%s) = %+v, %v, want the claim again", lost.Worker, h, err)
	}
}

// An agent is gone when its claim comes. The task is free again, without a failure, even if
// the first try to release it fails.
func TestWait_gone(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	cutter := c.Cutter(t)
	through, err := postgres.Open(t.Context(), cutter.DSN(pgtest.App, db), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { through.Close() })
	b, s := lateBoard(t, through)
	call, leave := context.WithCancel(t.Context())
	told := askLate(t, call, b, s, 20*time.Second)
	leave()
	if err := <-told; !errors.Is(err, context.Canceled) {
		t.Errorf("Next = %v, want that it was cancelled", err)
	}
	refused := 0
	cutter.Judge(func(p pgtest.Piece) int {
		if refused == 3 || p.Answer {
			return pgtest.Whole
		}
		refused++
		return 0
	})
	close(s.answer)
	direct := board.New(c.OpenIn(t, db, nil), nil)
	var tasks []board.Task
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if tasks, err = direct.List(t.Context(), board.TaskFilter{Projects: []string{"web"}}); err != nil {
			t.Fatal(err)
		}
		if tasks[0].Status == board.Pending {
			break
		}
	}
	if len(tasks) != 1 || tasks[0].Status != board.Pending || tasks[0].Failures != 0 || tasks[0].Attempt != 1 {
		t.Errorf("tasks = %+v, want one that is pending after an attempt that does not count", tasks)
	}
}
