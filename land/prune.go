package land

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/plaindir"
)

const (
	// keepStates is how long the states of a task are kept after it has ended.
	keepStates = 30 * 24 * time.Hour
	// pruneTime is how often a lander looks for states that are not kept any more.
	pruneTime = 24 * time.Hour
	// maxPruned is how many tasks it looks at each time.
	maxPruned = 1000
	// pruneNote is the file in the clone whose time says when it last did.
	pruneNote = "pruned"
)

// prune deletes the states of tasks that ended long ago, here and at the remote repository of the target,
// once a day, or tries to. It deletes only what this board recorded: other boards may have a project of the
// same name, and keep the work of other tasks under the same refs.
func (l *Lander) prune(ctx context.Context) error {
	dir, err := plaindir.Make(l.o.Repo.Common, "bossman")
	if err != nil {
		return err
	}
	defer dir.Close()
	if info, err := dir.Lstat(pruneNote); err == nil && time.Since(info.ModTime()) < pruneTime {
		return nil
	}
	if err := plaindir.Replace(dir, pruneNote, nil); err != nil {
		return err
	}
	here, there := l.o.Repo.States(), map[string]string{}
	if l.o.Target.Kind != board.TargetLocal {
		var err error
		if there, err = l.target.states(ctx); err != nil {
			return err
		}
	}
	old, err := l.ended(ctx, here, there)
	if err != nil {
		return err
	}
	gone := map[string]string{}
	for name, commit := range there {
		own, err := l.recorded(ctx, old[taskOf(name)], name, commit)
		if err != nil {
			return err
		}
		if own {
			gone["refs/bossman/"+name] = commit
		}
	}
	for part := range slices.Chunk(slices.Sorted(maps.Keys(gone)), 100) {
		refs := map[string]string{}
		for _, ref := range part {
			refs[ref] = gone[ref]
		}
		if err := l.target.unpush(ctx, refs); err != nil {
			return err
		}
	}
	for name, commit := range here {
		own, err := l.recorded(ctx, old[taskOf(name)], name, commit)
		if err == nil && own {
			err = l.o.Repo.SetRef(ctx, "refs/bossman/"+name, "", commit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recorded reports whether a commit is a state of the attempt after which its ref is named, by what
// this board recorded: the board names the commit, or the commit names the claim. d is nil if the task did not
// end long ago.
func (l *Lander) recorded(ctx context.Context, d *board.Dossier, name, commit string) (bool, error) {
	if d == nil {
		return false, nil
	}
	_, rest, _ := strings.Cut(name, "/")
	number, _, _ := strings.Cut(rest, "-") // such as 1-end
	n, err := strconv.Atoi(number)
	if err != nil || !slices.ContainsFunc(d.Attempts, func(a board.Attempt) bool { return a.Attempt == n }) {
		return false, nil
	}
	if own, _ := check.Recorded(ctx, l.o.Repo, d, n, commit); own || ctx.Err() != nil { // an error: it is not in this clone
		return own, ctx.Err()
	}
	diff, err := l.o.Board.Diff(ctx, d.Task.ID, n)
	return err == nil && diff.Attempt == n && diff.Diff.Tip == commit, err
}

// ended returns the tasks of some states that ended long ago; nil for the others.
func (l *Lander) ended(ctx context.Context, states ...map[string]string) (map[string]*board.Dossier, error) {
	old := map[string]*board.Dossier{}
	for _, names := range states {
		for name := range names { // in any order: so all are looked at after some days
			id, err := board.ParseID(taskOf(name))
			if _, seen := old[taskOf(name)]; seen || err != nil || id.Project != l.o.Project || len(old) == maxPruned {
				continue
			}
			d, err := l.o.Board.Get(ctx, id, 0)
			if err != nil && !errors.Is(err, board.ErrNotFound) {
				return nil, err
			}
			old[taskOf(name)] = nil
			if err == nil && d.Task.Status.Terminal() && d.Now.Sub(d.Task.EndedAt) > keepStates {
				old[taskOf(name)] = &d
			}
		}
	}
	return old, nil
}

// taskOf is the task of a state, such as web-1/1.
func taskOf(name string) string {
	task, _, _ := strings.Cut(name, "/")
	return task
}

// states returns the states in the remote repository of the target.
func (t *target) states(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, remoteTime, t.slow())
	defer cancel()
	return t.repo.RemoteStates(ctx, t.at.Remote, t.accept)
}

// unpush deletes refs in the remote repository of the target, unless somebody has changed them.
func (t *target) unpush(ctx context.Context, refs map[string]string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, remoteTime, t.slow())
	defer cancel()
	err := t.repo.Unpush(ctx, t.at.Remote, refs, t.accept)
	if e, ok := errors.AsType[*git.RemoteError](err); ok && e.Kind == git.RemoteMoved {
		return nil
	}
	return err
}
