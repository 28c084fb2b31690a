package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver of store/sqlite

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// mostFile bounds the tasks in a file: a person's board.
const mostFile = 40000

// What a process does with the file.
const (
	limitWay = "one-row update, the limit"
	bareWay  = "Store.Claim"
	nextWay  = "Board.Next"
)

// sqlitePart measures processes that share one file.
func sqlitePart(ctx context.Context, o *options, p *printer) ([]bound, error) {
	dir, err := os.MkdirTemp("", "bossman-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tasks := min(o.tasks, mostFile)
	say("filling a file of %d tasks", tasks)
	if err := fillFile(ctx, filepath.Join(dir, fullFile), tasks); err != nil {
		return nil, err
	}
	if err := makeLimit(ctx, filepath.Join(dir, "limit.db")); err != nil {
		return nil, err
	}
	var all results
	for _, processes := range []int{1, 4, 8} {
		var ways []way
		for _, name := range []string{limitWay, bareWay, nextWay} {
			ways = append(ways, way{name, func(d time.Duration) (load, time.Duration, error) {
				if err := refill(dir); err != nil {
					return load{}, 0, err
				}
				return claimers(dir, name, processes, d)
			}})
		}
		for _, w := range ways {
			if _, _, err := w.run(o.warm); err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
		}
		rs, err := o.boardRounds("sqlite", cell{Proto: "sqlite", Size: tasks, Width: processes}, ways)
		if err != nil {
			return nil, err
		}
		all = append(all, rs...)
	}
	p.printf("\n### Claims on SQLite, one file of %d tasks, WAL, synchronous=FULL\n\n", tasks)
	p.printf("| processes | what | claims/s | min..max | × limit | p50 ms | p99 ms |\n|--:|---|--:|--:|--:|--:|--:|\n")
	all.printClaims(p, func(c cell) string { return strconv.Itoa(c.Width) }, limitWay)
	return nil, p.err
}

// The board that is claimed from is a copy of a full one, new for each measurement.
const (
	fullFile  = "full.db"
	boardFile = "board.db"
)

func refill(dir string) error {
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Remove(filepath.Join(dir, boardFile+end)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	full, err := os.ReadFile(filepath.Join(dir, fullFile))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, boardFile), full, 0o600)
}

// fillFile makes a board whose older half wants a skill that the claimants lack.
func fillFile(ctx context.Context, path string, n int) error {
	s, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	err = s.Write(ctx, func(tx board.Tx) error {
		return tx.PutProject(board.Project{Slug: "p1", Policy: board.PolicyTrust, Skills: []string{"go", "other"}})
	})
	for made := 0; err == nil && made < n; made += 2000 {
		err = s.Write(ctx, func(tx board.Tx) error { return insertTasks(tx, made, min(n, made+2000), n/2) })
	}
	return errors.Join(err, s.Close())
}

func insertTasks(tx board.Tx, from, to, unfit int) error {
	now, err := tx.Now()
	if err != nil {
		return err
	}
	first, err := tx.Numbers("p1", to-from)
	if err != nil {
		return err
	}
	var events []board.Event
	for i := from; i < to; i++ {
		t := board.Task{
			ID: board.ID{Project: "p1", No: first + int64(i-from)}, Title: fmt.Sprintf("a title of the usual length, task %d", i),
			Priority: board.Normal, Status: board.Pending, MaxFailures: 3, SpecVersion: 1, Seq: 1, QueuedAt: now, CreatedAt: now, CreatedBy: "ada",
			Skills: []string{"go"}, // no areas: they are compared with those of all live claims, and here no claim ends
		}
		if i < unfit {
			t.Skills = []string{"other"}
		}
		if err := tx.InsertTask(t, board.Doc{Description: strings.Repeat("what is to be done ", 10)}); err != nil {
			return err
		}
		events = append(events, board.Event{Task: t.ID, Seq: 1, Actor: "ada", Kind: board.EventCreated, To: board.Pending})
	}
	return tx.Append(events...)
}

func makeLimit(ctx context.Context, path string) error {
	db, err := openLimit(path)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE rows (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, text TEXT NOT NULL);
		WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 1000) INSERT INTO rows SELECT i, 0, hex(randomblob(50)) FROM i`)
	return errors.Join(err, db.Close())
}

func openLimit(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// claimers starts processes that claim at the same time.
func claimers(dir, way string, processes int, d time.Duration) (load, time.Duration, error) {
	type claimer struct {
		cmd   *exec.Cmd
		start io.Closer
		out   *bufio.Reader
	}
	var all []claimer
	defer func() {
		for _, c := range all {
			_ = c.cmd.Process.Kill() // ended already is as good
			_ = c.cmd.Wait()
		}
	}()
	for range processes {
		cmd := exec.Command(os.Args[0], "claimer", "-dir", dir, "-only", strings.ReplaceAll(way, ",", ""), "-d", d.String())
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return load{}, 0, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return load{}, 0, err
		}
		if err := cmd.Start(); err != nil {
			return load{}, 0, err
		}
		c := claimer{cmd, in, bufio.NewReader(out)}
		all = append(all, c)
		if _, err := c.out.ReadString('\n'); err != nil {
			return load{}, 0, fmt.Errorf("a claimer did not begin: %w", err)
		}
	}
	begin := time.Now()
	for _, c := range all {
		if err := c.start.Close(); err != nil {
			return load{}, 0, err
		}
	}
	var sum load
	for _, c := range all {
		var latencies []time.Duration
		if err := json.NewDecoder(c.out).Decode(&latencies); err != nil {
			return load{}, 0, fmt.Errorf("a claimer gave no account: %w", err)
		}
		sum.latencies = append(sum.latencies, latencies...)
	}
	sum.calls = len(sum.latencies)
	return sum, time.Since(begin), nil
}

// claimerSuite is one of these processes. It says when it is ready, begins when its
// input ends, and gives its latencies.
func claimerSuite(o *options, w io.Writer) error {
	ctx := context.Background()
	var claim func() error
	switch name := strings.Join(o.only, ""); name {
	case strings.ReplaceAll(limitWay, ",", ""):
		db, err := openLimit(filepath.Join(o.dir, "limit.db"))
		if err != nil {
			return err
		}
		defer db.Close()
		update, err := db.PrepareContext(ctx, `UPDATE rows SET n = n + 1 WHERE id = ?`)
		if err != nil {
			return err
		}
		id := 0
		claim = func() error {
			id++
			_, err := update.ExecContext(ctx, 1+id%1000)
			return err
		}
	default:
		s, err := sqlite.Open(ctx, filepath.Join(o.dir, boardFile), nil)
		if err != nil {
			return err
		}
		defer s.Close()
		claim = fileClaim(ctx, s, name)
	}
	fmt.Fprintln(w, "ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	l, _, err := together(1, o.measure, func(int) error { return claim() })
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(l.latencies)
}

func fileClaim(ctx context.Context, s *sqlite.Store, way string) func() error {
	b := board.New(s, nil)
	projects, skills := []string{"p1"}, []string{"go"}
	return func() error {
		if way == nextWay {
			_, err := b.Next(ctx, board.Actor{Principal: "local", Owner: "bench"}, board.Wish{Projects: projects, Skills: skills})
			if _, ok := errors.AsType[*board.Nothing](err); ok {
				return errDrained
			}
			return err
		}
		claims, err := s.Claim(ctx, board.Want{
			Projects: projects, Skills: skills, Lease: 10 * time.Minute,
			For: []board.Claimant{{Worker: board.WorkerID{Principal: "bare", Name: "w" + board.NewNonce() + board.NewNonce()}, Owner: "bench"}},
		})
		if err == nil && len(claims) == 0 {
			return errDrained
		}
		return err
	}
}
