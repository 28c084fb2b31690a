package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// journalDir is the directory with which the update of a worktree is noted, in the git directory of
// the worktree: an agent in a sandbox does not write there. It has
//
//	journal   what is being done; as long as it is there, it is not done
//	lock      the file that index.lock and HEAD.lock are links to, if they are ours
//	index     the index that is being made
//	HEAD, commondir
//	          with which it is a git directory whose HEAD is not the branch
const journalDir = "bossman-land"

// journalHead is the first line of a journal.
const journalHead = "bossman landing 1"

// A landing is the update of a worktree whose branch moves.
type landing struct {
	*Repo
	a   Advance
	dir string // the journal's directory
	// moved is set if the branch has the new commit already.
	moved     bool
	set       settings // with the filters that are not accepted turned off
	refused   []string // these filters
	filtering bool     // there is a filter
	memory    int64
	changes   []treeChange
	// step is called before and after each step, by tests.
	step func(name string)
}

// landStep is the step of landings, for tests.
var landStep func(name string)

// landing prepares the update of a worktree.
func (r *Repo) landing(ctx context.Context, a Advance, accept func(filter string) bool) (*landing, error) {
	if err := r.there(); err != nil {
		return nil, err
	}
	if err := r.writable("refs/heads/" + a.Branch); err != nil {
		return nil, err
	}
	l := &landing{Repo: r, a: a, dir: filepath.Join(r.Dir, journalDir), step: landStep}
	if err := straight(r.Dir, journalDir); err != nil {
		return nil, err
	}
	f, err := r.filters(ctx)
	if err != nil {
		return nil, err
	}
	l.set, l.refused = f.accepted(accept, func(key string) bool { return stores(key) || fills(key) })
	l.set = append(l.set, setting{"core.splitIndex", "false"})
	l.memory = r.readMemory() + addMemory
	if len(f.own)+len(f.others) > 0 {
		if err := r.filterStores(f); err != nil {
			return nil, err
		}
		l.filtering, l.memory = true, l.memory+filterMemory
	}
	l.changes, err = r.treeChanges(ctx, a.Old, a.New)
	return l, err
}

// do does one step.
func (l *landing) do(name string, f func() error) error {
	if l.step != nil {
		l.step("before " + name)
	}
	err := f()
	if l.step != nil {
		l.step("after " + name)
	}
	return err
}

// file returns a path in the journal's directory.
func (l *landing) file(name string) string { return filepath.Join(l.dir, name) }

// note writes the journal. What is in its directory without one is of no use.
func (l *landing) note() error {
	if err := os.RemoveAll(l.dir); err != nil {
		return err
	}
	if err := os.Mkdir(l.dir, 0o700); err != nil {
		return err
	}
	for _, f := range [][2]string{
		{"lock", "Bossman updates this worktree.\n"},
		{"HEAD", l.a.New + "\n"},
		{"commondir", l.Common + "\n"},
		{"journal.new", strings.Join([]string{journalHead, l.a.Branch, l.a.Old, l.a.New, ""}, "\n")},
	} {
		if err := writeSynced(l.file(f[0]), f[1]); err != nil {
			return err
		}
	}
	if err := os.Rename(l.file("journal.new"), l.file("journal")); err != nil {
		return err
	}
	return errors.Join(syncDir(l.dir), syncDir(l.Dir))
}

// writeSynced writes a new file that outlives a power cut.
func writeSynced(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncDir makes the names in a directory outlive a power cut, where that can be asked for.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = f.Sync()
	return f.Close()
}

// forgetNote removes the journal, and then what is with it.
func (l *landing) forgetNote() error {
	if err := os.Remove(l.file("journal")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(l.dir)
}

// readNote reads the journal of a worktree; nil if there is none.
func (r *Repo) readNote() (*Advance, error) {
	if err := straight(r.Dir, journalDir+"/journal"); err != nil {
		return nil, err
	}
	path := filepath.Join(r.Dir, journalDir, "journal")
	text, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := strings.Split(text, "\n")
	if len(lines) != 5 || lines[0] != journalHead || !validRef("refs/heads/"+lines[1]) || lines[2] != "" && !IsObject(lines[2]) || !IsObject(lines[3]) || lines[4] != "" {
		return nil, fmt.Errorf("%q is not a journal of this version of Bossman: look at the files of the worktree, and delete it", path)
	}
	return &Advance{Branch: lines[1], Old: lines[2], New: lines[3]}, nil
}

// gitLocks are the files with which git keeps others from its index and from HEAD.
var gitLocks = []string{"index.lock", "HEAD.lock"}

// lockTries is how often a lock of git is tried that another git has, lockPause apart.
const lockTries = 50

// lockGit takes one of git's locks. It is a link to a file of the journal: nobody can take it for
// another's later, whenever the process is killed.
func (l *landing) lockGit(ctx context.Context, name string) error {
	path := filepath.Join(l.Dir, name)
	for n := 0; ; n++ {
		err := os.Link(l.file("lock"), path)
		switch {
		case err == nil, l.ours(name):
			return nil
		case !errors.Is(err, fs.ErrExist):
			return fmt.Errorf("the worktree cannot be locked for git, whose lock has to be a hard link: %w", err)
		case n == lockTries:
			return &HeldError{Dir: l.Root, Why: fmt.Sprintf("git is running: if it is not, delete %q", path)}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause):
		}
	}
}

// ours reports whether one of git's locks is that of the journal.
func (l *landing) ours(name string) bool {
	lock, err := os.Lstat(filepath.Join(l.Dir, name))
	if err != nil {
		return false
	}
	own, err := os.Lstat(l.file("lock"))
	return err == nil && os.SameFile(lock, own)
}

// unlockGit gives back those of git's locks that are ours.
func (l *landing) unlockGit() (err error) {
	for n := len(gitLocks) - 1; n >= 0; n-- {
		if name := gitLocks[n]; l.ours(name) {
			err = errors.Join(err, l.do("unlock "+name, func() error { return os.Remove(filepath.Join(l.Dir, name)) }))
		}
	}
	return err
}

// A Recovered is a worktree whose update was cut off, and is complete now.
type Recovered struct {
	// Dir is the worktree, and Branch the branch that moved.
	Dir, Branch string
	// Old and New are the commits. Moved is set if the branch has the new one.
	Old, New string
	Moved    bool
	// Left is as in Advanced.
	Left []string
}

// Recover completes what an Advance has begun in a process that was killed. Where the branch had not
// moved, nothing has changed. It writes only files that are as in the old or in the new commit, or are the
// beginning of the new one, and keeps all others. What runs is as for Advance.
func (r *Repo) Recover(ctx context.Context, accept func(filter string) bool) ([]Recovered, error) {
	unlock, err := r.lockFile(ctx, "land.lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	return r.recover(ctx, accept)
}

func (r *Repo) recover(ctx context.Context, accept func(filter string) bool) (list []Recovered, err error) {
	for _, w := range r.known() {
		a, failed := w.readNote()
		if failed == nil && a == nil {
			failed = os.RemoveAll(filepath.Join(w.Dir, journalDir)) // what is left of one that is done
		}
		if failed == nil && a != nil {
			var done Recovered
			if done, failed = w.recoverOne(ctx, *a, accept); failed == nil {
				list = append(list, done)
			}
		}
		err = errors.Join(err, failed)
	}
	return list, err
}

// recoverOne completes the update of one worktree.
func (r *Repo) recoverOne(ctx context.Context, a Advance, accept func(filter string) bool) (Recovered, error) {
	done := Recovered{Dir: r.Root, Branch: a.Branch, Old: a.Old, New: a.New}
	head, err := r.Head()
	if err != nil {
		return done, err
	}
	done.Moved = r.Branch(a.Branch) == a.New
	if !done.Moved || head.Branch != a.Branch {
		// The files follow the branch only after it has moved, and HEAD is locked until they have.
		l := &landing{Repo: r, a: a, dir: filepath.Join(r.Dir, journalDir), step: landStep}
		return done, errors.Join(l.unlockGit(), l.forgetNote())
	}
	if err := r.valid(ctx, a); err != nil {
		return done, err
	}
	l, err := r.landing(ctx, a, accept)
	if err != nil {
		return done, err
	}
	if _, err := os.Lstat(l.file("lock")); errors.Is(err, fs.ErrNotExist) { // it was being removed
		if err := writeSynced(l.file("lock"), "Bossman updates this worktree.\n"); err != nil {
			return done, err
		}
	}
	for _, name := range gitLocks {
		if err := l.lockGit(ctx, name); err != nil {
			return done, err
		}
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), landTime)
	defer cancel()
	if done.Left, err = l.complete(limited); err != nil {
		return done, errors.Join(err, l.unlockGit())
	}
	return done, errors.Join(l.unlockGit(), l.forgetNote())
}
