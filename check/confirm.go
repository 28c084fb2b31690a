package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// Confirm returns a green verdict as evidence, with what a reviewer should know: that another
// agent works in the same directory, that no file has changed since the task was first handed
// out, or that files of the worktree are not in the tree that was judged, or files that lay there before are in it. loose are other
// files of that tree that are not committed as they are, a few of them. The error is a *board.PlaceError
// if a submodule that was changed is not there to be judged, or if another check has come into force.
func (i *Inspector) Confirm(ctx context.Context, w board.Work, c *Check, v Verdict) (e board.Evidence, loose []string, err error) {
	now, _, err := i.InForce(i.Home())
	if err != nil {
		return e, nil, err
	}
	if now == nil || now.key() != c.key() {
		return e, nil, &board.PlaceError{Why: "Another check has come into force while this one ran.", Next: "report again, and the check that is in force now decides"}
	}
	e = v.Evidence(c)
	for _, o := range w.Others {
		if beside(o, w, w.Place) {
			e.Detail += fmt.Sprintf("; another agent works on %v in the same directory", o.Task)
		}
	}
	repo, err := i.at(w.Place)
	if err != nil || repo == nil || repo.Bare {
		return e, nil, err
	}
	idle, loose, lay, err := i.compare(ctx, repo, w, v)
	if err != nil {
		return e, nil, err
	}
	switch {
	case len(lay.leftOut) == 0:
	case lay.unknown:
		e.Detail += fmt.Sprintf("; uncommitted files were there that are not in the work, because it is not known what lay there before: %s", visible.Paths(lay.leftOut))
	default:
		e.Detail += fmt.Sprintf("; files were there that are not in the work: %s", visible.Paths(lay.leftOut))
	}
	if len(lay.mixed) > 0 {
		e.Detail += fmt.Sprintf("; files were there before the work began, not committed, that are in it: %s", visible.Paths(lay.mixed))
	}
	rewritten, err := i.rewritten(ctx, repo, w)
	if err != nil {
		return e, nil, err
	}
	if len(rewritten) > 0 {
		e.Detail += fmt.Sprintf("; the work includes uncommitted files that changed while the check ran: %s", visible.Paths(rewritten))
	}
	if err := i.unseen(ctx, repo, w, v.Tree); err != nil {
		return e, nil, err
	}
	switch {
	case idle && i.noted(repo, w.First):
		e.Detail += "; no file has changed since the task was first handed out"
	case idle, w.Claim != w.First && i.wasThere(ctx, repo, w.Claim, candidate{commit: v.Base, tree: repo}, w.Place):
		e.Detail += "; no file has changed since this attempt began"
	}
	branches := w.Branches
	if own, err := i.repo(); err == nil && own != nil {
		_, first := i.begun(repo, w.First)
		if slices.ContainsFunc(w.Attempts, func(a board.Attempt) bool { return a.Handle == w.First && a.Where.Ordered != "" }) {
			first = "" // its worker was told to work elsewhere
		}
		last := w.Last.Branch
		if w.Last.Away() {
			last = ""
		}
		for _, branch := range []string{first, last} {
			if branch == "" || slices.Contains(branches, branch) {
				continue
			}
			made, err := i.madeHere(ctx, own, w, branch, "")
			if err != nil {
				return e, nil, err
			}
			if made {
				branches = append(slices.Clone(branches), branch)
			}
		}
	}
	for _, branch := range branches {
		commit := repo.Branch(branch)
		if commit == "" || branch == w.Place.Branch || v.Base == "" {
			continue
		}
		switch in, err := repo.Contains(ctx, v.Base, commit); {
		case err != nil:
			return e, nil, err
		case !in:
			e.Detail += fmt.Sprintf("; branch %.80q, where the work was before, is not in it", branch)
		}
	}
	strays, err := i.strayRemarks(ctx, repo, w, v.Base)
	if err != nil {
		return e, nil, err
	}
	away, err := i.away(ctx, repo, w, v.Base)
	if err != nil {
		return e, nil, err
	}
	here, err := i.leftHere(ctx, repo, w)
	if err != nil {
		return e, nil, err
	}
	e.Detail += strays + away + here
	task, own, err := i.finished(ctx, repo, w, v.Base)
	if err != nil {
		return e, nil, err
	}
	if task != "" && len(loose) == 0 && !(own && idle) {
		e.Detail += "; what is checked out is the accepted work of " + task
	}
	hidden, err := repo.Hidden(ctx)
	if err != nil {
		return e, nil, err
	}
	for _, h := range hidden {
		e.Detail += "; " + h
	}
	return e, loose, nil
}

// unseen returns a *board.PlaceError if a tree has a submodule that the task has changed and that
// is not checked out: the check has seen no file of it.
func (i *Inspector) unseen(ctx context.Context, repo *git.Repo, w board.Work, tree string) error {
	before, known := i.before(ctx, repo, w)
	if !known {
		return nil
	}
	paths, err := repo.Unseen(ctx, tree, before)
	if err != nil || len(paths) == 0 {
		return err
	}
	return &board.PlaceError{
		Why:  fmt.Sprintf("Your work has another commit of submodule %.200q, which is not checked out in %.200q: the check saw none of its files.", paths[0], repo.Root),
		Next: "run git submodule update --init there, and report again",
	}
}

// before returns the commit that was checked out when a task was first handed out, empty if there
// was none. known is false if it is not known, or not in this clone.
func (i *Inspector) before(ctx context.Context, repo *git.Repo, w board.Work) (commit string, known bool) {
	switch commit, _ = i.begun(repo, w.First); commit {
	case "":
		return "", false
	case unborn:
		return "", true
	}
	commit, err := repo.Commit(ctx, commit)
	return commit, err == nil
}

// strayRemarks says what earlier attempts may have made that is not in a commit.
func (i *Inspector) strayRemarks(ctx context.Context, repo *git.Repo, w board.Work, base string) (remarks string, err error) {
	for _, at := range w.Strays {
		if at.Dir == repo.Root {
			continue
		}
		commit, err := repo.Commit(ctx, at.Head)
		in := err != nil || base == ""
		if !in {
			in, err = repo.Contains(ctx, base, commit)
		}
		if err != nil && !errors.Is(err, git.ErrNoCommit) {
			return "", err
		}
		switch {
		case in:
		case at.Branch == "":
			remarks += fmt.Sprintf("; commit %.10q, perhaps the work of an earlier attempt, is not in it", at.Head)
		default:
			remarks += fmt.Sprintf("; branch %.80q, perhaps the work of an earlier attempt, is not in it", at.Branch)
		}
		switch {
		case at.Uncommitted == 1:
			remarks += fmt.Sprintf("; 1 uncommitted file in %.120q, perhaps the work of an earlier attempt, is not in it", at.Dir)
		case at.Uncommitted > 1:
			remarks += fmt.Sprintf("; %d uncommitted files in %.120q, perhaps the work of an earlier attempt, are not in it", at.Uncommitted, at.Dir)
		}
	}
	return remarks, nil
}

// away says which work of earlier attempts in other clones is not in a commit.
func (i *Inspector) away(ctx context.Context, repo *git.Repo, w board.Work, base string) (remarks string, err error) {
	here := i.stand(repo)
	var seen []string
	for _, p := range w.Before {
		if slices.Contains(seen, p.Head) {
			continue
		}
		if tree, ok := git.At(p.Dir); p.SameClone(here) && (!ok || tree.Common == repo.Common) {
			continue // its branch says what there is of it
		}
		seen = append(seen, p.Head)
		commit, err := repo.Commit(ctx, p.Head)
		in := err == nil && base != ""
		if in {
			in, err = repo.Contains(ctx, base, commit)
		}
		if err != nil && !errors.Is(err, git.ErrNoCommit) {
			return "", err
		}
		if !in {
			remarks += fmt.Sprintf("; commit %.10q, where the work was before in %.120q on %.40q, is not in it", p.Head, p.Dir, p.Host)
		}
	}
	return remarks, nil
}

// maxLoose is how many files compare names.
const maxLoose = 5

// compare compares the judged tree with that of HEAD. idle is set if the commit brings nothing
// that was not there when the task was first handed out, and the files that differ, if any, are
// as they were then; loose are files that differ, and lay those of them that are no part of the work.
func (i *Inspector) compare(ctx context.Context, repo *git.Repo, w board.Work, v Verdict) (idle bool, loose []string, lay lying, err error) {
	head, err := repo.Head()
	if err != nil || head.Commit == "" {
		return false, nil, lay, err
	}
	tree, err := repo.Tree(ctx, head.Commit)
	if err != nil {
		return false, nil, lay, err
	}
	if idle, err = i.idle(ctx, repo, w, tree == v.Tree); err == nil && tree == v.Tree {
		err = i.carry(ctx, repo, w, tree, &lay)
	}
	if err != nil || tree == v.Tree {
		return idle, nil, lay, err
	}
	if lay, err = i.lying(ctx, repo, w); err != nil {
		return idle, nil, lay, err
	}
	own, out, err := repo.Without(ctx, git.Snapshot{Tree: v.Tree, Base: head.Commit}, lay.all())
	if err != nil {
		return idle, nil, lay, err
	}
	loose, err = repo.Changed(ctx, tree, own.Tree, maxLoose)
	lay.leftOut, lay.mixed = out, nil
	if err == nil {
		err = i.carry(ctx, repo, w, own.Tree, &lay)
	}
	for _, list := range [][]string{loose, lay.leftOut, lay.mixed} {
		for n := range list {
			list[n] = strings.Map(shown, list[n])
		}
	}
	return idle, loose, lay, err
}

// idle reports whether the commit that is checked out brings nothing that was not there when the
// task was first handed out, and the files that are not committed, if any, are as they were then.
// clean is set if there are none. If it is not known what there was then, what has not changed
// since the newest attempt began counts, unless the work of an earlier one is in it.
func (i *Inspector) idle(ctx context.Context, repo *git.Repo, w board.Work, clean bool) (bool, error) {
	head, err := repo.Head()
	if err != nil || head.Commit == "" {
		return false, err
	}
	if w.Claim != w.First && !i.noted(repo, w.First) {
		at := w.Place
		if clean {
			at.Uncommitted = 0
		}
		return i.wasThere(ctx, repo, w.Claim, candidate{commit: head.Commit, tree: repo}, at) && !hasEarlier(ctx, repo, w, head.Commit), nil
	}
	fresh, _, err := i.isNew(ctx, repo, w, head.Commit)
	if err == nil && fresh {
		var tree string
		if tree, err = repo.Tree(ctx, head.Commit); err == nil {
			fresh, err = i.hasChanged(ctx, repo, w, tree)
		}
		if err == nil && fresh {
			var there bool
			there, err = landed(ctx, repo, w, head.Commit)
			fresh = !there
		}
	}
	before, known := i.looseBefore(repo, w.First)
	if err != nil || fresh || clean || !known {
		return err == nil && !fresh && clean, err
	}
	now, err := i.loose(ctx, repo)
	if err != nil || !before.changed(now) {
		return err == nil, err
	}
	l, err := i.lying(ctx, repo, w)
	for _, path := range l.all() {
		delete(now, path)
	}
	return err == nil && !before.changed(now), err
}

// hasEarlier reports whether a commit has the work of an earlier attempt, as far as the board knows it.
func hasEarlier(ctx context.Context, repo *git.Repo, w board.Work, commit string) bool {
	return slices.ContainsFunc(w.Before, func(p board.Where) bool {
		earlier, err := repo.Commit(ctx, p.Head)
		if err != nil || p.Uncommitted > 0 { // it may be here under another name
			return p.Uncommitted > 0
		}
		in, err := repo.Contains(ctx, commit, earlier)
		return err == nil && in
	})
}

// unborn stands for the commit of a repository without one.
const unborn = "-"

// begun returns the commit and the branch that were checked out when a task was handed out with a
// claim: unborn and no branch if there were none, empty if it is not known.
func (i *Inspector) begun(repo *git.Repo, claim board.Handle) (commit, branch string) {
	words, _ := i.notes(repo).read("begun", noteName(claim))
	if len(words) > 1 {
		commit = words[1]
	}
	if len(words) > 2 {
		branch = words[2]
	}
	return commit, branch
}

// hasChanged reports whether a tree has other files than the commit that was checked out when the
// task was first handed out.
func (i *Inspector) hasChanged(ctx context.Context, repo *git.Repo, w board.Work, tree string) (bool, error) {
	begun, _ := i.begun(repo, w.First)
	if begun == "" || begun == unborn {
		return true, nil
	}
	before, err := repo.Tree(ctx, begun)
	if err != nil {
		return true, nil // it is in another clone, or was deleted since
	}
	return tree != before, nil
}
