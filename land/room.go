package land

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/plaindir"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A room is the worktree in which a lander merges and checks. It is kept from one run to the next, and
// prepared like those of agents.
type room struct {
	o    *Options
	dir  string
	tree *git.Repo
	// prepared identifies the setup that has succeeded here, and what it depends on.
	prepared string
}

func newRoom(o *Options) *room {
	return &room{o: o, dir: o.Repo.Room()}
}

// at returns the worktree. It is made with a commit if there is none.
func (r *room) at(ctx context.Context, commit string) (*git.Repo, error) {
	if r.tree != nil {
		return r.tree, nil
	}
	if err := git.OwnDir(filepath.Dir(r.dir)); err != nil {
		return nil, err
	}
	tree, err := r.o.Repo.Linked(r.dir)
	if err != nil {
		if git.IsOrphan(r.dir) {
			if err := r.moveAway(ctx, fmt.Sprintf("%q is left over from a clone that is gone", r.dir)); err != nil {
				return nil, &roomError{err}
			}
		}
		if tree, err = r.o.Repo.AddWorktree(ctx, r.dir, commit, r.o.Accept); err != nil {
			err = partial(fmt.Errorf("the worktree for landing: %w", err))
			if errors.Is(err, fs.ErrExist) {
				err = fmt.Errorf("%w; move it elsewhere, and it is made anew", err)
			}
			if ctx.Err() == nil {
				err = &roomError{err}
			}
			return nil, err
		}
	}
	r.tree = tree
	return tree, nil
}

// A roomError says that there is no worktree in which work can be merged and checked.
type roomError struct{ err error }

func (e *roomError) Error() string { return e.err.Error() }
func (e *roomError) Unwrap() error { return e.err }

// claim is what a verdict of a lander was made for.
const claim = "landing"

// check runs a check on a commit that is to follow another one.
func (r *room) check(ctx context.Context, c *check.Check, commit, onto string) (check.Verdict, error) {
	tree, err := r.at(ctx, commit)
	if err != nil {
		return check.Verdict{}, err
	}
	own, err := r.asLeft(ctx, tree)
	if err == nil && !own {
		if err = r.moveAway(ctx, fmt.Sprintf("somebody has worked in %q, where work is judged before it lands", r.dir)); err == nil {
			tree, err = r.at(ctx, commit)
		}
	}
	if err != nil {
		return check.Verdict{}, err
	}
	head, err := tree.Head()
	if err == nil {
		err = r.note(tree, commit, busy, head.Commit)
	}
	if err != nil {
		return check.Verdict{}, err
	}
	if err := tree.Checkout(ctx, "", commit, false, r.o.Accept); err != nil {
		if _, ok := errors.AsType[*git.HistoryError](err); ok || ctx.Err() != nil {
			return check.Verdict{}, partial(err)
		}
		return check.Verdict{Result: check.NotJudged, Why: "its files could not be checked out: " + err.Error()}, nil
	}
	if err := r.prepare(ctx, tree, commit); err != nil {
		return check.Verdict{Result: check.NotJudged, Why: err.Error()}, nil
	}
	judging := *c
	judging.Adds = true // as in the worktree of the work, where they are left out
	v, err := r.run(ctx, tree, &judging)
	if err != nil {
		return v, err
	}
	if loose, err := tree.Loose(ctx); err == nil { // else what is there counts as the check's
		_ = r.note(tree, commit, loose.Sum())
	}
	lacking, err := tree.Lacking(ctx, onto)
	if err != nil || len(lacking) == 0 || v.Result != check.Green && v.Result != check.Red {
		return v, err
	}
	return check.Verdict{Result: check.NotJudged, Why: unseen(lacking[0], tree.Root)}, nil
}

// unseen says what to do about a submodule that is not checked out where work is judged.
func unseen(s git.Lacking, dir string) string {
	why := fmt.Sprintf("submodule %.200q is not checked out in %q as the commit has it, so the check has not seen its files: let the project's setup check it out, with [work] setup = \"git submodule update --init\" in .bossman/config.toml and bossman trust", s.Path, dir)
	key := "submodule." + s.Name + ".update"
	if (s.Path == s.Name || !strings.Contains(s.Path, "/")) && visible.ShellWord(key) == key { // else it may be inside another one, or mislead
		why += fmt.Sprintf("; if the check does not need it, run git config %s none", key)
	}
	return why
}

// leftNote is the name of the note, in the git directory of the worktree, of how a lander has left it: the commit
// that is checked out, and a fingerprint of the files that a check has left besides. While it judges, it is busy in
// place of that, and the commit that was checked out before.
// Agents may put anything in its place.
const leftNote, busy, maxLeft = "bossman-left", "busy", 4 << 10

func (r *room) note(tree *git.Repo, words ...string) error {
	dir, err := tree.OpenDir()
	if err != nil {
		return err
	}
	defer dir.Close()
	return plaindir.Replace(dir, leftNote, []byte(strings.Join(words, " ")+"\n"))
}

// asLeft reports whether the worktree is as a lander has left it, so that nothing is lost if it is cleaned.
func (r *room) asLeft(ctx context.Context, tree *git.Repo) (bool, error) {
	head, err := tree.Head()
	if err != nil || head.Branch != "" {
		return false, err
	}
	dir, err := tree.OpenDir()
	if err != nil {
		return false, err
	}
	defer dir.Close()
	text, err := plaindir.Read(dir, leftNote, maxLeft)
	switch {
	case errors.Is(err, fs.ErrNotExist): // nothing was judged here yet
		s, err := tree.Status(ctx)
		return err == nil && s.Uncommitted == 0, err
	case errors.Is(err, fs.ErrInvalid): // no lander has written that
		return false, nil
	}
	words := strings.Fields(string(text))
	switch {
	case err != nil || len(words) < 2:
		return false, err
	case words[1] == busy: // a lander was killed
		return slices.Contains(words, head.Commit), nil
	case words[0] != head.Commit:
		return false, nil
	}
	loose, err := tree.Loose(ctx)
	return err == nil && loose.Sum() == words[1], err
}

// maxAside is how many worktrees may have been moved away.
const maxAside = 8

// moveAway moves the worktree away, because people may need what is there. why says what is wrong with it.
func (r *room) moveAway(ctx context.Context, why string) error {
	if aside, _ := filepath.Glob(filepath.Join(filepath.Dir(r.dir), filepath.Base(r.dir)+".aside-*")); len(aside) >= maxAside {
		return fmt.Errorf("%s, and %d such worktrees were moved away already: look at %q, and delete those in which nothing is needed", why, len(aside), r.dir+".aside-…")
	}
	to := fmt.Sprintf("%s.aside-%d", r.dir, time.Now().UnixMilli())
	if _, err := r.o.Repo.Aside(ctx, r.dir, to); err != nil {
		return fmt.Errorf("%s, and it cannot be moved away: %w", why, err)
	}
	r.tree, r.prepared = nil, ""
	r.o.Report(Event{Kind: Waits, Text: fmt.Sprintf("%s: that is now %q; look at it, and delete it when nothing there is needed", why, to)})
	return nil
}

// run runs a command in the worktree until it has ended. A verdict of another worktree does not count: those of agents share
// the runner.
func (r *room) run(ctx context.Context, tree *git.Repo, c *check.Check) (check.Verdict, error) {
	own := *c
	own.Here = true
	run := r.o.Runner.Check(ctx, tree.Root, tree, &own, claim)
	select {
	case <-run.Done():
	case <-ctx.Done():
		run.Stop()
		return check.Verdict{}, context.Cause(ctx)
	}
	v, _ := run.Wait(ctx, 0)
	return v, nil
}

// prepare copies the files that git ignores and that the work needs, and runs the project's setup if
// what it depends on has changed, or a submodule is not checked out that was after it.
func (r *room) prepare(ctx context.Context, tree *git.Repo, commit string) error {
	from := r.o.Repo
	if main, ok := git.Main(from.Common); ok && !main.Bare {
		from = main
	}
	if _, err := tree.Include(ctx, from); err != nil {
		return fmt.Errorf("the files that %s names were not copied: %w", git.IncludeFile, err)
	}
	if r.o.Setup == nil {
		return nil
	}
	command, when, err := r.o.Setup()
	if err != nil || len(command) == 0 {
		return err
	}
	print, err := tree.Print(ctx, commit, command, when)
	if err != nil {
		return err
	}
	if now, err := tree.Prepared(ctx, print); err != nil || now == r.prepared { // the checkout may have emptied a submodule
		return err
	}
	r.prepared = ""
	v, err := r.run(ctx, tree, &check.Check{Name: "setup", Command: command, Filters: r.o.Accept, Again: true})
	switch {
	case err != nil:
		return err
	case v.Result == check.Red:
		return fmt.Errorf("the project's setup failed, exit status %d: %s", v.Exit, excerpt(v.Tail))
	case v.Result == check.Changed: // what it wrote is put back: work is judged as it is
		err = tree.Checkout(ctx, "", commit, false, r.o.Accept)
	case v.Result != check.Green:
		return errors.New("the project's setup: " + excerpt(v.Why+"\n"+v.Tail))
	}
	if err == nil {
		r.prepared, err = tree.Prepared(ctx, print)
	}
	return err
}
