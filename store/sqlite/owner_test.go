package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// holdTask is a process that attends an owner, gets a task for it, and waits. A program that
// it has started outlives it, and has the owner's file open, as a child has between fork and
// exec.
func holdTask(s *Store, owner string, end io.Reader) error {
	s.Attend(owner)
	if _, err := board.New(s, nil).Next(context.Background(), board.Actor{Principal: "local", Owner: owner}, board.Wish{Projects: []string{"web"}}); err != nil {
		return err
	}
	child := exec.Command("sleep", "20")
	child.ExtraFiles = []*os.File{s.owners[owner]}
	if err := child.Start(); err != nil {
		return err
	}
	defer child.Process.Kill()
	fmt.Println(child.Process.Pid)
	_, err := io.ReadAll(end)
	return err
}

// holdOld is a process that gets a task, as older programs do: it locks its owner's file in
// the way and in the directory that they do.
func holdOld(s *Store, owner string, end io.Reader) error {
	dir, err := s.ownersDir(ownersSuffix, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := openLock(dir, owner)
	if err != nil {
		return err
	}
	defer f.Close()
	if ok, err := tryLock(f); err != nil || !ok {
		return fmt.Errorf("locked %t: %w", ok, err)
	}
	if _, err := board.New(s, nil).Next(context.Background(), board.Actor{Principal: "local", Owner: owner}, board.Wish{Projects: []string{"web"}}); err != nil {
		return err
	}
	fmt.Println("holding")
	_, err = io.ReadAll(end)
	return err
}

// A process of an older program is known to live, and to be killed. It sees no file of this
// one, which it would take for that of a dead one.
func TestGone_older(t *testing.T) {
	p := path(t)
	s := open(t, p, nil)
	seed(t, s, 2, nil)
	older := startChild(t, "holdOld", p, "p-older")
	if !older.lines.Scan() {
		t.Fatal("the older program got no task")
	}
	s.Attend("p-newer")
	seed(t, s, 1, nil)
	wantGone(t, s)
	if entries, err := os.ReadDir(p + ".owners"); err != nil || len(entries) != 1 {
		t.Errorf("the older program sees the files %v, %v, want its own", entries, err)
	}
	if err := older.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = older.cmd.Wait()
	wantGone(t, s, "p-older")
}

// A process that is killed loses its task at once, and its worker's name.
func TestGone_killed(t *testing.T) {
	p := path(t)
	s := open(t, p, nil)
	seed(t, s, 2, nil)
	victim := startChild(t, "hold", p, "p-victim")
	if !victim.lines.Scan() {
		t.Fatal("the victim got no task")
	}
	pid := victim.lines.Text()
	t.Cleanup(func() { _ = exec.Command("kill", pid).Run() })
	wantGone(t, s)
	file := filepath.Join(p+".alive", "p-victim")
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	var lost board.Claim
	read(t, s, func(r board.Reader) error {
		held, err := r.Claims(board.ClaimFilter{Owner: "p-victim"})
		if len(held) == 1 {
			lost = held[0]
		}
		return err
	})

	if err := victim.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = victim.cmd.Process.Wait() // Cmd.Wait would wait for the program that it has started, too
	wantGone(t, s, "p-victim")       // although the program that it has started runs on
	// The name can be used at once, and the task is handed out again.
	h, err := board.New(s, nil).Next(t.Context(), board.Actor{Principal: "local", Owner: "p-heir"},
		board.Wish{Projects: []string{"web"}, Worker: lost.Worker.Name, Task: lost.Task})
	if err != nil || h.Claim.Task != lost.Task || h.Claim.Attempt != 2 {
		t.Fatalf("Next(%s) after its process was killed = %+v, %v", lost.Worker.Name, h, err)
	}
	if first := h.Attempts[0]; first.Cause != board.CauseExpired || first.Reason != board.Killed || h.Task.Failures != 1 {
		t.Errorf("the first attempt = %+v with %d failures, want one that has expired", first, h.Task.Failures)
	}
	wantGone(t, s)
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of an owner who has nothing left: %v, want that it is deleted", err)
	}
}

// A process that leaves deletes its file, so that its claims last as long as their leases.
func TestGone_left(t *testing.T) {
	p := path(t)
	s := open(t, p, nil)
	seed(t, s, 1, nil)
	left := open(t, p, nil)
	left.Attend("p-left")
	b := board.New(left, nil)
	if _, err := b.Next(t.Context(), board.Actor{Principal: "local", Owner: "p-left"}, board.Wish{Projects: []string{"web"}}); err != nil {
		t.Fatal(err)
	}
	wantGone(t, s)
	if err := b.Leave(t.Context(), "p-left"); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, p, 0)
	wantGone(t, s)
	if held, _ := b.Claims(t.Context(), board.ClaimFilter{Owner: "p-left"}); len(held) != 1 {
		t.Errorf("after Leave there are %d claims, want the one", len(held))
	}
	// A later write of that process does not bring the file back.
	seed(t, left, 1, nil)
	wantFiles(t, p, 0)
}

// Attend alone creates nothing. What a write has created outlives Close, if the owner has not
// left, until somebody looks who is gone.
func TestAttend_files(t *testing.T) {
	p := path(t)
	s, err := Open(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Attend("p-one")
	s.Attend("p-two")
	s.Attend("../three")
	read(t, s, func(r board.Reader) error { _, err := r.Gone(); return err })
	if _, err := os.Stat(filepath.Dir(p)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Attend and Read have created a directory: %v", err)
	}
	seed(t, s, 1, nil)
	wantFiles(t, p, 2)
	// A file that somebody deletes is there again after the next write.
	if err := os.RemoveAll(p + ".alive"); err != nil {
		t.Fatal(err)
	}
	seed(t, s, 1, nil)
	wantFiles(t, p, 2)
	if err := board.New(s, nil).Leave(t.Context(), "p-one"); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, p, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, p, 1)
	wantGone(t, open(t, p, nil))
	wantFiles(t, p, 0)
}

// A process that cannot tell the board that it ends, as on a full disk, is gone once it has
// closed the board, as if it were killed, and not before.
func TestGone_notLeft(t *testing.T) {
	p := path(t)
	s, ends := open(t, p, nil), open(t, p, nil)
	seed(t, s, 1, nil)
	ends.Attend("p-ends")
	if _, err := board.New(ends, nil).Next(t.Context(), board.Actor{Principal: "local", Owner: "p-ends"}, board.Wish{Projects: []string{"web"}}); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	if err := ends.Write(t.Context(), func(tx board.Tx) error { return cmp.Or(tx.Disown("p-ends"), full) }); !errors.Is(err, full) {
		t.Fatal(err)
	}
	wantFiles(t, p, 1)
	wantGone(t, s)
	if err := ends.Close(); err != nil {
		t.Fatal(err)
	}
	wantGone(t, s, "p-ends")
	h, err := board.New(s, nil).Next(t.Context(), board.Actor{Principal: "local", Owner: "p-heir"}, board.Wish{Projects: []string{"web"}})
	if err != nil || h.Claim.Attempt != 2 {
		t.Errorf("Next() after the process has ended = %+v, %v; want its task", h, err)
	}
}

// A reviewer whose process was killed loses the review at once, and the history says why.
func TestGone_reviewer(t *testing.T) {
	p := path(t)
	s, dies := open(t, p, nil), open(t, p, nil)
	seed(t, s, 1, nil)
	write(t, s, func(tx board.Tx) error { return tx.PutProject(board.Project{Slug: "web", Policy: board.PolicyReview}) })
	b, author, wish := board.New(s, nil), board.Actor{Principal: "local", Owner: "p-author"}, board.Wish{Projects: []string{"web"}, Reviews: []string{"web"}}
	h, err := b.Next(t.Context(), author, wish)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Done(t.Context(), author, h.Claim.Handle, board.Report{Summary: "done"}); err != nil {
		t.Fatal(err)
	}
	dies.Attend("p-dies")
	if h, err = board.New(dies, nil).Next(t.Context(), board.Actor{Principal: "local", Owner: "p-dies"}, wish); err != nil || !h.Claim.IsReview() {
		t.Fatalf("Next() = %+v, %v; want the review", h, err)
	}
	if err := dies.Close(); err != nil {
		t.Fatal(err)
	}
	if _, why, err := b.Why(t.Context(), h.Claim.Task); err != nil || !strings.Contains(fmt.Sprint(why), board.Killed) {
		t.Errorf("Why() = %v, %v; want that the process was killed", why, err)
	}
	if err := b.EndStale(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := b.Get(t.Context(), h.Claim.Task, 1)
	if err != nil || d.Review != nil {
		t.Fatalf("the review of the killed process = %+v, %v; want that it has ended", d.Review, err)
	}
	if e := d.Events[len(d.Events)-1]; e.Kind != board.EventReviewEnded || e.Detail.Text != board.Killed {
		t.Errorf("the last event is %s: %q, want %s: %q", e.Kind, e.Detail.Text, board.EventReviewEnded, board.Killed)
	}
}

// The lease of a lander whose process was killed is free at once, that of a living one is not.
func TestGone_lander(t *testing.T) {
	p := path(t)
	s, dies := open(t, p, nil), open(t, p, nil)
	seed(t, s, 1, nil)
	write(t, s, func(tx board.Tx) error { return tx.PutLand("web", "main") })
	b, heir := board.New(s, nil), board.Actor{Principal: "local", Owner: "p-heir"}
	lease := board.Lease{Project: "web", Target: "main", Holder: "a test"}
	dies.Attend("p-dies")
	if _, err := board.New(dies, nil).Lead(t.Context(), board.Actor{Principal: "local", Owner: "p-dies"}, lease); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Lead(t.Context(), heir, lease); !errors.Is(err, board.ErrConflict) {
		t.Fatalf("Lead() beside a living lander: %v, want ErrConflict", err)
	}
	if err := dies.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.EndStale(t.Context()); err != nil { // which looks who is gone
		t.Fatal(err)
	}
	if _, err := b.Lead(t.Context(), heir, lease); err != nil {
		t.Fatalf("Lead() after the lander was killed: %v", err)
	}
}

// On a network file system, where other machines may not see a lock, nobody is gone.
func TestGone_network(t *testing.T) {
	p := path(t)
	nfs := func(string) (string, bool, error) { return "nfs", true, nil }
	s := open(t, p, &Options{fileSystem: nfs, Force: true})
	s.Attend("p-one")
	seed(t, s, 1, nil)
	wantFiles(t, p, 0)
	if err := os.MkdirAll(p+".alive", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p+".alive", "p-two"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, s, func(tx board.Tx) error {
		return tx.PutWorker(board.Worker{WorkerID: board.WorkerID{Principal: "local", Name: "w"}, Owner: "p-two", LastSeen: time.Now()})
	})
	wantGone(t, s)
}

// Processes that begin while others look for dead ones keep their files.
func TestAttend_lookedAt(t *testing.T) {
	p := path(t)
	s := open(t, p, nil)
	seed(t, s, 1, nil)
	looker := startChild(t, "look", p, "p-looker")
	if !looker.lines.Scan() {
		t.Fatal("nobody looks")
	}
	for i := range 200 {
		s.Attend(fmt.Sprintf("p-%d", i))
		s.lockOwners()
	}
	wantFiles(t, p, 200)
	looker.start.Close()
	if !looker.lines.Scan() || looker.lines.Text() != "[]" {
		t.Errorf("another process says that %s are gone, want none", looker.lines.Text())
	}
}

// A process that begins while a slow one looks at its file waits for that: it is not taken for dead.
func TestAttend_lookedAtLong(t *testing.T) {
	p := path(t)
	s := open(t, p, nil)
	seed(t, s, 1, nil)
	write(t, s, func(tx board.Tx) error {
		return tx.PutWorker(board.Worker{WorkerID: board.WorkerID{Principal: "local", Name: "w"}, Owner: "p-slow", LastSeen: time.Now()})
	})
	looker := startChild(t, "lookLong", p, "p-slow")
	if !looker.lines.Scan() {
		t.Fatal("nobody looks")
	}
	looker.start.Close()
	s.Attend("p-slow")
	s.lockOwners()
	looker = startChild(t, "look", p, "p-looker")
	looker.start.Close()
	looker.lines.Scan() // it is ready
	if !looker.lines.Scan() || looker.lines.Text() != "[]" {
		t.Errorf("another process says that %s are gone, want none", looker.lines.Text())
	}
}

// lookLong is a process that looks at an owner's file until 100 ms after it is told to end.
func lookLong(s *Store, owner string, end io.Reader) error {
	dir, err := s.ownersDir(aliveSuffix, true)
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := openLock(dir, owner)
	if err != nil {
		return err
	}
	defer f.Close()
	if free, err := seesUnlocked(f); err != nil || !free {
		return fmt.Errorf("the file is locked already, %w", err)
	}
	fmt.Println("looking")
	_, _ = io.ReadAll(end)
	time.Sleep(100 * time.Millisecond)
	return nil
}

// look is a process that looks for dead owners until it is told to end, and then says who
// is dead.
func look(s *Store, _ string, end io.Reader) error {
	stop := make(chan struct{})
	go func() {
		_, _ = io.ReadAll(end)
		close(stop)
	}()
	fmt.Println("looking")
	for {
		var gone []string
		err := s.Read(context.Background(), func(r board.Reader) (err error) { gone, err = r.Gone(); return err })
		if err != nil {
			return err
		}
		select {
		case <-stop:
			fmt.Println(gone)
			return nil
		default:
		}
	}
}

// A process that has a board open twice does not look at its own owners: to close the file
// of one would release its lock.
func TestAttend_twoStores(t *testing.T) {
	p := path(t)
	s, second := open(t, p, nil), open(t, p, nil)
	seed(t, s, 1, nil)
	s.Attend("p-one")
	if _, err := board.New(s, nil).Next(t.Context(), board.Actor{Principal: "local", Owner: "p-one"}, board.Wish{Projects: []string{"web"}}); err != nil {
		t.Fatal(err)
	}
	wantGone(t, second)
	looker := startChild(t, "look", p, "p-looker")
	looker.start.Close()
	looker.lines.Scan() // it is ready
	if !looker.lines.Scan() || looker.lines.Text() != "[]" {
		t.Errorf("another process says that %s are gone, want none", looker.lines.Text())
	}
}

func wantGone(t *testing.T, s *Store, want ...string) {
	t.Helper()
	read(t, s, func(r board.Reader) error {
		got, err := r.Gone()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("Gone() = %v, want %v", got, want)
		}
		return err
	})
}

func wantFiles(t *testing.T, path string, want int) {
	t.Helper()
	entries, err := os.ReadDir(path + ".alive")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if len(entries) != want {
		t.Errorf("there are %d files of owners, want %d", len(entries), want)
	}
}
