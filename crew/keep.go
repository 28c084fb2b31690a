package crew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// refOf is the ref of the state of an attempt: the one that was reported as done last, or else the
// last one.
func refOf(task string, attempt int) string {
	return git.StateRefs(task) + strconv.Itoa(attempt)
}

// endSuffix is appended to the ref of an attempt for what came after its report.
const endSuffix = "-end"

// beforeSuffix is appended to the refs of other boards that this clone had.
func beforeSuffix() string { return "-before-" + strconv.FormatInt(time.Now().UnixNano(), 10) }

// storeReport stores the state that the agent reports on, before the board records that: the
// tree that was checked, if one was, on top of what is checked out at the place of the work. It
// returns the place with the commit of that state, and what people should know about it.
func (j *job) storeReport(ctx context.Context, at board.Where, tree, summary string) (board.Where, board.Evidence, error) {
	repo, ref := j.r.o.Repo, refOf(j.kept.Task, j.kept.Attempt)
	if at.Dir == "" {
		at = j.seat.Where(ctx)
	}
	from, snap, err := j.reported(ctx, at, tree)
	var stored git.Stored
	var left []string
	if err == nil {
		stored, left, err = j.commit(ctx, from, snap, summary)
	}
	if err == nil {
		err = cmp.Or(repo.SetRef(ctx, ref, stored.Commit, ""), repo.Sync())
	}
	if err != nil {
		return at, board.Evidence{}, storeError(err)
	}
	seen := board.Evidence{Kind: board.EvidenceOther, Ref: stored.Commit, Detail: "is the commit with what was reported, " + ref}
	if nothing, err := nothing(ctx, repo, stored.Commit); err == nil && nothing {
		seen.Detail += "; " + noChange
	}
	if len(left) > 0 {
		seen.Detail += "; files that git ignored when the agent began are not in it: " + visible.Paths(left)
	}
	if snap.Tree != "" && tree == "" {
		for _, w := range []board.Where{at, j.seat.Where(ctx)} {
			if w.Uncommitted > 0 {
				seen.Detail += fmt.Sprintf("; files that are not committed in %q are not in it, %d of them", w.Dir, w.Uncommitted)
			}
		}
	}
	if at.Dir == j.dir && tree == "" { // the evidence of a check has it
		hidden, err := j.tree.Hidden(ctx)
		if err != nil {
			hidden = []string{"what git leaves out could not be looked at"}
		}
		seen.Detail = strings.Join(append([]string{seen.Detail}, hidden...), "; ")
	}
	if repo.Branch(at.Branch) != stored.Commit {
		at.Branch, at.Dir = j.kept.Branch, j.dir // which gets it
		if can, err := j.canSetBranch(ctx, stored.Commit); err != nil || !can {
			at.Branch = "" // it is named by its commit
		}
	}
	at.Head, at.Uncommitted = git.Short(stored.Commit), 0
	return at, seen, nil
}

// reported returns what is to be stored for a report, and in which worktree: the tree that was
// checked, or else everything that is in the worktree of the work, which is the zero snapshot. In
// the repository's main worktree, where people work, and on a branch that is checked out nowhere,
// that is what is committed.
func (j *job) reported(ctx context.Context, at board.Where, tree string) (from *git.Repo, snap git.Snapshot, err error) {
	repo := j.r.o.Repo
	tip := repo.Branch(at.Branch)
	head, err := j.tree.Head()
	switch own := at.Dir == j.dir && at.Branch == head.Branch || tip == ""; {
	case own && tree == "":
		return j.tree, git.Snapshot{}, nil
	case own || err != nil:
		return j.tree, git.Snapshot{Tree: tree, Base: head.Commit}, err
	case tree == "":
		if other := repo.Worktree(at.Branch, at.Dir); other != nil && other.Dir != other.Common {
			return other, git.Snapshot{}, nil
		}
		tree, err = repo.Tree(ctx, tip)
	}
	return j.tree, git.Snapshot{Tree: tree, Base: tip}, err
}

// storeError says what an agent can do about a state that could not be stored.
func storeError(err error) error {
	next := "repair what git says"
	if _, ok := errors.AsType[*git.UnreadableError](err); ok {
		next = "make that readable, remove it or ignore it"
	}
	return &board.PlaceError{Why: strings.TrimRight(err.Error(), ". "), Next: next}
}

// store stores the last state of the slot's job as a commit under a ref, and returns it; done is the
// state that was accepted before. If files cannot be stored, it keeps what is committed, and
// returns an error, too. An attempt that changed nothing has no state: what it began from must not
// come back if somebody takes it away.
func (s *slot) store(ctx context.Context, tree *git.Repo, a standing, done string) (commit string, err error) {
	if tree == nil {
		return "", errors.New("it is gone")
	}
	stored, left, err := s.commit(ctx, tree, git.Snapshot{}, "")
	if len(left) > 0 {
		s.kept.Setup = "" // what it made there may be deleted with them
	}
	if commit = stored.Commit; err != nil {
		head, failed := tree.Head()
		if commit = head.Commit; failed != nil || commit == "" {
			return "", err
		}
	}
	ref := refOf(s.kept.Task, s.kept.Attempt)
	switch {
	case commit == s.kept.Base && done == "":
		if s.r.o.Repo.Ref(ref) == commit { // it was reported as failed
			err = errors.Join(err, s.r.o.Repo.SetRef(ctx, ref, "", commit))
		}
		return "", err
	case done != "": // what came after the report
		ref += endSuffix
		same, failed := same(ctx, s.r.o.Repo, done, commit)
		if err != nil { // files are missing in it
			same, failed = s.behind(ctx, commit, done)
		}
		if failed == nil && same {
			return "", err
		}
		commit, failed = s.signed(ctx, commit, a.Attempt) // the board is not told the commit
		err = errors.Join(err, failed)
	case a.Attempt.Attempt == 0: // it is of another board that this clone had
		ref += beforeSuffix()
	case !a.held: // the board is not told the commit
		if reported := s.r.o.Repo.Ref(ref); err == nil && s.isState(ctx, reported, commit, a.Attempt) {
			return reported, nil
		}
		var failed error
		commit, failed = s.signed(ctx, commit, a.Attempt)
		err = errors.Join(err, failed)
	}
	return commit, errors.Join(err, s.r.o.Repo.SetRef(ctx, ref, commit, ""), s.r.o.Repo.Sync())
}

// isState reports whether a commit that was stored for an attempt has the same files as another one.
func (s *slot) isState(ctx context.Context, stored, commit string, a board.Attempt) bool {
	if own, err := ofAttempt(ctx, s.r.o.Repo, stored, a); err != nil || !own {
		return false
	}
	same, err := same(ctx, s.r.o.Repo, stored, commit)
	return err == nil && same
}

// signed returns a commit of which anybody can tell that it is a state of an attempt: the one that it is
// given, or one with the same files on top of that, whose message names the claim.
func (s *slot) signed(ctx context.Context, commit string, a board.Attempt) (string, error) {
	repo := s.r.o.Repo
	if own, err := ofAttempt(ctx, repo, commit, a); err != nil || own {
		return commit, err
	}
	tree, err := repo.Tree(ctx, commit)
	if err != nil {
		return commit, err
	}
	signed, err := repo.CommitTree(ctx, tree, []string{commit}, s.message(""))
	return cmp.Or(signed, commit), err
}

// commit stores a snapshot as a commit; the zero one is what is there now. What git ignored when the job began, and does not
// any more, is not in it, unless somebody has committed it: that is left.
func (s *slot) commit(ctx context.Context, tree *git.Repo, snap git.Snapshot, summary string) (stored git.Stored, left []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, snapshotTime)
	defer cancel()
	ref, message := refOf(s.kept.Task, s.kept.Attempt), s.message(summary)
	var unmerged []string
	if snap == (git.Snapshot{}) {
		if unmerged, err = tree.Unmerged(ctx); err != nil {
			return stored, nil, err
		}
		if snap, err = tree.Everything(ctx, s.r.o.Accept); err != nil {
			return stored, nil, err
		}
	}
	if snap, left, err = tree.WithoutNew(ctx, snap, s.ignored()); err != nil {
		return stored, nil, err
	}
	stored, err = tree.Store(ctx, s.r.o.Accept, snap, ref, message+git.UnmergedTrailers(unmerged))
	if err == nil && len(unmerged) > 0 { // the next attempt has to know
		err = s.r.o.Repo.KeepUnmerged(ctx, ref, stored.Commit)
	}
	if len(stored.Submodules) > 0 {
		s.report(Trouble, fmt.Sprintf("what is not committed or not pushed in submodules is only in their own repositories: %q", stored.Submodules))
	}
	if len(stored.Inner) > 0 {
		s.report(Trouble, fmt.Sprintf("repositories of their own in the worktree are in no commit: %q", stored.Inner))
	}
	return stored, left, err
}

// snapshotTime bounds how long a snapshot takes: a large worktree is read whole.
const snapshotTime = 5 * time.Minute

// message is that of a state's commit.
func (s *slot) message(summary string) string {
	text := s.kept.Title + "\n\n"
	if summary != "" {
		text += summary + "\n\n"
	}
	return text + fmt.Sprintf("Bossman-Task: %s\nBossman-Attempt: %d\n%s: %s\nBossman-Worker: %s\n", s.kept.Task, s.kept.Attempt, git.ClaimTrailer, s.kept.Claim, s.kept.Worker)
}
