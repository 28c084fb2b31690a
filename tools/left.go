package tools

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// left is what the earlier attempts at a task left.
type left struct {
	// tree says what the worktree is that was made for the worker; empty if none was.
	tree string
	// places are where work was seen, the newest first. If there are none, it is the place of
	// the last attempt.
	places []leftPlace
	// said are the places that attempts with other keys have named, the newest first. These keys
	// do not decide what is looked at on this machine, nor where a worker goes on.
	said []leftPlace
	// ordered is what there is of the branch that the worker is told to work on. looked is
	// set if it could be looked at, and before if it was an earlier attempt's.
	ordered        board.Sight
	looked, before bool
	// from is the branch that the ordered one begins from, and busy the task of the worker
	// that is on it; empty if it begins from what is checked out. stored is set if from is a commit or
	// the ref of a state, and ending if that may not be there yet.
	from           string
	busy           board.ID
	stored, ending bool
	// over is what attempts at other tasks left in the directory of the hand-out.
	over leftover
	// lying is how many files lie uncommitted there, and are nobody's that is known.
	lying int
	// unnoted is set if what lies there could not be noted.
	unnoted bool
	// room is where the ordered branch can be made.
	room board.Room
	// into is the branch to fetch the newest work to if that is in another repository, empty if it is
	// not: one that is here already may be checked out, or have gone another way, and git would
	// refuse it.
	into string
	// absent says how the reported work gets here, if it is not in this clone.
	absent string
	// strays are places that no attempt has named, and where there may be work all the same.
	strays []board.Where
}

type leftPlace struct {
	attempt int
	board.Sight
	head   string // the commit that the attempt was last seen at
	looked bool   // false: it could not be looked at from here
	state  string // the ref that has it in its own clone, if it is not on its branch there
	twin   bool   // it is in another clone, whose directory has the same name as the one here
	theirs bool   // it is the word of another key
}

// maxLeft is how many places a hand-out names, and maxLooked at how many it looks.
const (
	maxLeft   = 3
	maxLooked = 8
)

// leftBy finds what the earlier attempts at a task left. It looks where it can. If the
// newest work is on another branch than the worker has before it, the worker is told to go on
// there, and its work is looked at there.
func (t *Tools) leftBy(ctx context.Context, k *caller, h *board.Handout) (l left) {
	var others []board.Claim
	if t.o.Inspector != nil && h.Claim.Attempt > 1 {
		var err error
		if others, err = t.b.Claims(ctx, board.ClaimFilter{Principal: k.Principal}); err != nil {
			t.o.Logger.Warn("the places of other workers are not known", "task", h.Task.ID, "err", err)
		}
		others = slices.DeleteFunc(others, func(c board.Claim) bool { return c.Task == h.Task.ID })
	}
	type key struct{ clone, dir, branch string }
	var last *leftPlace
	seen := map[key]bool{}
	looked := map[board.Where]bool{}
	for _, a := range slices.Backward(h.Attempts) {
		if a.Attempt >= h.Claim.Attempt || a.Where.IsZero() {
			continue
		}
		if !a.Own(h.Claim.Worker.Principal) {
			if p, ok := t.shared(ctx, h, a); ok {
				l.places = append(l.places, p)
			} else if len(l.said) < maxLeft {
				l.said = append(l.said, leftPlace{attempt: a.Attempt, Sight: described(a.Where), theirs: true})
			}
			continue
		}
		if looked[a.Where] || len(looked) == maxLooked || len(l.places) == maxLeft {
			continue
		}
		looked[a.Where] = true
		if done := h.Doc.Result; a.Cause == board.CauseDone && a.Where.Head == "" && done != nil && done.Worker == a.Worker.Name {
			a.Where.Head = commitOf(*done)
		}
		s, ok := t.look(ctx, a)
		state := ""
		if done := h.Doc.Result; !ok && a.Cause == board.CauseDone && last == nil && done != nil && !done.Tip.IsZero() {
			if s, ok = t.fetched(ctx, h, a, s); !ok && a.Where.Uncommitted > 0 {
				state = a.Handle.Ref()
			}
		}
		p := leftPlace{state: state, attempt: a.Attempt, Sight: s, head: a.Where.Head, looked: ok, twin: s.Where.Dir == where(h).Dir && !s.Where.SameClone(where(h))}
		if last == nil {
			last = &p
		}
		k := key{cmp.Or(s.Where.Clone, s.Where.Host), s.Where.Dir, cmp.Or(s.Ref, s.Where.Branch)}
		if s.Ref != "" { // a later attempt that went to its branch, and found none of it there, has done nothing
			l.places = slices.DeleteFunc(l.places, func(p leftPlace) bool {
				return p.Where.Branch == a.Where.Branch && p.Where.Head == a.Where.Head && p.Where.Uncommitted == 0
			})
		}
		if s.Where.Worked && !seen[k] {
			seen[k] = true
			l.places = append(l.places, p)
		}
	}
	if len(l.places) == 0 && last != nil && !last.BranchGone {
		l.places = append(l.places, *last)
	}
	if !t.isBound() { // its worktree was made for it, and begins from the newest work
		l.over = t.leftoverHere(ctx, h)
		if w := where(h); t.o.Inspector != nil && h.Claim.Attempt == 1 && w.Ordered == "" && !h.Again {
			l.lying = w.Uncommitted
		}
		if t.o.Inspector != nil && !h.Claim.IsReview() {
			l.unnoted = !t.o.Inspector.Noted(board.WorkOf(h.Dossier, h.Claim.Worker.Principal))
		}
		l.goOn(ctx, t, k, h, others)
	}
	if p, ok := l.fetchable(where(h)); ok {
		l.into = p.Where.Branch
		if t.o.Inspector != nil {
			l.into = t.o.Inspector.Apart(where(h), l.into).Branch
		}
	}
	l.strays, l.absent = t.strays(ctx, h, l), t.absent(ctx, h, l)
	return l
}

// fetched brings the reported work of an attempt in another clone here, if the project lands its work elsewhere. ok is false
// if that is not possible: then s is what was seen of it.
func (t *Tools) fetched(ctx context.Context, h *board.Handout, a board.Attempt, s board.Sight) (now board.Sight, ok bool) {
	p, err := t.b.Project(ctx, h.Task.ID.Project)
	if err != nil || t.o.Inspector == nil || t.isBound() {
		return s, false
	}
	if now, ok = t.o.Inspector.Fetch(ctx, a, h.Doc.Result.Tip.Commit, p.Land); !ok {
		return s, false
	}
	return now, true
}

// goOn tells the worker of a hand-out to go on with the branch that has the newest work, or,
// if another worker is on it, with a branch that begins from it. From what is on no branch, a
// branch begins, too.
func (l *left) goOn(ctx context.Context, t *Tools, k *caller, h *board.Handout, others []board.Claim) {
	w, branch := where(h), ownBranch(h)
	if newest, ok := l.newest(w); ok && (newest.looked || t.o.Inspector == nil) {
		l.from, l.busy = newest.Where.Branch, busy(others, newest.Where)
		switch {
		case newest.Ref != "":
			l.from, l.busy, l.stored, l.ending = newest.Ref, board.ID{}, true, newest.Ending
		case newest.Commit != "":
			if newest.BranchGone && l.busy.IsZero() {
				branch = newest.Where.Branch
			}
			l.from, l.busy, l.stored = newest.Commit, board.ID{}, true
		}
	}
	if t.o.Inspector != nil && l.from != "" && !h.Again {
		order := l.from
		switch {
		case l.stored:
			order = branch
		case !l.busy.IsZero():
			order = cmp.Or(w.Ordered, ownBranch(h))
		}
		t.order(ctx, k, h, order)
	}
	if w = where(h); t.o.Inspector != nil && w.Ordered == "" && !w.Named && !h.Again && !h.Claim.IsReview() {
		nothing := w.Branch == "" && w.Head == "" // is checked out
		if l.over.files > 0 || nothing && t.o.Inspector.Apart(w, ownBranch(h)).Bare {
			t.order(ctx, k, h, ownBranch(h))
		}
	}
	if w = where(h); w.Ordered == "" {
		return
	}
	if l.from == w.Ordered {
		l.from = ""
	}
	l.see(ctx, t, h)
	if !l.looked {
		return
	}
	l.room = t.o.Inspector.Apart(w, w.Ordered)
	if taken := !l.before && !l.ordered.BranchGone || l.ordered.BranchGone && l.room.Branch != w.Ordered; taken && !h.Again {
		t.order(ctx, k, h, l.room.Branch)
		l.see(ctx, t, h)
	}
}

// ownBranch is the name of a new branch for the work of a hand-out.
func ownBranch(h *board.Handout) string {
	if h.Claim.Attempt > 1 {
		return fmt.Sprintf("%v-%d", h.Task.ID, h.Claim.Attempt)
	}
	return h.Task.ID.String()
}

// newest returns the place of the newest work, if it is on another branch than w.
func (l left) newest(w board.Where) (p leftPlace, ok bool) {
	if len(l.places) == 0 {
		return p, false
	}
	p = l.places[0]
	if !p.Where.Worked || w.Named {
		return p, false
	}
	if p.Commit != "" { // if another agent works here, what is checked out may have its work, too
		return p, !p.Here || w.Ordered != ""
	}
	return p, p.Ref != "" || !p.BranchGone && p.Where.Branch != w.Branch
}

// fetchable returns the place of the newest work, if it is in another repository on the machine of w
// from which a command can fetch it.
func (l left) fetchable(w board.Where) (p leftPlace, ok bool) {
	p, ok = l.newest(w)
	return p, ok && !p.looked && p.Where.Branch != "" && filepath.IsAbs(p.Where.Dir) && p.Where.Host == w.Host && !p.twin &&
		visible.Line(p.Where.Dir) == p.Where.Dir && visible.Line(p.Where.Branch) == p.Where.Branch
}

// see looks at the branch that a worker is told to work on.
func (l *left) see(ctx context.Context, t *Tools, h *board.Handout) {
	w := where(h)
	l.ordered, l.looked = t.look(ctx, board.Attempt{Where: board.Where{Host: w.Host, Clone: w.Clone, Dir: w.Dir, Branch: w.Branch, Head: w.Head, Ordered: w.Ordered}})
	l.before = slices.ContainsFunc(h.Attempts, func(a board.Attempt) bool {
		return a.Attempt < h.Claim.Attempt && a.Own(h.Claim.Worker.Principal) && (a.Where.Ordered == w.Ordered || a.Where.Branch == w.Ordered)
	})
}

// order changes the branch that the worker of a hand-out is told to work on.
func (t *Tools) order(ctx context.Context, k *caller, h *board.Handout, branch string) {
	w := where(h)
	if branch == w.Ordered {
		return
	}
	w.Ordered = branch
	if err := t.b.Locate(ctx, k.Actor, h.Claim.Handle, w); err != nil {
		t.o.Logger.Warn("the branch of an attempt could not be noted", "task", h.Task.ID, "err", err) // the claim holds all the same
		return
	}
	h.Order(branch)
}

// look looks at the work that an attempt left at its place; looked is false if only its
// description is known.
func (t *Tools) look(ctx context.Context, a board.Attempt) (s board.Sight, looked bool) {
	if t.o.Inspector != nil {
		if s, ok := t.o.Inspector.Look(ctx, a); ok {
			return s, true
		}
	}
	return described(a.Where), false
}

// described is what is known of a place that was not looked at.
func described(w board.Where) board.Sight {
	if w.Away() { // what is in the directory is another worker's
		w.Host, w.Clone, w.Dir, w.Branch, w.Head, w.Uncommitted, w.Worked = "", "", "", w.Ordered, "", 0, true
	}
	return board.Sight{Where: w}
}

// busy returns the task of a worker that is in a place or on its branch, zero if there is none.
func busy(others []board.Claim, at board.Where) board.ID {
	for _, c := range others {
		on, in := c.Where.Branch, c.Where.Dir
		if c.Where.Away() {
			on, in = c.Where.Ordered, ""
		}
		if c.Where.SameClone(at) && (on == at.Branch && on != "" || in == at.Dir && in != "") {
			return c.Task
		}
	}
	return board.ID{}
}

// of says where the work of an attempt is, empty if none was seen.
func (l left) of(attempt int) string {
	for _, p := range slices.Concat(l.places, l.said) {
		if p.attempt == attempt {
			return p.text()
		}
	}
	return ""
}

// earlier says where the work of the attempts before the last one is, and where the worker
// goes on.
func (l left) earlier(h *board.Handout, last int) (lines []string) {
	for _, p := range slices.Concat(l.places, l.said) {
		if at := p.text(); p.attempt != last && at != "" {
			lines = append(lines, fmt.Sprintf("work of attempt %d: %s", p.attempt, at))
		}
	}
	w := where(h)
	if l.into != "" {
		from := l.places[0].Where
		lines = append(lines, fmt.Sprintf("That is another repository. To go on with it here: git fetch %s %s:%s", visible.ShellWord(from.Dir), visible.ShellWord(cmp.Or(l.places[0].state, from.Branch)), visible.ShellWord(l.into)))
	}
	if l.absent != "" {
		lines = append(lines, l.absent)
	}
	lines = append(lines, l.strayLines(h.Task.ID)...)
	switch {
	case len(sharing(h)) > 0, l.over.files > 0 && w.Ordered != "": // BESIDE YOU says it
	case !l.busy.IsZero() && l.from != "" && w.Ordered != "":
		lines = append(lines, fmt.Sprintf("Another agent works on %v on branch %s. %s", l.busy, inline(l.from, 80), l.worktree(w)), nameIt(w.Ordered))
	case l.from != "" && w.Ordered != "":
		lines = append(lines, l.worktree(w), nameIt(w.Ordered))
	case l.before && !(l.looked && l.ordered.BranchGone):
		lines = append(lines, "Go on with branch "+inline(w.Ordered, 80)+l.checkout(w)+" "+nameIt(w.Ordered))
	case l.from != "":
		lines = append(lines, "Go on with branch "+inline(l.from, 80)+". "+nameIt(l.from))
	}
	return lines
}

// fresh reports whether a worker is told to work on a new branch that begins from what is checked
// out.
func (l left) fresh(w board.Where) bool {
	return w.Away() && l.from == "" && (!l.before || l.ordered.BranchGone)
}

// nameIt tells a worker to say where it works.
func nameIt(branch string) string {
	return "Name branch " + inline(branch, 80) + " in every note and report."
}

// checkout says where the branch is that a worker goes on with.
func (l left) checkout(w board.Where) string {
	switch s := l.ordered; {
	case l.looked && s.Where.Dir != "" && !s.DirGone:
		return ", in " + inline(s.Where.Dir, 200) + "." + unended(s)
	case l.looked && visible.Line(w.Dir) == w.Dir:
		return fmt.Sprintf(": check it out, here or with %s %s %s", l.add(), l.worktreePath(w), visible.ShellWord(w.Ordered)) + "." + l.modules(w)
	}
	return "."
}

// text says where the work is.
func (p leftPlace) text() string {
	w := p.Where
	dir := inline(w.Dir, 120)
	switch {
	case p.theirs && location(w) != "":
		return "its worker, who has another key, says: " + location(w)
	case p.Ending:
		return "its agent is just ending; its last state will be in " + p.Ref + " within seconds, if it has changed anything"
	case p.Ref != "":
		return "its last state is in " + p.Ref
	case p.BranchGone && p.DirGone:
		return fmt.Sprintf("branch %s in %s; both are gone", inline(w.Branch, 80), dir) + p.ends()
	case p.BranchGone:
		return fmt.Sprintf("branch %s, which is gone", inline(w.Branch, 80)) + p.ends()
	case p.Commit != "" || p.Lost:
		now := p
		now.Commit, now.Lost = "", false
		return fmt.Sprintf("commit %s was reported%s; its place is now %s", shortCommit(p.head), p.ends(), now.text())
	case p.DirGone:
		w.Dir, w.Uncommitted = "", 0
		return strings.TrimPrefix(location(w)+"; its directory "+dir+" is gone", "; ")
	case p.twin && w.Dir != "":
		return location(w) + ", which is another clone than the one here"
	case p.UnderWay != "":
		return location(w) + ", where " + p.UnderWay + " is under way"
	}
	return location(w)
}

// has reports whether the work ends with a commit that is not lost.
func (p leftPlace) has(commit string) bool {
	ends := cmp.Or(p.Commit, p.Where.Head)
	return p.looked && p.Where.Worked && ends != "" && commit != "" && (p.Commit != "" || !p.BranchGone) &&
		(strings.HasPrefix(ends, commit) || strings.HasPrefix(commit, ends))
}

// ends says where the commit is that the work ends with, if its branch does not.
func (p leftPlace) ends() (text string) {
	switch {
	case p.Lost && p.BranchGone:
		text = fmt.Sprintf(", and its commit %s is not in this clone", shortCommit(p.head))
	case p.Lost:
		text = ", and is not in this clone"
	}
	switch {
	case p.Commit == "":
		return text
	case p.BranchGone && p.Tracking != "":
		text += fmt.Sprintf("; %s has its work at %s", inline(p.Tracking, 80), shortCommit(p.Commit))
	case p.BranchGone:
		text += "; its work is commit " + shortCommit(p.Commit)
	}
	if p.Here {
		text += ", which is in what is checked out here"
	}
	return text
}

// unended tells a worker to end what was begun in the directory of the work; empty if nothing was.
func unended(s board.Sight) string {
	if s.UnderWay == "" {
		return ""
	}
	return " There " + s.UnderWay + " is under way: finish or abort it first."
}

// worktree tells a worker to work in a worktree of its own: the one that there is, or one
// that it makes.
func (l left) worktree(w board.Where) string {
	path := l.worktreePath(w)
	switch s := l.ordered; {
	case visible.Line(w.Dir) != w.Dir: // a command with it would not be what it looks like
		return "Work in a worktree of your own, on branch " + inline(w.Ordered, 80) + "."
	case l.looked && !s.BranchGone && s.Where.Dir != "" && !s.DirGone:
		return fmt.Sprintf("Work in the worktree of branch %s: %s", inline(w.Ordered, 80), inline(s.Where.Dir, 200))
	case l.looked && !s.BranchGone:
		return fmt.Sprintf("Work in a worktree of your own, on the branch that was left: %s %s %s", l.add(), path, visible.ShellWord(w.Ordered)) + l.modules(w)
	case !l.looked && l.before:
		return fmt.Sprintf("Work in a worktree of your own, on the branch that was left: %s %s %s (with -b before the branch if there is none)", l.add(), path, visible.ShellWord(w.Ordered))
	}
	command := fmt.Sprintf("%s -b %s %s", l.add(), visible.ShellWord(w.Ordered), path)
	if l.from != "" {
		from, wait := "branch "+inline(l.from, 80), ""
		switch {
		case l.stored && board.ValidCommit(l.from):
			from = "commit " + shortCommit(l.from)
		case l.stored:
			from = l.from
		}
		if l.ending {
			wait = "\nUntil that is there, try again; if it is not there after a minute, leave it out of the command."
		}
		return fmt.Sprintf("Work in a worktree of your own that begins from %s: %s %s", from, command, visible.ShellWord(l.from)) + wait + l.modules(w)
	}
	if l.room.Unborn {
		return "Work in a worktree of your own. This repository has no commit yet that it could begin from, so make an empty one first: git commit --allow-empty --only -m 'First commit' && " + command
	}
	if commit := shortCommit(w.Head); commit != "" { // what the other agent commits is not this one's
		command += " " + commit
	}
	return "Work in a worktree of your own: " + command + l.modules(w)
}

// modules tells a worker how it gets the submodules in a new worktree, on a line of its own.
func (l left) modules(w board.Where) string {
	if !l.room.Modules {
		return ""
	}
	return fmt.Sprintf("\nIts submodules are empty until you run: git -C %s submodule update --init", l.worktreePath(w))
}

// add is the beginning of the command that makes a worktree.
func (l left) add() string {
	if l.room.Stale {
		return "git worktree prune && git worktree add"
	}
	return "git worktree add"
}

// worktreePath is the directory for the worktree of the branch that a worker is told to work
// on, as a word for a shell.
func (l left) worktreePath(w board.Where) string {
	return visible.ShellWord(cmp.Or(l.room.Dir, w.Dir+".worktrees/"+w.Ordered))
}
