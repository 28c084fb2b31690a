package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// An Advance is a move of a branch to a newer commit.
type Advance struct {
	// Branch is the short name, such as main.
	Branch string
	// Old is the commit that the branch has now, empty if there is no such branch yet. New is the one
	// that it gets, which has Old in its history.
	Old, New string
	// Why is said in the log of the branch.
	Why string
	// Leave is set if no checkout is to be updated: the branch then moves only while it is checked out
	// nowhere.
	Leave bool
}

// An Advanced is what has happened besides the move of a branch.
type Advanced struct {
	// Dir is the worktree whose files were updated, empty if the branch is checked out nowhere.
	Dir string
	// Left are files there that are not as the new commit has them, although nobody had changed them
	// before: they could not be written, or were written by others in the same moment.
	Left []string
}

// A MovedError says that a branch does not have the commit that it should have had.
type MovedError struct {
	Branch string
	// Now is the commit that it has, empty if there is no such branch.
	Now string
}

func (e *MovedError) Error() string {
	if e.Now == "" {
		return fmt.Sprintf("branch %.80q is not there any more", e.Branch)
	}
	return fmt.Sprintf("branch %.80q has moved to %s", e.Branch, Short(e.Now))
}

// A HeldError says that a branch cannot move just now, because of something in a worktree. Nothing
// has changed.
type HeldError struct {
	// Dir is the worktree.
	Dir string
	// Why is half a sentence with what is in the way.
	Why string
	// Files are files with changes of their own that would be overwritten, or files that git does
	// not know and that are where new ones would be.
	Files []string
}

func (e *HeldError) Error() string {
	if len(e.Files) > 0 {
		return fmt.Sprintf("in %q %s: %s", e.Dir, e.Why, quotedList(e.Files))
	}
	return fmt.Sprintf("in %q %s", e.Dir, e.Why)
}

// CheckedOut lists the worktrees that have a branch checked out. The error is a *HeldError if one of
// them cannot be looked at: it would be behind the branch when it is there again.
func (r *Repo) CheckedOut(branch string) (list []*Repo, err error) {
	main := r.Bare && r.Dir == r.Common
	for _, w := range r.known() {
		main = main || w.Dir == r.Common
		if head, err := w.Head(); err == nil && head.Branch == branch {
			list = append(list, w)
		}
	}
	bare := &Repo{Root: r.Common, Dir: r.Common, Common: r.Common}
	if head, err := bare.Head(); err == nil && head.Branch == branch && !main && !bare.isBare() {
		return nil, &HeldError{Dir: r.Common, Why: fmt.Sprintf("branch %.80q is checked out, and Bossman does not find the worktree of this git directory", branch)}
	}
	dirs, _ := filepath.Glob(filepath.Join(globQuote(r.Common), "worktrees", "*"))
	for _, dir := range dirs {
		gone := &Repo{Dir: dir, Common: r.Common}
		head, err := gone.Head()
		if err != nil || head.Branch != branch || slices.ContainsFunc(list, func(w *Repo) bool { return w.Dir == dir }) {
			continue
		}
		return nil, &HeldError{Dir: dir, Why: fmt.Sprintf("branch %.80q is checked out, and the worktree of this git directory is not there: if it is gone for good, run git worktree prune", branch)}
	}
	return list, nil
}

// known lists the worktrees that are there, with a main worktree whose git directory lies elsewhere.
func (r *Repo) known() []*Repo {
	list := r.Worktrees()
	add := func(w *Repo) {
		if !w.Bare && w.Foreign == "" && w.Of(r.Common) && !slices.ContainsFunc(list, func(o *Repo) bool { return o.Dir == w.Dir }) {
			list = append(list, w)
		}
	}
	add(r)
	if dir, ok := (&Repo{Dir: r.Common, Common: r.Common}).workTree(); ok {
		if w, ok := At(resolve(r.Common, dir)); ok {
			add(w)
		}
	}
	return list
}

// landTime bounds what cannot be cancelled: a branch has moved, and the files have to follow.
const landTime = 10 * time.Minute

// Advance moves a branch to a newer commit, if it has the old one at that moment. Where it is checked
// out, the files and the index of the worktree follow: changes to other files stay as they are, staged
// or not, and nothing moves as long as one of the files in question has changes. If the process is
// killed meanwhile, Recover completes what was begun.
//
// It runs no hook, and filters as Checkout does. Submodules are not updated. It is an
// error if the new commit does not have the old one in its history. A *MovedError, a *HeldError and a
// *FilterError say that nothing has changed.
func (r *Repo) Advance(ctx context.Context, a Advance, accept func(filter string) bool) (Advanced, error) {
	if err := r.valid(ctx, a); err != nil || a.Old == a.New {
		return Advanced{}, err
	}
	unlock, err := r.lockFile(ctx, "land.lock")
	if err != nil {
		return Advanced{}, err
	}
	defer unlock()
	if _, err := r.recover(ctx, accept); err != nil {
		return Advanced{}, err
	}
	return r.advance(ctx, a, accept)
}

func (r *Repo) advance(ctx context.Context, a Advance, accept func(filter string) bool) (Advanced, error) {
	if now := r.Branch(a.Branch); now != a.Old {
		return Advanced{}, &MovedError{a.Branch, now}
	}
	if w := r.Held(a.Branch); w != nil {
		return Advanced{}, &HeldError{Dir: w.Root, Why: fmt.Sprintf("a rebase or a bisect of branch %.80q is under way", a.Branch)}
	}
	on, err := r.CheckedOut(a.Branch)
	switch {
	case err != nil:
		return Advanced{}, err
	case len(on) == 1 && !a.Leave:
		l, err := on[0].landing(ctx, a, accept)
		if err != nil {
			return Advanced{}, err
		}
		return l.land(ctx)
	case len(on) > 0:
		var dirs []string
		for _, w := range on[1:] {
			dirs = append(dirs, w.Root)
		}
		why := fmt.Sprintf("branch %.80q is checked out", a.Branch)
		if len(dirs) > 0 {
			why += " as well as in " + quotedList(dirs)
		}
		return Advanced{}, &HeldError{Dir: on[0].Root, Why: why}
	}
	if err := r.Sync(); err != nil {
		return Advanced{}, err
	}
	if err := r.move(ctx, a); err != nil {
		return Advanced{}, err
	}
	return r.catchUp(ctx, a, accept)
}

// catchUp updates a worktree in which somebody has checked the branch out just when it moved.
func (r *Repo) catchUp(ctx context.Context, a Advance, accept func(filter string) bool) (done Advanced, err error) {
	on, err := r.CheckedOut(a.Branch)
	if err != nil || len(on) == 0 {
		return Advanced{}, nil
	}
	l, err := on[0].landing(ctx, a, accept)
	if err == nil {
		l.moved = true
		done, err = l.land(ctx)
	}
	if e, ok := errors.AsType[*HeldError](err); ok {
		return Advanced{Dir: e.Dir, Left: e.Files}, nil
	}
	return done, err
}

// valid returns an error if a move is not one to a newer commit.
func (r *Repo) valid(ctx context.Context, a Advance) error {
	if !validRef("refs/heads/" + a.Branch) {
		return fmt.Errorf("%.80q is no name of a branch", a.Branch)
	}
	commits := []string{a.New}
	if a.Old != "" {
		commits = append(commits, a.Old)
	}
	if _, err := r.trees(ctx, commits...); err != nil || a.Old == "" {
		return err
	}
	in, err := r.Contains(ctx, a.New, a.Old)
	if err == nil && !in {
		err = fmt.Errorf("commit %s does not have %s in its history, and branch %.80q does not move there", Short(a.New), Short(a.Old), a.Branch)
	}
	return err
}

// move makes the branch name the new commit, if it names the old one.
func (r *Repo) move(ctx context.Context, a Advance) error {
	ref, old := "refs/heads/"+a.Branch, a.Old
	if old == "" {
		old = strings.Repeat("0", len(a.New))
	}
	_, err := r.write(ctx, call{args: []string{"update-ref", "-m", cmp.Or(a.Why, "bossman: landed"), "--no-deref", ref, a.New, old}}, ref)
	if err == nil {
		return nil
	}
	switch now := r.Branch(a.Branch); {
	case now == a.New: // git was killed after it had written the ref
		return nil
	case now != a.Old:
		return &MovedError{a.Branch, now}
	case r.Locked(ref):
		return &HeldError{Dir: r.Root, Why: fmt.Sprintf("branch %.80q is locked: git writes it, or was killed while it did: if no git is running, delete %q", a.Branch, filepath.Join(r.Common, filepath.FromSlash(ref)+".lock"))}
	}
	return err
}
