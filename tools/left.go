package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A Sight is what an Inspector sees now of work that was left.
type Sight struct {
	// Where is its place. Dir is empty if the branch of the work is checked out nowhere.
	Where board.Where
	// DirGone and BranchGone are set if the directory or the branch of the place is not
	// there any more.
	DirGone, BranchGone bool
}

// left is what the earlier attempts at a task left.
type left struct {
	// places are where work was seen, the newest first. If there are none, it is the place of
	// the last attempt.
	places []leftPlace
	// ordered is what there is of the branch that the worker is told to work on. looked is
	// set if it could be looked at, and before if it was an earlier attempt's.
	ordered        Sight
	looked, before bool
}

type leftPlace struct {
	attempt int
	Sight
}

// maxLeft is how many places a hand-out names, and maxLooked at how many it looks.
const (
	maxLeft   = 3
	maxLooked = 8
)

// leftBy finds what the earlier attempts at a task left. It looks where it can.
func (t *Tools) leftBy(ctx context.Context, h *board.Handout) (l left) {
	look := func(w board.Where) (Sight, bool) {
		if t.o.Inspector != nil {
			if s, ok := t.o.Inspector.Look(ctx, w); ok {
				return s, true
			}
		}
		if w.Away() { // what is in the directory is another worker's
			w.Host, w.Dir, w.Branch, w.Head, w.Uncommitted, w.Worked = "", "", w.Ordered, "", 0, true
		}
		return Sight{Where: w}, false
	}
	w := where(h)
	if w.Ordered != "" {
		l.ordered, l.looked = look(board.Where{Host: w.Host, Dir: w.Dir, Branch: w.Branch, Head: w.Head, Ordered: w.Ordered})
	}
	type key struct{ host, dir, branch string }
	var last *leftPlace
	seen := map[key]bool{}
	looked := map[board.Where]bool{}
	for _, a := range slices.Backward(h.Attempts) {
		if a.Attempt >= h.Claim.Attempt || a.Where.IsZero() {
			continue
		}
		l.before = l.before || w.Ordered != "" && (a.Where.Ordered == w.Ordered || a.Where.Branch == w.Ordered)
		if looked[a.Where] || len(looked) == maxLooked || len(l.places) == maxLeft {
			continue
		}
		looked[a.Where] = true
		s, _ := look(a.Where)
		p := leftPlace{a.Attempt, s}
		if last == nil {
			last = &p
		}
		k := key{s.Where.Host, s.Where.Dir, s.Where.Branch}
		if s.Where.Worked && !seen[k] {
			seen[k] = true
			l.places = append(l.places, p)
		}
	}
	if len(l.places) == 0 && last != nil && !last.BranchGone {
		l.places = append(l.places, *last)
	}
	return l
}

// of says where the work of an attempt is, empty if none was seen.
func (l left) of(attempt int) string {
	for _, p := range l.places {
		if p.attempt == attempt {
			return p.text()
		}
	}
	return ""
}

// earlier says where the work of the attempts before the last one is, and that a worker goes
// on where the newest is.
func (l left) earlier(h *board.Handout, last int) (lines []string) {
	for _, p := range l.places {
		if at := p.text(); p.attempt != last && at != "" {
			lines = append(lines, fmt.Sprintf("work of attempt %d: %s", p.attempt, at))
		}
	}
	if len(l.places) == 0 {
		return nil
	}
	newest, w := l.places[0], where(h)
	if b := newest.Where.Branch; newest.Where.Worked && !newest.BranchGone && b != "" && b != w.Branch && b != w.Ordered {
		lines = append(lines, fmt.Sprintf("Go on with branch %s, and name it in every note and report.", inline(b, 80)))
	}
	return lines
}

// text says where the work is.
func (s Sight) text() string {
	w := s.Where
	dir := inline(w.Dir, 120)
	switch {
	case s.BranchGone && s.DirGone:
		return fmt.Sprintf("branch %s in %s; both are gone", inline(w.Branch, 80), dir)
	case s.BranchGone:
		return fmt.Sprintf("branch %s, which is gone", inline(w.Branch, 80))
	case s.DirGone:
		w.Dir, w.Uncommitted = "", 0
		return strings.TrimPrefix(location(w)+"; its directory "+dir+" is gone", "; ")
	}
	return location(w)
}

// worktree tells a worker to work in a worktree of its own: the one that there is, or one
// that it makes.
func (l left) worktree(w board.Where) string {
	path := shellWord(w.Dir + ".worktrees/" + w.Ordered)
	switch s := l.ordered; {
	case visible.Line(w.Dir) != w.Dir: // a command with it would not be what it looks like
		return "Work in a worktree of your own, on branch " + inline(w.Ordered, 80) + "."
	case l.looked && !s.BranchGone && s.Where.Dir != "" && !s.DirGone:
		return fmt.Sprintf("Work in the worktree of branch %s: %s", inline(w.Ordered, 80), inline(s.Where.Dir, 200))
	case l.looked && !s.BranchGone:
		return fmt.Sprintf("Work in a worktree of your own, on the branch that was left: git worktree add %s %s", path, shellWord(w.Ordered))
	case !l.looked && l.before:
		return fmt.Sprintf("Work in a worktree of your own, on the branch that was left: git worktree add %s %s (with -b before the branch if there is none)", path, shellWord(w.Ordered))
	}
	return fmt.Sprintf("Work in a worktree of your own: git worktree add -b %s %s", shellWord(w.Ordered), path)
}
