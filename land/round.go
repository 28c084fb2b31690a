package land

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A link is the work of a task on top of the one before it.
type link struct {
	board.Queued
	commit string
}

// round lands a part of the queue, or sends something back. more is set if the next round may do more,
// else left is how many tasks are in the queue. A target that is gone, or a remote repository that does
// not take part, stops the queue.
func (l *Lander) round(ctx context.Context) (more bool, left int, err error) {
	l.astray = false
	more, left, err = l.advance(ctx)
	if ctx.Err() != nil || !stops(err) {
		return more, left, err
	}
	_, l.astray = errors.AsType[*strayError](err)
	l.stop(Event{Text: err.Error()})
	line, err := l.o.Board.Line(ctx, l.o.Project)
	return false, len(line.Queue), err
}

// stops reports whether an error is that of a target that is gone, cannot be moved or is not the one on which work lands, of a clone that leaves something out or in which the target cannot be checked out, of a remote repository or its pull requests, or
// of a connection to it that nobody has accepted.
func stops(err error) bool {
	_, gone := errors.AsType[goneError](err)
	_, stray := errors.AsType[*strayError](err)
	_, part := errors.AsType[*partialError](err)
	_, alias := errors.AsType[*AliasError](err)
	_, unmoved := errors.AsType[*refusedError](err)
	_, room := errors.AsType[*roomError](err)
	_, remote := errors.AsType[*git.RemoteError](err)
	_, pulls := errors.AsType[*PullError](err)
	e, refused := errors.AsType[*git.FilterError](err)
	return gone || stray || part || alias || unmoved || room || remote || pulls || refused && e.Remote
}

func (l *Lander) advance(ctx context.Context) (more bool, left int, err error) {
	l.there = nil
	if l.o.Target.Kind != board.TargetLocal && !l.o.FromHere { // its repository is left alone while there is nothing to do
		line, err := l.o.Board.Line(ctx, l.o.Project)
		if err != nil || len(line.Queue) == 0 && line.Open == nil {
			return false, 0, err
		}
	}
	if err := l.settle(ctx); err != nil {
		return false, 0, err
	}
	tip, err := l.target.tip(ctx)
	if err != nil {
		return false, 0, err
	}
	if err := l.here(ctx, tip); err != nil {
		return false, 0, err
	}
	l.o.FromHere = false                   // what becomes of the target from now on is for a person to see
	if l.o.Target.Kind != board.TargetPR { // which people merge
		if err := l.lookAround(ctx, tip); err != nil {
			return false, 0, err
		}
	}
	line, err := l.o.Board.Line(ctx, l.o.Project)
	if err != nil || len(line.Queue) == 0 {
		return false, 0, err
	}
	if err := l.reworks(ctx, line.Queue); err != nil {
		return false, 0, err
	}
	if l.o.Target.Kind == board.TargetPR {
		more, err := l.pulls(ctx, tip, line.Queue)
		if errors.Is(err, errMoved) {
			return true, 0, nil
		}
		return more, len(line.Queue), err
	}
	in := obstacles{}
	for {
		l.begin()
		more, err := l.try(ctx, tip, line.Queue, in)
		held, ok := errors.AsType[*git.HeldError](err)
		switch {
		case ok && in.add(held):
			continue // without what changes these files
		case ok:
			l.stop(Event{Text: held.Error()})
			return false, len(line.Queue), nil
		case errors.Is(err, errMoved):
			return true, 0, nil
		}
		return more, len(line.Queue), err
	}
}

// try lands what can land, or sends something back. A *git.HeldError says what is in the way in
// a checkout.
func (l *Lander) try(ctx context.Context, tip string, queue []board.Queued, in obstacles) (more bool, err error) {
	chain, returned, err := l.chain(ctx, tip, queue, in)
	if err != nil || returned || len(chain) == 0 {
		return returned, err
	}
	good, more, err := l.judge(ctx, tip, chain)
	if err != nil || len(good) == 0 {
		return more, err
	}
	return true, l.land(ctx, tip, good)
}

// obstacles are files in a checkout of the target that keep work from landing.
type obstacles map[string]string

// add notes files. It reports whether there are new ones.
func (o obstacles) add(e *git.HeldError) (added bool) {
	for _, file := range e.Files {
		if _, ok := o[file]; !ok {
			o[file], added = e.Error(), true
		}
	}
	return added
}

// chain merges what is queued on top of the target, one after the other. returned is set if something
// went back to its task.
func (l *Lander) chain(ctx context.Context, tip string, queue []board.Queued, in obstacles) (chain []link, returned bool, err error) {
	room, err := l.room.at(ctx, tip)
	if err != nil {
		return nil, false, err
	}
	had, err := l.past(ctx, tip)
	if err != nil {
		return nil, false, err
	}
	all := queue
	if queue, err = l.pass(queue); err != nil {
		return nil, false, err
	}
	onto := tip
	for _, q := range queue {
		if len(chain) == l.o.Batch || len(chain) > 0 && l.tries(q) > 0 { // which is judged alone, when nothing else can land
			break
		}
		m, why, forPeople, err := l.merge(ctx, room, onto, q, had, in)
		var behind board.ID
		if err == nil && why == "" {
			why, behind, err = l.includes(ctx, onto, q, all, had)
		}
		switch {
		case ctx.Err() != nil:
			return nil, false, ctx.Err()
		case stops(err):
			return nil, false, err
		case err != nil: // the next one may do
			l.waits(q, err.Error(), true)
		case slices.ContainsFunc(chain, func(k link) bool { return k.Task.ID == behind }): // the next round takes it
		case why != "":
			l.waits(q, why, forPeople)
		case len(m.Conflicts) > 0 && len(chain) == 0:
			return nil, true, l.conflict(ctx, tip, q, m.Conflicts)
		case len(m.Conflicts) > 0: // with work that has not landed: the next round tells
		default:
			chain = append(chain, link{q, m.Commit})
			onto = m.Commit
			had.landed = append(had.landed, git.Landing{Commit: m.Commit, Tip: q.Tip.Commit})
		}
	}
	return chain, false, nil
}

// merge merges the work of a task on top of a commit. why says why it does not land now.
func (l *Lander) merge(ctx context.Context, room *git.Repo, onto string, q board.Queued, had past, in obstacles) (m git.Merged, why string, forPeople bool, err error) {
	if why, err = l.target.fetch(ctx, q, l.host()); err != nil || why != "" {
		return m, why, true, err
	}
	base, err := room.MergeBase(ctx, onto, q.Tip.Commit)
	if errors.Is(err, git.ErrUnrelated) {
		return m, fmt.Sprintf("its commits have no common ancestor with %s, so nobody can tell what it changes; to send it back: bossman land return %v -m \"begin from %s\"", l.o.Target, q.Task.ID, l.o.Target), true, nil
	}
	if err != nil {
		return m, "", false, err
	}
	paths, err := room.Changed(ctx, base, q.Tip.Commit, maxFiles)
	if err != nil {
		return m, "", false, err
	}
	if why, err = l.linked(ctx, room, base, q, paths); err != nil || why != "" {
		return m, why, true, err
	}
	if why, err = l.shown(ctx, onto, base, q, paths, had); err != nil || why != "" {
		return m, why, true, err
	}
	if why = l.reworked(q, paths); why != "" {
		return m, why, false, nil
	}
	undoes, err := l.undoes(ctx, q)
	if err != nil {
		return m, "", false, err
	}
	c := git.Candidate{
		Target: onto, Tip: q.Tip.Commit, Style: l.o.Style, Message: message(q, undoes), Landed: had.landed, Undone: had.undone, Base: base, Shown: cmp.Or(q.Tip.Base, base),
	}
	if m, err = l.candidate(ctx, room, c, q, had); err != nil || len(m.Conflicts) > 0 {
		return m, "", true, err
	}
	if why = l.missing(q, m); why == "" {
		why, err = l.blocked(ctx, onto, m.Commit, in)
	}
	return m, why, true, err
}

// linked says why work does not land that has a repository of its own in it, as if it were a submodule: no clone would get its files.
// paths are what has changed since base.
func (l *Lander) linked(ctx context.Context, room *git.Repo, base string, q board.Queued, paths []string) (string, error) {
	if !slices.ContainsFunc(paths, func(path string) bool { return strings.HasSuffix(path, " (submodule)") }) {
		return "", nil
	}
	unnamed, err := room.Unnamed(ctx, q.Tip.Commit, base)
	if err != nil || len(unnamed) == 0 {
		return "", err
	}
	return fmt.Sprintf("it has none of the files in %.200q, only a link to the repository there, which no .gitmodules names; to send it back: bossman land return %v -m \"add those files, or git submodule add\"",
		visible.Line(unnamed[0]), q.Task.ID), nil
}

// blocked says why a commit on top of another one cannot land now: files of a checkout are in its way.
func (l *Lander) blocked(ctx context.Context, onto, commit string, in obstacles) (string, error) {
	if len(in) == 0 || onto == commit {
		return "", nil
	}
	paths, err := l.o.Repo.Changed(ctx, onto, commit, maxFiles)
	for _, path := range paths {
		if why, ok := in[path]; ok {
			return why, err
		}
	}
	return "", err
}

// maxNamed is how many files a message names.
const maxNamed = 10

// conflict sends work back to its task that conflicts with the target.
func (l *Lander) conflict(ctx context.Context, tip string, q board.Queued, files []string) error {
	named := make([]string, len(files))
	for i, file := range files {
		named[i] = visible.Line(file)
	}
	r := board.Return{
		Attempt: q.Task.Attempt, Kind: board.ReturnConflict, Files: named, Target: tip, Lease: l.current(),
		Text: fmt.Sprintf("it conflicts with %s", l.o.Target),
	}
	var sure bool
	if r.Other, sure = l.otherSide(ctx, tip, q, files); !sure && !r.Other.IsZero() {
		r.Text += fmt.Sprintf("; the newest change of these files there is that of %v", r.Other)
	}
	if err := l.giveBack(ctx, q.Task.ID, r); err != nil {
		return err
	}
	l.rework(q, named)
	more := ""
	if n := len(named); n > maxNamed {
		named, more = named[:maxNamed], fmt.Sprintf(" and %d more", n-maxNamed)
	}
	l.o.Report(Event{Kind: Conflict, Task: q.Task.ID, Title: q.Task.Title, Text: strings.Join(named, ", ") + more})
	return nil
}

// giveBack sends work back to its task, unless somebody has taken it out of the queue meanwhile.
func (l *Lander) giveBack(ctx context.Context, id board.ID, r board.Return) error {
	_, err := l.o.Board.Return(ctx, l.o.Actor, id, r)
	if errors.Is(err, board.ErrConflict) && !errors.Is(err, board.ErrLeaseLost) {
		return nil
	}
	return err
}

// judge checks the end of a chain, and returns the beginning of it that can land. more is set if
// something was sent back, or cannot be judged and lets others go past it.
func (l *Lander) judge(ctx context.Context, tip string, chain []link) (good []link, more bool, err error) {
	c, err := l.o.Check()
	if err != nil || c == nil {
		return chain, false, err
	}
	var last check.Verdict
	look := func(ctx context.Context, commit, what string) verdict {
		l.o.Report(Event{Kind: Checking, Commit: commit, Text: what})
		if err = l.tell(ctx, fmt.Sprintf("checks %.150s at %s", what, git.Short(commit))); err != nil {
			return ended
		}
		last, err = l.room.check(ctx, c, commit, tip)
		switch {
		case err != nil || ctx.Err() != nil:
			return ended
		case last.Result == check.Green:
			return green
		case last.Result == check.Red:
			return red
		}
		return unknown
	}
	at := func(ctx context.Context, place int) verdict {
		return look(ctx, chain[place-1].commit, names(chain[:place]))
	}
	found := finding{good: len(chain)}
	if v := at(ctx, len(chain)); v == red || v == unknown {
		switch own := look(ctx, tip, l.o.Target.String()+" itself"); own {
		case red:
			l.stop(Event{Commit: tip, Text: fmt.Sprintf("the check fails on %s itself, at commit %s: fix it; nothing lands until then", l.o.Target, git.Short(tip))})
			return nil, false, nil
		case unknown:
			l.stop(Event{Commit: tip, Text: fmt.Sprintf("the check could not judge %s itself, at commit %s: %s; fix that; nothing lands until then", l.o.Target, git.Short(tip), unjudgedWhy(last))})
			return nil, false, nil
		case green:
			found = search(ctx, len(chain), v, at)
		}
	}
	switch {
	case err != nil:
		return nil, false, err
	case ctx.Err() != nil:
		return nil, false, ctx.Err()
	case found.unjudged:
		onto := tip
		if found.good > 0 {
			onto = chain[found.good-1].commit
		}
		return chain[:found.good], true, l.setAside(onto, chain[found.good].Queued, last)
	case found.blamed:
		// What is before it lands first: then it is known what it was red on top of.
		if found.good == 0 {
			return nil, true, l.red(ctx, tip, chain[0], last, c)
		}
		if err := l.land(ctx, tip, chain[:found.good]); err != nil {
			return nil, false, err
		}
		return nil, true, l.red(ctx, chain[found.good-1].commit, chain[found.good], last, c)
	}
	return chain[:found.good], false, nil
}

// red sends work back to its task that the check refuses on top of the target.
func (l *Lander) red(ctx context.Context, tip string, k link, v check.Verdict, c *check.Check) error {
	err := l.giveBack(ctx, k.Task.ID, board.Return{
		Attempt: k.Task.Attempt, Kind: board.ReturnRed, Target: tip, Lease: l.current(),
		Text: fmt.Sprintf("on top of %s, at commit %s, the check fails with exit status %d, twice:\n%s\nThe check is %q.", l.o.Target, git.Short(tip), v.Exit, strings.TrimSpace(v.Tail), c),
	})
	if err == nil {
		l.o.Report(Event{Kind: Red, Task: k.Task.ID, Title: k.Task.Title, Text: fmt.Sprintf("exit status %d on top of %s: %s", v.Exit, git.Short(tip), lastLine(v.Tail))})
	}
	return err
}

// lastLine is the last line of what a check has written.
func lastLine(tail string) string {
	lines := strings.Split(strings.TrimSpace(tail), "\n")
	return visible.Line(lines[len(lines)-1])
}

// errMoved means that the target or the queue is not what it was: the next round looks again.
var errMoved = errors.New("land: the target or the queue has changed")

// land moves the target to the end of a chain that was checked.
func (l *Lander) land(ctx context.Context, tip string, chain []link) error {
	items, commits := make([]board.Item, len(chain)), map[board.ID]string{}
	for i, k := range chain {
		commits[k.Task.ID] = k.commit
		items[i] = board.Item{Task: k.Task.ID, Attempt: k.Task.Attempt, Tip: k.Tip.Commit}
	}
	to := chain[len(chain)-1].commit
	if err := l.claim(ctx); err != nil {
		return err
	}
	intent, err := l.o.Board.BeginLand(ctx, l.o.Actor, l.current(), tip, to, items)
	if errors.Is(err, board.ErrConflict) && !errors.Is(err, board.ErrLeaseLost) {
		return errMoved
	}
	if err != nil {
		return err
	}
	if err := l.target.move(ctx, tip, to, names(chain)); err != nil {
		// Whatever has happened, the next round looks where the target is.
		_, moved := errors.AsType[*git.MovedError](err)
		_, held := errors.AsType[*git.HeldError](err)
		remote, ok := errors.AsType[*git.RemoteError](err)
		moved = moved || ok && remote.Kind == git.RemoteMoved
		if moved || held || ok && remote.Kind == git.RemoteRefused {
			if failed := l.o.Board.Dropped(ctx, l.o.Actor, l.current(), intent.ID); failed != nil {
				return failed
			}
		}
		if moved {
			return errMoved
		}
		return l.unmoved(ctx, intent, err)
	}
	l.see(to)
	if _, err := l.o.Board.Landed(ctx, l.o.Actor, l.current(), intent.ID, commits); err != nil {
		return err
	}
	clear(l.said)
	if len(l.note.Untold) == 0 { // else it is not known yet that the next one could be told
		l.tellAt = time.Time{}
	}
	for i, k := range chain {
		l.target.tidy(ctx, items[i])
		l.o.Report(Event{Kind: Landed, Task: k.Task.ID, Title: k.Task.Title, Commit: k.commit})
	}
	return nil
}

// unmoved ends an intent if git refused to move a target of this clone, so that its tasks can be taken out of the queue. It returns
// the error of that.
func (l *Lander) unmoved(ctx context.Context, intent board.Intent, err error) error {
	_, held := errors.AsType[*git.HeldError](err)
	if held || ctx.Err() != nil || l.o.Target.Kind != board.TargetLocal {
		return err
	}
	if failed := l.target.recover(ctx); failed != nil {
		return err // it is not known how far it got
	}
	if has, failed := l.target.has(ctx, intent.New); failed != nil || has {
		return err // the next round sees it
	}
	if failed := l.o.Board.Dropped(ctx, l.o.Actor, l.current(), intent.ID); failed != nil {
		return failed
	}
	return &refusedError{err}
}

// settle ends an intent that an earlier lander has left open: the target tells whether it was done.
func (l *Lander) settle(ctx context.Context) error {
	if err := l.target.recover(ctx); err != nil {
		return err
	}
	open, err := l.o.Board.Intents(ctx, board.IntentFilter{Project: l.o.Project, Target: l.o.Target.String(), State: board.IntentOpen})
	if err != nil {
		return err
	}
	for _, intent := range open {
		has, err := l.target.has(ctx, intent.New)
		if err == nil && !has { // it may be where pushes go, and come from there
			if err = l.target.apart(ctx); err == nil {
				err = l.settles(ctx, intent)
			}
		}
		if err != nil {
			return err
		}
		if has {
			_, err = l.o.Board.Landed(ctx, l.o.Actor, l.current(), intent.ID, l.target.commits(ctx, intent))
		} else {
			err = l.o.Board.Dropped(ctx, l.o.Actor, l.current(), intent.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// taskTrailer names the task of a commit in its message.
const taskTrailer = "Bossman-Task"

// message is the message of the commit with which work lands. undoes is what it undoes, as the value of undoesTrailer, if it
// does.
func message(q board.Queued, undoes string) string {
	text := visible.Line(q.Task.Title) + "\n\n"
	if q.Summary != "" {
		text += visible.Text(q.Summary) + "\n\n"
	}
	text += fmt.Sprintf("%s: %v\nBossman-Attempt: %d\n", taskTrailer, q.Task.ID, q.Task.Attempt)
	if undoes != "" {
		text += undoesTrailer + ": " + undoes + "\n"
	}
	return text
}

// names names the tasks of a chain.
func names(chain []link) string {
	ids := make([]string, len(chain))
	for i, k := range chain {
		ids[i] = k.Task.ID.String()
	}
	return strings.Join(slices.Compact(ids), ", ")
}
