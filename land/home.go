package land

import (
	"context"
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A History is what tells which work has landed.
type History interface {
	Line(ctx context.Context, slug string) (board.Line, error)
	Intents(ctx context.Context, f board.IntentFilter) ([]board.Intent, error)
	Get(ctx context.Context, id board.ID, events int) (board.Dossier, error)
}

// A strayError says that a target does not have the work that has landed on it last. Another clone has a branch of the
// same name, and another remote repository, such as a fork, can have the same name in another clone: work that landed
// here would be missing there, and what landed there is missing here.
type strayError struct {
	// lost is the commit that landed last, or was to, tip what the target has here.
	lost, tip string
	text      string
}

func (e *strayError) Error() string { return e.text }

// fromHere is what a person can always do.
const fromHere = ", or go on from where it is, without that work: bossman land --from-here"

// lacks returns a *strayError if a commit of the target does not have what has landed last. A target that was put back in
// the very clone that landed is still the target, and so is one from which a person has let landing go on.
func (t *target) lacks(ctx context.Context, b History, project, tip string, note func() (board.LandNote, error)) error {
	if err := t.elsewhere(ctx, b, project, tip, note); err != nil {
		return err
	}
	last, err := b.Intents(ctx, board.IntentFilter{Project: project, Target: t.at.String(), State: board.IntentLanded, Limit: 1})
	if err != nil || len(last) == 0 || last[0].New == tip {
		return err
	}
	if has, err := t.contains(ctx, tip, last[0].New); err != nil || has {
		return err
	}
	n, err := note()
	if err != nil || t.landedHere(n) {
		return err
	}
	if n.Lost == last[0].New {
		if has, err := t.contains(ctx, tip, n.From); err != nil || has {
			return err
		}
	}
	if err := t.repo.Whole(ctx, tip); err != nil { // it may be behind where history is cut
		return partial(err)
	}
	return t.stray(ctx, b, last[0], tip, "landed last")
}

// elsewhere returns a *strayError if the remote repository of this clone is another one than that on which work lands. One
// repository can have several addresses: it is the same if it has the work that landed, or was to, last.
func (t *target) elsewhere(ctx context.Context, b History, project, tip string, note func() (board.LandNote, error)) error {
	if t.at.Kind == board.TargetLocal {
		return nil
	}
	n, err := note()
	here := t.repo.RemoteAt(t.at.Remote)
	if err != nil || n.Clone == "" || n.Clone == here {
		return err
	}
	moves, err := b.Intents(ctx, board.IntentFilter{Project: project, Target: t.at.String(), Limit: 1})
	if err != nil || len(moves) == 0 || n.Lost == moves[0].New {
		return err
	}
	states, err := t.states(ctx)
	if err != nil {
		return err
	}
	for _, i := range moves[0].Items {
		name := fmt.Sprintf("%v/%d", i.Task, i.Attempt)
		if states[name] == i.Tip || states[git.SharedRef(name, i.Tip)] == i.Tip {
			return nil
		}
	}
	return &strayError{moves[0].New, tip, fmt.Sprintf("work lands on %s of %.200q, and %s of this clone is %.200q, which does not have the work of %v. If it is a fork: git remote set-url %[3]s ADDRESS. "+
		"If it is the same repository, or landing is to go on there: bossman land --from-here", t.at, visible.Line(n.Clone), t.at.Remote, visible.Line(here), moves[0].Items[0].Task)}
}

// landedHere reports whether the last landing was in this clone.
func (t *target) landedHere(n board.LandNote) bool {
	return t.at.Kind == board.TargetLocal && n.Clone != "" && n.Clone == t.repo.CloneID()
}

// stray says that a move of the target was made elsewhere, and what to do.
func (t *target) stray(ctx context.Context, b History, i board.Intent, tip, how string) error {
	task := i.Items[0]
	what := fmt.Sprintf("%s does not have commit %s, with which %v %s", t.at, git.Short(i.New), task.Task, how)
	if t.at.Kind != board.TargetLocal {
		return &strayError{i.New, tip, fmt.Sprintf("%s, by %.80q. Either %s of this clone, %.200q, is another repository than the one on which work lands, such as a fork: git remote set-url %[3]s ADDRESS. "+
			"Or the branch was put back: push that commit again"+fromHere, what, visible.Line(i.Holder), t.at.Remote, visible.Line(t.repo.RemoteAt(t.at.Remote)))}
	}
	where := fmt.Sprintf("by %.80q", visible.Line(i.Holder))
	d, err := b.Get(ctx, task.Task, 0)
	if err != nil {
		return err
	}
	for _, a := range d.Attempts {
		if a.Attempt == task.Attempt && a.Where.Dir != "" {
			where = fmt.Sprintf("on %.80q, in %.200q", visible.Line(a.Where.Host), visible.Line(a.Where.Dir))
		}
	}
	return &strayError{i.New, tip, fmt.Sprintf("%s, %s. Either work lands on %s of that clone: run bossman land there, or get that branch first: git pull. Or the branch was put back here: bring that commit back"+fromHere, what, where, t.at.Branch)}
}

// here makes sure that the target is the one on which work has landed. If a person has said so, it is from now on.
func (l *Lander) here(ctx context.Context, tip string) error {
	err := l.target.lacks(ctx, l.o.Board, l.o.Project, tip, func() (board.LandNote, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.note, nil
	})
	return l.allowed(ctx, err)
}

// allowed lets landing go on in spite of a *strayError, if a person has said so.
func (l *Lander) allowed(ctx context.Context, err error) error {
	e, ok := errors.AsType[*strayError](err)
	if !ok || !l.o.FromHere {
		return err
	}
	l.mu.Lock()
	l.note.Lost, l.note.From = e.lost, e.tip
	l.mu.Unlock()
	l.o.Report(Event{Kind: Moved, Commit: e.tip, Text: fmt.Sprintf("landing goes on from %s at %s, without commit %s", l.o.Target, git.Short(e.tip), git.Short(e.lost))})
	return l.tell(ctx, "")
}

// settles makes sure that this lander can tell whether an open move of the target was made, which the target does not have
// here.
func (l *Lander) settles(ctx context.Context, i board.Intent) error {
	tip, err := l.target.tip(ctx)
	_, gone := errors.AsType[goneError](err)
	_, alias := errors.AsType[*AliasError](err)
	if gone || alias {
		return nil
	}
	if err == nil {
		err = l.here(ctx, tip)
	}
	l.mu.Lock()
	clone := l.note.Clone
	l.mu.Unlock()
	if err != nil || l.o.Target.Kind != board.TargetLocal || clone == "" || clone == l.o.Repo.CloneID() {
		return err
	}
	return l.allowed(ctx, l.target.stray(ctx, l.o.Board, i, tip, "was about to land"))
}

// claim notes which clone, or which remote repository, has the target on which work lands, before it is moved.
func (l *Lander) claim(ctx context.Context) error {
	clone := ""
	if l.o.Target.Kind == board.TargetLocal {
		clone = l.o.Repo.MakeCloneID()
	} else if clone = l.o.Repo.RemoteAt(l.o.Target.Remote); clone == "" {
		return nil
	}
	l.mu.Lock()
	same := l.note.Clone == clone
	l.note.Clone = clone
	doing := l.note.Doing
	l.mu.Unlock()
	if same {
		return nil
	}
	return l.tell(ctx, doing)
}

// host is the name of this machine, if the last landing was in this clone.
func (l *Lander) host() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.target.landedHere(l.note) {
		return l.o.Host
	}
	return ""
}

// A partialError says that a clone was made without something that landing needs: a part of its history or its files.
type partialError struct{ err error }

func (e *partialError) Error() string { return e.err.Error() }
func (e *partialError) Unwrap() error { return e.err }

// partial makes a *partialError of a *git.HistoryError.
func partial(err error) error {
	if _, ok := errors.AsType[*git.HistoryError](err); ok {
		return &partialError{err}
	}
	return err
}
