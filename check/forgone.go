package check

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// Forgone returns the work of a task that its target lacks: what was reported, what is on its branches, what was made, put away or left uncommitted in
// its worktrees since it was first handed out, and what was undone of a task that it does again. What is at a place that is taken, or is the accepted
// work of another task, is not its work. first is set if some of it is said for the first time for a claim.
func (i *Inspector) Forgone(ctx context.Context, w board.Work, taken func(board.Where) bool) (list []board.Forgone, first bool, err error) {
	repo, err := i.repo()
	if err != nil || repo == nil {
		return nil, false, err
	}
	now, err := target(repo, w.Land)
	if err != nil {
		return nil, false, err
	}
	g := i.ground(repo, w, taken)
	head, found := i.leftBy(ctx, repo, w, append(i.made(ctx, repo, w, g, taken), i.stashed(repo, w, g, taken)...))
	named := map[string]bool{}
	for _, c := range found {
		files, err := lacking(ctx, repo, now, c.commit, w.Former.Tip)
		if err == nil && c.stash {
			var added []string
			added, err = stashedNew(ctx, repo, now, c.commit)
			files = append(files, added...)
		}
		if err != nil {
			return nil, false, err
		}
		files = slices.DeleteFunc(files, func(path string) bool { return named[path] })
		if len(files) == 0 {
			continue
		}
		for _, path := range files {
			named[path] = true
		}
		f := board.Forgone{Commit: c.commit, Branch: c.branch, Stash: c.stash, Files: files}
		if head != "" {
			f.Here, _ = repo.Contains(ctx, head, c.commit)
		}
		f.Here = f.Here || w.Slot && c.commit == repo.Ref(w.Claim.Ref())
		list = append(list, f)
	}
	loose, err := i.uncommitted(ctx, w, g, now)
	if err != nil {
		return nil, false, err
	}
	list = append(list, loose...)
	for _, was := range w.Redone {
		files, err := undone(ctx, repo, now, was.Tip)
		if err != nil {
			return nil, false, err
		}
		if files = slices.DeleteFunc(files, func(path string) bool { return named[path] }); len(files) > 0 {
			list = append(list, board.Forgone{Commit: was.Tip.Commit, Branch: was.Attempt.Where.Branch, Files: files, Redone: true})
			break
		}
	}
	if was := w.Former.Tip.Commit; was != "" && !i.Has(ctx, was) {
		list = append(list, board.Forgone{Commit: was, Absent: true})
	}
	list = append(list, i.absent(ctx, repo, w)...)
	n := i.notes(repo)
	denied, _ := n.read("denied", noteName(w.Claim))
	for _, f := range list {
		tree := ""
		if f.Commit != "" && !f.Absent {
			tree, _ = repo.Tree(ctx, f.Commit) // each report of a slot's work stores a commit of its own
		}
		said := noteName(w.Claim) + "." + pathName(cmp.Or(tree, f.Commit, strings.Join(append([]string{f.Dir}, f.Files...), "\x00")))
		if n.has("forgone", said) {
			continue
		}
		if n.write("forgone", said, f.Commit) == nil && !slices.Contains(denied, f.Commit) { // else it would be said again and again
			first = true
		}
	}
	return list, first, nil
}

// uncommitted returns the files of a task that are not committed in its worktrees, and are otherwise in a target, which may be empty.
func (i *Inspector) uncommitted(ctx context.Context, w board.Work, g ground, now string) (list []board.Forgone, err error) {
	for _, tree := range g.own {
		here := tree.Root == w.Place.Dir
		if here && w.Slot { // what is there is stored
			continue
		}
		files, err := i.looseOf(ctx, tree, w, g)
		if err != nil {
			return nil, err
		}
		paths := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(path string) bool { return strings.HasSuffix(path, "/") })
		paths = paths[:min(len(paths), maxFormer)]
		there, held := make([]string, len(paths)), make([]string, len(paths))
		if now != "" {
			var pairs [][2]string
			for _, commit := range []string{now, "HEAD"} {
				for _, path := range paths {
					pairs = append(pairs, [2]string{commit, path})
				}
			}
			objects, err := tree.Objects(ctx, pairs)
			if err != nil {
				return nil, err
			}
			there, held = objects[:len(paths)], objects[len(paths):]
		}
		f := board.Forgone{Dir: tree.Root, Here: here}
		for n, path := range paths {
			file := files[path]
			// One with the content that is checked out has another mode, or another content in the index.
			if now == "" || file.Blob != there[n] || there[n] == "" && file.Kind != "gone" || file.Blob != "" && file.Blob == held[n] {
				f.Files = append(f.Files, path)
			}
		}
		if len(f.Files) > 0 {
			list = append(list, f)
		}
	}
	return list, nil
}

// absent returns the work of earlier attempts that was seen in other clones and is not in this one.
func (i *Inspector) absent(ctx context.Context, repo *git.Repo, w board.Work) (list []board.Forgone) {
	here := i.stand(repo)
	for _, at := range w.Before {
		if at.SameClone(here) || at.Away() || at == w.Former.Attempt.Where {
			continue
		}
		commit, err := repo.Abbreviated(ctx, at.Head)
		if err != nil || commit != "" && at.Uncommitted == 0 {
			continue
		}
		f := board.Forgone{Branch: at.Branch, Dir: at.Dir, Host: at.Host, Absent: true}
		if commit == "" {
			f.Commit = at.Head
		}
		if !slices.ContainsFunc(list, func(o board.Forgone) bool { return o.Commit == f.Commit && o.Dir == f.Dir }) {
			list = append(list, f)
		}
	}
	return list
}

// leftBy returns the commits that the work of a task may end with, and the one that is checked out at its place. made are those that the logs of git
// have.
func (i *Inspector) leftBy(ctx context.Context, repo *git.Repo, w board.Work, made []candidate) (head string, found []candidate) {
	join := func(c candidate, sure bool) {
		same := func(f candidate) bool { return f.commit == c.commit }
		if c.commit != "" && !slices.ContainsFunc(found, same) && (sure || i.isOfTask(ctx, repo, w, c.commit)) {
			found = append(found, c)
		}
	}
	add := func(branch, commit string, sure bool) { join(candidate{branch: branch, commit: commit}, sure) }
	if at, err := i.at(w.Place); w.Place.Dir != "" && err == nil && at != nil {
		if head, _, err = tip(at, w.Place); err == nil {
			add(w.Place.Branch, head, false)
		}
	}
	for _, branch := range append([]string{w.Place.Branch, w.Place.Ordered}, w.Branches...) {
		if branch != "" {
			add(branch, repo.Branch(branch), false)
		}
	}
	if was := w.Former; !was.IsZero() {
		if !i.Has(ctx, was.Tip.Commit) {
			i.Fetch(ctx, was.Attempt, was.Tip.Commit, w.Land)
		}
		if i.Has(ctx, was.Tip.Commit) {
			add(was.Attempt.Where.Branch, was.Tip.Commit, true)
		}
	}
	for _, a := range w.Attempts {
		if a.Attempt < w.Claim.Attempt || w.Slot { // what is in a slot is stored at each report
			add(a.Where.Branch, repo.Ref(a.Handle.Ref()), false)
		}
	}
	for _, at := range w.Before {
		if commit, err := repo.Abbreviated(ctx, at.Head); err == nil && !at.Away() {
			add(at.Branch, commit, false)
		}
	}
	for _, c := range made {
		join(c, false)
	}
	return head, found
}

// isOfTask reports whether a commit was made since a task was first handed out here, and is not the accepted work of another one.
func (i *Inspector) isOfTask(ctx context.Context, repo *git.Repo, w board.Work, commit string) bool {
	had, known, err := i.had(ctx, repo, i.firstHere(repo, w), commit)
	if err != nil || had || !known {
		return false
	}
	other, _, err := i.finished(ctx, repo, w, commit)
	return err == nil && other == ""
}

// lacking returns the files that a commit changed and that are otherwise in a target, which may be empty. was is the former work.
func lacking(ctx context.Context, repo *git.Repo, now, commit string, was board.Tip) ([]string, error) {
	from := commit + "^"
	if commit == was.Commit {
		from = cmp.Or(was.Base, from)
	}
	if now != "" {
		if base, err := repo.MergeBase(ctx, now, commit); err == nil { // else history is cut off here
			from = base
		}
	}
	if from == commit {
		return nil, nil
	}
	files, err := repo.Changed(ctx, from, commit, maxFormer)
	if err != nil {
		return nil, nil // what it began from is not known
	}
	if now == "" {
		return files, nil
	}
	differ, err := repo.ChangedTo(ctx, now, commit)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(files, func(path string) bool {
		_, ok := differ[strings.TrimSuffix(path, " (submodule)")]
		return !ok
	}), nil
}

// stashedNew returns the files that git did not have when they were put away with git stash -u, and that a target, which may be empty, lacks.
func stashedNew(ctx context.Context, repo *git.Repo, now, stash string) (files []string, err error) {
	added, err := repo.Commit(ctx, stash+"^3")
	if errors.Is(err, git.ErrNoCommit) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	objects, err := repo.ChangedTo(ctx, now, added)
	for _, path := range slices.Sorted(maps.Keys(objects)) {
		if objects[path] != "" && len(files) < maxFormer {
			files = append(files, path)
		}
	}
	return files, err
}
