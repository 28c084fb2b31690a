package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/pressly/goose/v3"
)

// path is a file that does not exist, in a folder that does not either.
func path(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "deep", "board.db")
}

func open(t *testing.T, path string, o *Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

func read(t testing.TB, s *Store, f func(board.Reader) error) {
	t.Helper()
	if err := s.Read(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, s *Store, f func(board.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// seed makes the project web, and n ready tasks in it.
func seed(t *testing.T, s *Store, n int, change func(i int, task *board.Task)) {
	t.Helper()
	write(t, s, func(tx board.Tx) error {
		if err := tx.PutProject(board.Project{Slug: "web", Name: "Web", Policy: board.PolicyTrust}); err != nil {
			return err
		}
		return addTasks(tx, "web", n, change)
	})
}

func addTasks(tx board.Tx, slug string, n int, change func(i int, task *board.Task)) error {
	if n == 0 {
		return nil
	}
	first, err := tx.Numbers(slug, n)
	if err != nil {
		return err
	}
	for i := range n {
		task, err := newTask(tx, board.ID{Project: slug, No: first + int64(i)})
		if err != nil {
			return err
		}
		if change != nil {
			change(i, &task)
		}
		if err := tx.InsertTask(task, board.Doc{Description: "Do it."}); err != nil {
			return err
		}
		if err := tx.Append(board.Event{Task: task.ID, Seq: 1, Actor: "ann", Kind: board.EventCreated, To: task.Status}); err != nil {
			return err
		}
	}
	return nil
}

func newTask(tx board.Tx, id board.ID) (board.Task, error) {
	now, err := tx.Now()
	return board.Task{
		ID: id, Title: "Task " + id.String(), Priority: board.Normal, Status: board.Pending, MaxFailures: 3, SpecVersion: 1,
		Seq: 1, QueuedAt: now, CreatedAt: now, CreatedBy: "ann",
	}, err
}

func web(no int64) board.ID { return board.ID{Project: "web", No: no} }

func claimant(name string) board.Claimant {
	return board.Claimant{Worker: board.WorkerID{Principal: "local", Name: name}, Owner: "p1"}
}

func want(names ...string) board.Want {
	w := board.Want{Projects: []string{"web"}, Lease: 10 * time.Minute}
	for _, name := range names {
		w.For = append(w.For, claimant(name))
	}
	return w
}

// claim hands out to the names and gives the tasks' numbers.
func claim(t *testing.T, s *Store, w board.Want) []int64 {
	t.Helper()
	claims, err := s.Claim(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	var nos []int64
	for _, c := range claims {
		nos = append(nos, c.Task.No)
	}
	return nos
}

func TestRead_createsNothing(t *testing.T) {
	path := path(t)
	s := open(t, path, nil)
	read(t, s, func(r board.Reader) error {
		if _, err := r.Task(web(1)); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("Task() = %v, want ErrNotFound", err)
		}
		if _, err := r.Project("web"); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("Project() = %v, want ErrNotFound", err)
		}
		tasks, err1 := r.Tasks(board.TaskFilter{})
		counts, err2 := r.Counts(nil)
		standing, err3 := r.Standing(board.WorkerID{Principal: "local", Name: "otter"})
		feed, err4 := r.Feed(nil, "", 0)
		if len(tasks) != 0 || counts.Total() != 0 || counts.Status == nil || standing.Claim != nil || len(feed) != 0 {
			t.Errorf("an empty board has %v, %v, %v, %v", tasks, counts, standing, feed)
		}
		return errors.Join(err1, err2, err3, err4)
	})
	if got := claim(t, s, want("otter")); got != nil {
		t.Errorf("Claim() = %v, want none", got)
	}
	// So do writes that fail, and those that find nothing to do.
	failure := errors.New("no")
	if err := s.Write(t.Context(), func(tx board.Tx) error {
		if err := tx.PutProject(board.Project{Slug: "web"}); err != nil {
			return err
		}
		return failure
	}); err != failure {
		t.Errorf("Write() = %v, want the function's own error", err)
	}
	write(t, s, func(tx board.Tx) error {
		expired, err := tx.Expired(10)
		if len(expired) != 0 {
			t.Errorf("Expired() = %v", expired)
		}
		if _, err := tx.Lock(web(1)); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("Lock() = %v, want ErrNotFound", err)
		}
		_, err2 := tx.BeginSweep(time.Second)
		return errors.Join(err, err2, tx.Forget(time.Hour), tx.Disown("p1"))
	})
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestWrite_createsForItsOwner(t *testing.T) {
	path := path(t)
	a, b := open(t, path, nil), open(t, path, nil)
	read(t, b, func(r board.Reader) error { _, err := r.Projects(); return err })
	seed(t, a, 1, nil)
	for name, mode := range map[string]os.FileMode{
		filepath.Dir(path): 0o700 | os.ModeDir, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600,
		path + ".lock": 0o600, path + ".queue": 0o600,
	} {
		if info, err := os.Stat(name); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, mode %v, want %v", name, err, info.Mode(), mode)
		}
	}
	// The other store notices.
	read(t, b, func(r board.Reader) error {
		_, err := r.Task(web(1))
		return err
	})
}

func TestOpen_emptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "board.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, nil)
	read(t, s, func(r board.Reader) error { _, err := r.Projects(); return err })
	seed(t, s, 1, nil)
}

// The process that was to make the file died in the middle.
func TestOpen_halfMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "board.db")
	if err := createFile(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := openFile(path, info, "FULL", false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, f.db, migrations)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.GetDBVersion(t.Context()); err != nil { // makes goose's own table
		t.Fatal(err)
	}
	f.close()
	s := open(t, path, nil)
	read(t, s, func(r board.Reader) error { _, err := r.Projects(); return err })
	seed(t, s, 1, nil)
	if backups, err := filepath.Glob(path + "*.bak"); len(backups) != 0 || err != nil {
		t.Errorf("backups of nothing: %v, %v", backups, err)
	}
}

func TestOpen_oddPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?mode=memory&%41#c", "bo;ard.db")
	seed(t, open(t, path, nil), 1, nil)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestOpen_notADatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "board.db")
	if err := os.WriteFile(path, []byte("this is a letter, and a rather long one at that, to my aunt"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(t.Context(), path, nil); err == nil {
		s.Close()
		t.Error("Open() = nil, want an error")
	}
}

func TestStore_fileReplaced(t *testing.T) {
	path := path(t)
	s := open(t, path, nil)
	seed(t, s, 1, nil)
	for _, suffix := range []string{"", "-wal", "-shm", ".lock", ".queue"} {
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
	}
	none := func(board.Reader) error { return nil }
	if err := s.Read(t.Context(), none); !errors.Is(err, board.ErrGone) || !errors.Is(err, board.ErrUnavailable) {
		t.Errorf("Read() = %v, want ErrGone after the file was removed", err)
	}
	if err := s.Write(t.Context(), func(tx board.Tx) error { return addTasks(tx, "web", 1, nil) }); !errors.Is(err, board.ErrGone) {
		t.Errorf("Write() = %v, want ErrGone after the file was removed", err)
	}
	if _, err := os.Stat(path + ".lock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a lock file where the board was: %v", err)
	}
	seed(t, open(t, path, nil), 2, nil)
	read(t, s, func(r board.Reader) error {
		_, err := r.Task(web(2))
		return err
	})
}

func TestWrite_undoneByError(t *testing.T) {
	s := open(t, path(t), nil)
	seed(t, s, 1, nil)
	failure := errors.New("no")
	err := s.Write(t.Context(), func(tx board.Tx) error {
		if err := addTasks(tx, "web", 1, nil); err != nil {
			return err
		}
		return failure
	})
	if err != failure {
		t.Errorf("Write() = %v, want the function's own error", err)
	}
	func() {
		defer func() { recover() }()
		s.Write(t.Context(), func(tx board.Tx) error {
			if err := addTasks(tx, "web", 1, nil); err != nil {
				t.Error(err)
			}
			panic("oops")
		})
	}()
	ctx, cancel := context.WithCancel(t.Context())
	err = s.Write(ctx, func(tx board.Tx) error {
		cancel()
		return addTasks(tx, "web", 1, nil)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Write() = %v, want context.Canceled", err)
	}
	read(t, s, func(r board.Reader) error {
		tasks, err := r.Tasks(board.TaskFilter{})
		if len(tasks) != 1 {
			t.Errorf("%d tasks, want 1", len(tasks))
		}
		return err
	})
}

func TestClose(t *testing.T) {
	s := open(t, path(t), &Options{Poll: time.Millisecond})
	seed(t, s, 1, nil)
	watched := make(chan error)
	woken := make(chan struct{}, 100)
	go func() { watched <- s.Watch(context.Background(), func() { woken <- struct{}{} }) }()
	seedUntil(t, s, woken)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-watched; !errors.Is(err, board.ErrUnavailable) {
		t.Errorf("Watch() = %v, want ErrUnavailable", err)
	}
	if err := s.Read(t.Context(), func(board.Reader) error { return nil }); !errors.Is(err, board.ErrUnavailable) {
		t.Errorf("Read() = %v, want ErrUnavailable", err)
	}
	if err := s.Write(t.Context(), func(board.Tx) error { return nil }); !errors.Is(err, board.ErrUnavailable) {
		t.Errorf("Write() = %v, want ErrUnavailable", err)
	}
}

func TestNow_neverBack(t *testing.T) {
	path := path(t)
	at := func(sec int64) *Options {
		return &Options{Clock: func() time.Time { return time.Unix(sec, 0) }}
	}
	ahead := open(t, path, at(2000))
	seed(t, ahead, 1, nil)
	behind := open(t, path, at(1000))
	check := func(r board.Reader) error {
		now, err := r.Now()
		if now.Unix() < 2000 {
			t.Errorf("Now() = %v, want at least what is in the file", now.Unix())
		}
		return err
	}
	read(t, behind, check)
	write(t, behind, func(tx board.Tx) error { return check(tx) })
	write(t, open(t, path, at(3000)), func(tx board.Tx) error { _, err := tx.Now(); return err })
	// It stays in the file, though the row was written by whoever was ahead.
	read(t, open(t, path, at(1)), func(r board.Reader) error {
		now, err := r.Now()
		if now.Unix() != 3000 {
			t.Errorf("Now() = %v, want 3000", now.Unix())
		}
		return err
	})
}

// seedUntil writes until somebody is woken, who may have only just begun to watch.
func seedUntil(t *testing.T, s *Store, woken <-chan struct{}) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		seed(t, s, 1, nil)
		select {
		case <-woken:
			return
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("no write wakes who watches")
		}
	}
}

func TestWatch(t *testing.T) {
	path := path(t)
	woken := make(chan struct{}, 100)
	watching := open(t, path, &Options{Poll: 5 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- watching.Watch(ctx, func() { woken <- struct{}{} }) }()
	writer := open(t, path, nil)
	seedUntil(t, writer, woken)
	for i := range 3 {
		for len(woken) > 0 {
			<-woken
		}
		seed(t, writer, 1, nil)
		select {
		case <-woken:
		case <-time.After(time.Minute):
			t.Fatalf("write %d did not wake", i)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Watch() = %v", err)
	}
}

func TestOpen_networkFileSystem(t *testing.T) {
	path := path(t)
	nfs := func(string) (string, bool, error) { return "nfs", true, nil }
	_, err := Open(t.Context(), path, &Options{fileSystem: nfs})
	e, ok := errors.AsType[*NetworkError](err)
	if !ok || e.Kind != "nfs" {
		t.Fatalf("Open() = %v, want a NetworkError", err)
	}
	if text := err.Error(); !strings.Contains(text, path) {
		t.Errorf("the error %q lacks the path", text)
	}
	seed(t, open(t, path, &Options{fileSystem: nfs, Force: true}), 1, nil)
}

func TestFileSystem(t *testing.T) {
	if kind, network, err := fileSystem(t.TempDir()); network || err != nil {
		t.Errorf("fileSystem() = %q, %v, %v; want a local one", kind, network, err)
	}
}

func TestVersionLess(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{{"3.51.2", "3.51.3", true}, {"3.51.3", "3.51.3", false}, {"3.53.0", "3.51.3", false}, {"3.9.9", "3.51.3", true}, {"4.0.0", "3.51.3", false}} {
		if got := versionLess(tt.a, tt.b); got != tt.want {
			t.Errorf("versionLess(%s, %s) = %v", tt.a, tt.b, got)
		}
	}
}

// What a caller was told is committed is on disk, unless a test wants otherwise.
func TestWrite_flushes(t *testing.T) {
	s := open(t, path(t), nil)
	seed(t, s, 1, nil)
	write(t, s, func(w board.Tx) error {
		var level int
		if err := w.(*tx).get(`PRAGMA synchronous`, nil, &level); err != nil || level != 2 {
			t.Errorf("PRAGMA synchronous = %d, %v, want 2, which is FULL", level, err)
		}
		return nil
	})
}

// TestSuite is where the suite of every store goes: boardtest.Run(t, openSuite).
func TestSuite(t *testing.T) {
	if openSuite(t) == nil {
		t.Error("no store")
	}
}

func openSuite(t *testing.T) board.Store { return open(t, path(t), nil) }

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "board")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(dir, "board.db"), nil)
	if err != nil {
		panic(err)
	}
	defer s.Close()
	err = s.Write(ctx, func(tx board.Tx) error {
		return tx.PutProject(board.Project{Slug: "web", Name: "The web site"})
	})
	if err != nil {
		panic(err)
	}
	err = s.Read(ctx, func(r board.Reader) error {
		p, err := r.Project("web")
		fmt.Println(p.Name)
		return err
	})
	if err != nil {
		panic(err)
	}
	// Output: The web site
}

// TestWrite_afterACancelledRead: the connection of a read that was cancelled goes back to
// the pool, and the first write may get it.
func TestWrite_afterACancelledRead(t *testing.T) {
	path := path(t)
	seed(t, open(t, path, nil), 1, nil)
	s := open(t, path, nil)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Read(ctx, func(r board.Reader) error {
		cancel()
		_, err := r.Projects()
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Read() = %v, want %v", err, context.Canceled)
	}
	write(t, s, func(tx board.Tx) error { return addTasks(tx, "web", 1, nil) })
}

// A call that is cancelled at a bad moment leaves no transaction to the next one.
func TestStore_cancelled(t *testing.T) {
	s := open(t, path(t), nil)
	write := func() error {
		return s.Write(t.Context(), func(tx board.Tx) error { return tx.PutProject(board.Project{Slug: "x", Policy: board.PolicyTrust}) })
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	n := 6000 // the moment is rare
	if raceEnabled {
		n = 200
	}
	for range n {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.Read(ctx, func(r board.Reader) error {
				_, err := r.Projects()
				return err
			})
		}()
		for range rand.IntN(2000) {
			runtime.Gosched()
		}
		cancel()
		<-done
		if err := s.Read(t.Context(), func(r board.Reader) error { _, err := r.Projects(); return err }); err != nil {
			t.Fatalf("Read after a cancelled call: %v", err)
		}
	}
	if err := write(); err != nil {
		t.Fatalf("Write after cancelled calls: %v", err)
	}
}
