package check

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// maxFormer is how many files of former work are looked at.
const maxFormer = 1000

// former returns the commit that was stored for the report of an attempt, if files of it were not committed then: no branch
// had it. It is empty if there is none.
func former(ctx context.Context, repo *git.Repo, a board.Attempt) string {
	if a.Cause != board.CauseDone {
		return ""
	}
	commit := repo.Ref(a.Handle.Ref())
	if commit == "" {
		return ""
	}
	if claim, err := repo.Trailer(ctx, commit, git.ClaimTrailer); err != nil || claim != a.Handle.String() {
		return ""
	}
	return commit
}

// begins is what a branch for a later attempt begins from, if that was stored, as the last word of a command; empty if it
// was not.
func begins(ctx context.Context, repo *git.Repo, w board.Work) string {
	for _, a := range w.Attempts {
		if a.Attempt < w.Claim.Attempt && former(ctx, repo, a) != "" {
			return " " + a.Handle.Ref()
		}
	}
	if ref := w.Former.Attempt.Handle.Ref(); !w.Former.IsZero() && repo.Ref(ref) == w.Former.Tip.Commit && !w.Former.Attempt.Where.SameClone(w.Last) {
		return " " + ref
	}
	return ""
}

// formerAt corrects what was seen of the work of an attempt that has reported files which were not committed: if they are
// not where they were, the work is what was stored.
func (i *Inspector) formerAt(ctx context.Context, repo *git.Repo, a board.Attempt, s board.Sight) (board.Sight, bool) {
	commit := former(ctx, repo, a)
	if commit == "" || i.stillThere(ctx, repo, a, s, commit) {
		return s, false
	}
	return stored(a, commit), true
}

// stored is the sight of work that is under the ref of its attempt.
func stored(a board.Attempt, commit string) board.Sight {
	s := board.Sight{Where: a.Where, Ref: a.Handle.Ref()}
	s.Where.Dir, s.Where.Head, s.Where.Uncommitted, s.Where.Worked = "", git.Short(commit), 0, true
	return s
}

// stillThere reports whether the files that an attempt has reported are where its work was seen: on its branch, or uncommitted
// in its worktree.
func (i *Inspector) stillThere(ctx context.Context, repo *git.Repo, a board.Attempt, s board.Sight, commit string) bool {
	files, err := repo.Changed(ctx, commit+"^", commit, maxFormer)
	if err != nil {
		return true // then what was seen is all that is known
	}
	if tip := repo.Branch(s.Where.Branch); tip != "" {
		if in, err := repo.Contains(ctx, tip, commit); err != nil || in {
			return true
		}
		if same, err := repo.SameFiles(ctx, tip, commit, files); err != nil || same {
			return true
		}
	}
	if s.Where.Dir == "" || s.DirGone || s.Where.Uncommitted == 0 {
		return false
	}
	tree, err := repo.At(s.Where.Dir)
	if err != nil {
		return false
	}
	loose, err := i.loose(ctx, tree)
	return err != nil || !slices.ContainsFunc(files, func(path string) bool {
		_, ok := loose[strings.TrimSuffix(path, " (submodule)")]
		return !ok
	})
}

// Fetch brings the work of a report here that was made in another clone, if it is at the remote repository that has the
// target. tip is its commit. ok is false if it is not there.
func (i *Inspector) Fetch(ctx context.Context, a board.Attempt, tip, land string) (s board.Sight, ok bool) {
	target, err := board.ParseTarget(land)
	repo, failed := i.repo()
	if err != nil || failed != nil || repo == nil || target.Remote == "" || a.Cause != board.CauseDone || tip == "" {
		return s, false
	}
	if repo.Ref(a.Handle.Ref()) != tip {
		ctx, cancel := context.WithTimeout(ctx, listTime)
		defer cancel()
		if there, err := repo.FetchRef(ctx, target.Remote, a.Handle.Ref(), tip, i.accepts()); err != nil || !there {
			return s, false
		}
	}
	if repo.Ref(a.Handle.Ref()) != tip {
		return s, false
	}
	return stored(a, tip), true
}

// Has reports whether a commit is in this clone.
func (i *Inspector) Has(ctx context.Context, commit string) bool {
	repo, err := i.repo()
	if err != nil || repo == nil {
		return false
	}
	_, err = repo.Commit(ctx, commit)
	return err == nil
}

// Dropped says what the work of a tip lacks of the former work of its task: files that are in it as if that had not changed
// them. Former work that is not in this clone is fetched, if it is at the remote repository that has the target.
func (i *Inspector) Dropped(ctx context.Context, w board.Work, tip board.Tip) (d board.Dropped, err error) {
	repo, err := i.repo()
	if err != nil || repo == nil || w.Former.IsZero() {
		return d, err
	}
	before := w.Former.Tip
	if !i.Has(ctx, before.Commit) {
		if _, ok := i.Fetch(ctx, w.Former.Attempt, before.Commit, w.Land); !ok {
			d.Absent = true
		}
	}
	if !d.Absent {
		if d.Files, err = dropped(ctx, repo, w, tip.Tree); err != nil {
			return d, err
		}
		if d.Onward, err = repo.Contains(ctx, tip.Commit, before.Commit); err != nil {
			return d, err
		}
		if was := w.Former.Attempt.Where; was.SameClone(w.Place) && was.Branch == w.Place.Branch && was.Branch != "" && was.Uncommitted == 0 {
			d.Onward = true // it was rewritten there
		}
	}
	said := noteName(w.Claim)
	if d.Absent { // which of its files are missing may be said later
		said += ".absent"
	}
	if n := i.notes(repo); !d.IsZero() && !n.has("dropped", said) {
		d.First = n.write("dropped", said, before.Commit) == nil // else it would be said again and again
	}
	return d, nil
}

// dropped returns the files of a tree that are as if the former work of a task had not changed them.
func dropped(ctx context.Context, repo *git.Repo, w board.Work, tree string) (gone []string, err error) {
	now, err := target(repo, w.Land)
	if err != nil {
		return nil, err
	}
	commit, from := w.Former.Tip.Commit, w.Former.Tip.Base
	if from == "" {
		from = commit + "^"
	}
	files, err := repo.Changed(ctx, from, commit, maxFormer)
	if err != nil {
		return nil, nil // what it began from is not known
	}
	var pairs [][2]string
	for _, path := range files {
		for _, in := range []string{tree, commit, from, cmp.Or(now, from)} {
			pairs = append(pairs, [2]string{in, path})
		}
	}
	objects, err := repo.Objects(ctx, pairs)
	if err != nil {
		return nil, err
	}
	for n, path := range files {
		if o := objects[4*n:]; o[0] != o[1] && (o[0] == o[2] || o[0] == o[3]) {
			gone = append(gone, path)
		}
	}
	return gone, nil
}
