package land

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
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
// once a day, or tries to. Those of tasks that the board does not know are left alone.
func (l *Lander) prune(ctx context.Context) error {
	dir := filepath.Join(l.o.Repo.Common, "bossman")
	note := filepath.Join(dir, pruneNote)
	if info, err := os.Lstat(note); err == nil && time.Since(info.ModTime()) < pruneTime {
		return nil
	}
	if err := git.MakeDir(dir); err != nil {
		return err
	}
	_ = os.Remove(note) // nothing is written through a link
	if f, err := os.OpenFile(note, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	} else if err := f.Close(); err != nil {
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
		if old[taskOf(name)] {
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
		if old[taskOf(name)] {
			if err := l.o.Repo.SetRef(ctx, "refs/bossman/"+name, "", commit); err != nil {
				return err
			}
		}
	}
	return nil
}

// ended returns which tasks of some states ended long ago.
func (l *Lander) ended(ctx context.Context, states ...map[string]string) (map[string]bool, error) {
	old := map[string]bool{}
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
			old[taskOf(name)] = err == nil && d.Task.Status.Terminal() && d.Now.Sub(d.Task.EndedAt) > keepStates
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
