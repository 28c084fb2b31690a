package land

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
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
	dir := o.Repo.Root
	if main, ok := git.Main(o.Repo.Common); ok { // it may be bare
		dir = main.Root
	}
	return &room{o: o, dir: filepath.Join(dir+".worktrees", "land")}
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
		if tree, err = r.o.Repo.AddWorktree(ctx, r.dir, commit, r.o.Accept); err != nil {
			return nil, fmt.Errorf("the worktree for landing: %w", err)
		}
	}
	r.tree = tree
	return tree, nil
}

// claim is what a verdict of a lander was made for.
const claim = "landing"

// check runs a check on a commit.
func (r *room) check(ctx context.Context, c *check.Check, commit string) (check.Verdict, error) {
	tree, err := r.at(ctx, commit)
	if err != nil {
		return check.Verdict{}, err
	}
	if err := tree.Checkout(ctx, "", commit, false, r.o.Accept); err != nil {
		return check.Verdict{}, err
	}
	if err := r.prepare(ctx, tree, commit); err != nil {
		return check.Verdict{Result: check.NotJudged, Why: err.Error()}, nil
	}
	return r.run(ctx, tree, c)
}

// run runs a command in the worktree until it has ended.
func (r *room) run(ctx context.Context, tree *git.Repo, c *check.Check) (check.Verdict, error) {
	run := r.o.Runner.Check(ctx, tree.Root, tree, c, claim)
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
// what it depends on has changed.
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
	if err != nil || print == r.prepared {
		return err
	}
	r.prepared = ""
	v, err := r.run(ctx, tree, &check.Check{Name: "setup", Command: command, Filters: r.o.Accept})
	switch {
	case err != nil:
		return err
	case v.Result == check.Red:
		return fmt.Errorf("the project's setup failed, exit status %d:\n%s", v.Exit, v.Tail)
	case v.Result == check.Changed: // what it wrote is put back: work is judged as it is
		err = tree.Checkout(ctx, "", commit, false, r.o.Accept)
	case v.Result != check.Green:
		return errors.New("the project's setup: " + v.Why)
	}
	if err == nil {
		r.prepared = print
	}
	return err
}
