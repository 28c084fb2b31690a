package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// The test binary runs itself again as one of these.
const childVariable = "BOSSMAN_SQLITE_CHILD"

func TestMain(m *testing.M) {
	run := map[string]func(s *Store, name string, start io.Reader) error{
		"claim": claimAll, "add": addForever, "first": addFirst, "hold": holdTask, "holdOld": holdOld, "look": look, "lookLong": lookLong,
		"race": raceCalls, "raceUnlocked": raceUnlocked,
	}[os.Getenv(childVariable)]
	if run == nil {
		os.Exit(m.Run())
	}
	path, name := os.Args[1], os.Args[2]
	s, err := Open(context.Background(), path, nil)
	if err == nil {
		err = run(s, name, os.Stdin)
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// claimAll waits for the start, then takes tasks until there are none, each for
// another worker. It prints what it got and how long that took.
func claimAll(s *Store, name string, start io.Reader) error {
	if _, err := io.ReadAll(start); err != nil {
		return err
	}
	for i := 0; ; i++ {
		began := time.Now()
		claims, err := s.Claim(context.Background(), want(name+"-"+strconv.Itoa(i)))
		if err != nil {
			return err
		}
		if len(claims) == 0 {
			return nil
		}
		fmt.Println(claims[0].Handle, time.Since(began).Microseconds())
	}
}

// addForever adds tasks one by one and prints each when it is stored.
func addForever(s *Store, _ string, _ io.Reader) error {
	for {
		var no int64
		if err := s.Write(context.Background(), func(tx board.Tx) error {
			if err := addTasks(tx, "web", 1, func(_ int, task *board.Task) { no = task.ID.No }); err != nil {
				return err
			}
			// Enough for more than a page.
			return tx.PutDoc(web(no), board.Doc{Description: strings.Repeat("long ", 2000)})
		}); err != nil {
			return err
		}
		fmt.Println(no)
	}
}

// addFirst makes the board, if it is the first to come, and adds tasks.
func addFirst(s *Store, _ string, start io.Reader) error {
	if _, err := io.ReadAll(start); err != nil {
		return err
	}
	for range firstTasks {
		if err := s.Write(context.Background(), func(tx board.Tx) error {
			return errors.Join(tx.PutProject(board.Project{Slug: "web"}), addTasks(tx, "web", 1, nil))
		}); err != nil {
			return err
		}
	}
	return nil
}

const firstTasks = 3

// A child is a process of ours.
type child struct {
	cmd   *exec.Cmd
	start io.Closer
	lines *bufio.Scanner
}

func startChild(t *testing.T, what, path, name string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], path, name)
	cmd.Env = append(os.Environ(), childVariable+"="+what)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return &child{cmd: cmd, start: in, lines: bufio.NewScanner(out)}
}

func TestProcesses_oneGrantEach(t *testing.T) {
	const processes = 8
	tasks := 2000
	if testing.Short() || raceEnabled {
		tasks = 200
	}
	path := path(t)
	s := open(t, path, nil)
	seed(t, s, tasks, nil)
	var children []*child
	for i := range processes {
		children = append(children, startChild(t, "claim", path, "p"+strconv.Itoa(i)))
	}
	began := time.Now()
	for _, c := range children {
		c.start.Close()
	}
	type grant struct {
		handle string
		micros int64
	}
	type result struct {
		grants []grant
		err    error
	}
	results := make(chan result)
	for _, c := range children {
		go func() {
			var r result
			for c.lines.Scan() {
				var g grant
				_, err := fmt.Sscan(c.lines.Text(), &g.handle, &g.micros)
				r.grants, r.err = append(r.grants, g), errors.Join(r.err, err)
			}
			r.err = errors.Join(r.err, c.cmd.Wait())
			results <- r
		}()
	}
	seen := map[string]bool{}
	var longest int64
	least, most := tasks, 0
	for range processes {
		r := <-results
		if r.err != nil {
			t.Error(r.err)
		}
		least, most = min(least, len(r.grants)), max(most, len(r.grants))
		for _, g := range r.grants {
			h, err := board.ParseHandle(g.handle)
			if err != nil || h.Attempt != 1 || seen[h.Task.String()] {
				t.Errorf("grant %s, %v: want each task once, at attempt 1", g.handle, err)
			}
			seen[h.Task.String()] = true
			longest = max(longest, g.micros)
		}
	}
	took := time.Since(began)
	t.Logf("%d processes, %d tasks: %v, %.0f claims/s, a process got %d to %d, longest wait %v",
		processes, tasks, took.Round(time.Millisecond), float64(tasks)/took.Seconds(), least, most, time.Duration(longest)*time.Microsecond)
	if len(seen) != tasks {
		t.Errorf("%d tasks were granted, want %d", len(seen), tasks)
	}
	// On a busy machine everything takes longer, but none of them waits for all others.
	if limit := max(6*time.Second, took/2); time.Duration(longest)*time.Microsecond > limit {
		t.Errorf("a claim took %d µs, want at most %v", longest, limit)
	}
	read(t, s, func(r board.Reader) error {
		claims, err := r.Claims(board.ClaimFilter{})
		if len(claims) != tasks {
			t.Errorf("%d live claims, want %d", len(claims), tasks)
		}
		return err
	})
}

// Processes that write without a pause leave others their turn.
func TestProcesses_busyWriters(t *testing.T) {
	path := path(t)
	s := open(t, path, nil)
	claims := 150
	if testing.Short() || raceEnabled {
		claims = 20
	}
	seed(t, s, claims+1, nil)
	wrote := make(chan struct{}) // each time that another has written
	for i := range 4 {
		c := startChild(t, "add", path, "p"+strconv.Itoa(i))
		if !c.lines.Scan() {
			t.Fatal("it does not write")
		}
		go func() {
			for c.lines.Scan() {
				select {
				case wrote <- struct{}{}:
				default:
				}
			}
		}()
		defer c.cmd.Wait()
		defer c.cmd.Process.Kill()
	}
	var longest, total time.Duration
	for i := range claims {
		select {
		case <-wrote: // it comes anew each time
		case <-time.After(time.Minute):
			t.Fatal("nobody else writes")
		}
		began := time.Now()
		if got := claim(t, s, want("w"+strconv.Itoa(i))); len(got) != 1 {
			t.Fatalf("Claim() = %v", got)
		}
		took := time.Since(began)
		longest, total = max(longest, took), total+took
	}
	t.Logf("%d claims beside 4 busy writers: %v on average, %v at most", claims, total/time.Duration(claims), longest)
	// Two seconds on a machine of its own; here other tests run beside this one.
	if longest > 6*time.Second {
		t.Errorf("a claim took %v, want at most 6 s", longest)
	}
}

func TestProcesses_allAreFirst(t *testing.T) {
	const processes = 6
	path := path(t)
	s := open(t, path, nil)
	var children []*child
	for i := range processes {
		children = append(children, startChild(t, "first", path, "p"+strconv.Itoa(i)))
	}
	for _, c := range children {
		c.start.Close()
	}
	// Reading meanwhile sees an empty board or a whole one.
	for range 20 {
		read(t, s, func(r board.Reader) error {
			_, err := r.Tasks(board.TaskFilter{})
			return err
		})
	}
	for _, c := range children {
		if err := c.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	read(t, s, func(r board.Reader) error {
		tasks, err := r.Tasks(board.TaskFilter{})
		if len(tasks) != processes*firstTasks {
			t.Errorf("%d tasks, want %d", len(tasks), processes*firstTasks)
		}
		return err
	})
}

func TestProcesses_killed(t *testing.T) {
	path := path(t)
	seed(t, open(t, path, nil), 0, nil)
	stored := 0
	for round := range 4 {
		var children []*child
		for i := range 3 {
			children = append(children, startChild(t, "add", path, "p"+strconv.Itoa(i)))
		}
		var acknowledged []int64
		victim := children[0]
		for n := range 15 + 7*round {
			c := children[n%len(children)]
			if !c.lines.Scan() {
				t.Fatalf("process ended: %v", c.lines.Err())
			}
			no, err := strconv.ParseInt(c.lines.Text(), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			acknowledged = append(acknowledged, no)
		}
		// The others go on past the death of the first.
		for i, c := range children {
			if err := c.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			for c.lines.Scan() { // what it had said by then
				if no, err := strconv.ParseInt(c.lines.Text(), 10, 64); err == nil {
					acknowledged = append(acknowledged, no)
				}
			}
			c.cmd.Wait()
			if c == victim && len(children) > i+1 && !children[i+1].lines.Scan() {
				t.Error("the next process could not go on")
			}
		}
		s, err := Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		write(t, s, func(w board.Tx) error {
			var answer string
			if err := w.(*tx).get(`PRAGMA integrity_check`, nil, &answer); err != nil || answer != "ok" {
				t.Errorf("integrity_check: %s, %v", answer, err)
			}
			return addTasks(w, "web", 1, nil)
		})
		read(t, s, func(r board.Reader) error {
			for _, no := range acknowledged {
				d, err := r.Dossier(web(no), 10)
				if err != nil || len(d.Events) != 1 || len(d.Doc.Description) != 10000 {
					t.Errorf("round %d: task %d was acknowledged, and is %v, %v", round, no, d, err)
				}
			}
			tasks, err := r.Tasks(board.TaskFilter{Limit: 1e6})
			if len(tasks) < stored+len(acknowledged) {
				t.Errorf("%d tasks, want at least %d", len(tasks), stored+len(acknowledged))
			}
			stored = len(tasks)
			return err
		})
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d tasks stored in 4 rounds", stored)
}

func TestWrite_waits(t *testing.T) {
	path := path(t)
	s := open(t, path, nil)
	seed(t, s, 1, nil)
	hasty := open(t, path, &Options{Wait: 20 * time.Millisecond})
	write(t, s, func(tx board.Tx) error {
		nothing := func(board.Tx) error { return nil }
		// Another process, as far as the lock goes.
		if err := hasty.Write(t.Context(), nothing); !errors.Is(err, board.ErrUnavailable) {
			t.Errorf("Write() behind another = %v, want ErrUnavailable", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		other := open(t, path, nil)
		if err := other.Write(ctx, nothing); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Write() with a deadline = %v, want DeadlineExceeded", err)
		}
		// In the same process.
		ctx2, cancel2 := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel2()
		if err := s.Write(ctx2, nothing); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Write() in the same process = %v, want DeadlineExceeded", err)
		}
		// Reading does not wait.
		return s.Read(t.Context(), func(r board.Reader) error {
			_, err := r.Task(web(1))
			return err
		})
	})
	write(t, hasty, func(board.Tx) error { return nil })
}
