package check

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

const (
	// maxWritten is how many files are noted that a run has made, and maxRuns of how many runs.
	maxWritten = 1000
	maxRuns    = 20
)

// NoteWritten notes which files lie in the worktree of some work since a check ran there without a judgement: those that git does not
// have, and that were not in what was to be judged. They are no part of the work until somebody adds them: the check has made
// them, or nobody can tell. Files of git that changed meanwhile are part of it, and Confirm names them.
func (i *Inspector) NoteWritten(ctx context.Context, w board.Work, v Verdict) {
	repo, err := i.at(w.Place)
	if err != nil || repo == nil || repo.Bare || v.Tree == "" {
		return
	}
	now, err := i.loose(ctx, repo)
	if err != nil { // then they count as the work
		return
	}
	added, err := since(ctx, repo, now, v.Tree)
	if err != nil {
		return
	}
	i.noteFiles(repo, w, "written", slices.Sorted(maps.Keys(added)))
	if v.Result == Changed {
		i.noteFiles(repo, w, "rewritten", slices.DeleteFunc(slices.Clone(v.Paths), func(path string) bool { return now[path].Untracked }))
	}
}

// noteFiles adds files to those that are noted for a claim in a worktree.
func (i *Inspector) noteFiles(repo *git.Repo, w board.Work, kind string, paths []string) {
	known := i.notedFiles(repo, w, kind)
	var lines []string
	for _, path := range paths {
		if !known[path] && len(lines) < maxWritten {
			lines = append(lines, url.QueryEscape(path))
		}
	}
	for n := range maxRuns {
		if name := writtenName(repo, w.Claim, n); len(lines) > 0 && !i.notes(repo).has(kind, name) {
			_ = i.notes(repo).write(kind, name, strings.Join(lines, "\n"))
			return
		}
	}
}

// rewritten returns the tracked files of a worktree that changed while a check of the task ran there, by whatever program, and that are still
// uncommitted.
func (i *Inspector) rewritten(ctx context.Context, repo *git.Repo, w board.Work) (list []string, err error) {
	files := i.notedFiles(repo, w, "rewritten")
	if len(files) == 0 {
		return nil, nil
	}
	now, err := repo.Loose(ctx)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if f, loose := now[path]; loose && !f.Untracked {
			list = append(list, path)
		}
	}
	return list, err
}

// writtenName is the name of the note about a run for a claim in a worktree.
func writtenName(tree *git.Repo, claim board.Handle, run int) string {
	return fmt.Sprintf("%s.%s.%d", noteName(claim), pathName(tree.Root), run)
}

// written returns the files that checks have made in a worktree for the claims of a task.
func (i *Inspector) written(tree *git.Repo, w board.Work) map[string]bool {
	return i.notedFiles(tree, w, "written")
}

// notedFiles returns the files that are noted for the claims of a task in a worktree.
func (i *Inspector) notedFiles(tree *git.Repo, w board.Work, kind string) map[string]bool {
	files := map[string]bool{}
	claims := []board.Handle{w.Claim}
	for _, a := range w.Attempts {
		if a.Handle != w.Claim {
			claims = append(claims, a.Handle)
		}
	}
	for _, claim := range claims {
		for n := range maxRuns {
			words, ok := i.notes(tree).read(kind, writtenName(tree, claim, n))
			if !ok {
				break
			}
			for _, word := range words {
				if path, err := url.QueryUnescape(word); err == nil {
					files[path] = true
				}
			}
		}
	}
	return files
}

// since returns the files of a worktree that git does not have, and that are not in a tree.
func since(ctx context.Context, repo *git.Repo, now git.Loose, tree string) (added map[string]bool, err error) {
	var paths []string
	var pairs [][2]string
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if now[path].Untracked {
			paths, pairs = append(paths, path), append(pairs, [2]string{tree, path})
		}
	}
	objects, err := repo.Objects(ctx, pairs)
	if err != nil {
		return nil, err
	}
	added = map[string]bool{}
	for n, path := range paths {
		if objects[n] == "" {
			added[path] = true
		}
	}
	return added, nil
}

// withoutNew returns the content without files that git does not have and that came since an earlier content.
func (s content) withoutNew(ctx context.Context, repo *git.Repo, before content) (content, error) {
	now, err := repo.Loose(ctx)
	if err != nil {
		return s, err
	}
	added, err := since(ctx, repo, now, before.Tree)
	if err != nil {
		return s, err
	}
	s.converted = maps.Clone(s.converted)
	maps.DeleteFunc(s.converted, func(path, _ string) bool { return added[path] })
	if len(added) > 0 && s.Base != "" {
		s.Snapshot, _, err = repo.Without(ctx, s.Snapshot, slices.Sorted(maps.Keys(added)))
	}
	return s, err
}

// without returns a snapshot of a worktree without some files that git does not have.
func without(ctx context.Context, repo *git.Repo, s git.Snapshot, files map[string]bool) (git.Snapshot, error) {
	if len(files) == 0 || s.Base == "" {
		return s, nil
	}
	now, err := repo.Loose(ctx)
	if err != nil {
		return s, err
	}
	s, _, err = repo.Without(ctx, s, untracked(now, files))
	return s, err
}

// untracked returns those of some files that git does not have.
func untracked(now git.Loose, files map[string]bool) (list []string) {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if f, ok := now[path]; ok && f.Untracked {
			list = append(list, path)
		}
	}
	return list
}
