package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// Store stores the work of a report as a commit, under a ref that keeps it, and returns that: what
// the check has judged as tree, or else everything that is at the place of the work, but in both cases without the files
// that lay there before, which it returns, too. What is committed stays the commit that it is. It is empty if the work is not
// in git.
func (i *Inspector) Store(ctx context.Context, w board.Work, tree, title, summary string) (commit string, loose board.Loose, err error) {
	repo, err := i.at(w.Place)
	if err != nil || repo == nil {
		return "", loose, err
	}
	commit, checkedOut, err := tip(repo, w.Place)
	if err != nil {
		return "", loose, err
	}
	ref := git.StateRefs(w.Task.String()) + strconv.Itoa(w.Claim.Attempt)
	var lay lying
	if checkedOut {
		if lay, err = i.lying(ctx, repo, w); err == nil {
			lay.inside, err = i.inside(ctx, repo, w, lay)
		}
		if err != nil {
			return "", loose, err
		}
		loose = lay.told()
	}
	if checkedOut && (tree != "" || w.Place.Uncommitted > 0) {
		snap := git.Snapshot{Tree: tree, Base: commit}
		if tree == "" {
			if snap, err = repo.Everything(ctx, i.accepts()); err != nil {
				return "", loose, err
			}
		}
		var out []string
		if snap, out, err = repo.Without(ctx, snap, lay.all()); err != nil {
			return "", loose, err
		}
		in := map[string]bool{}
		for _, path := range out {
			in[path] = true
		}
		lay.leftOut = slices.DeleteFunc(lay.leftOut, func(path string) bool { return !in[path] })
		loose = lay.told()
		message := fmt.Sprintf("%s\n\n%s\n\nBossman-Task: %v\nBossman-Attempt: %d\n%s: %v\nBossman-Worker: %s\n",
			title, summary, w.Task, w.Claim.Attempt, git.ClaimTrailer, w.Claim, w.Worker)
		stored, err := repo.Store(ctx, i.accepts(), snap, ref, message)
		if err != nil {
			return "", loose, err
		}
		commit = stored.Commit
	}
	if commit == "" {
		return "", loose, nil
	}
	lay.mixed = nil // what is stored has them
	if err := i.carry(ctx, repo, w, commit, &lay); err != nil {
		return "", loose, err
	}
	loose = lay.told()
	return commit, loose, errors.Join(repo.SetRef(ctx, ref, commit, ""), repo.Sync())
}

// Tip says what the work of a commit is for a target: what it began from, and whether the target has
// everything of it already. A target that is not in this clone has nothing. land is empty if there is none.
func (i *Inspector) Tip(ctx context.Context, w board.Work, commit, land string) (t board.Tip, same bool, err error) {
	repo, err := i.repo()
	if err != nil || repo == nil {
		return t, false, err
	}
	t.Commit = commit
	if t.Tree, err = repo.Tree(ctx, commit); err != nil {
		return board.Tip{}, false, err
	}
	if land == "" {
		t.Base, err = i.began(ctx, repo, w, commit)
		return t, false, err
	}
	now, err := target(repo, land)
	if err != nil || now == "" {
		return t, false, err
	}
	if t.Base, err = repo.MergeBase(ctx, now, commit); errors.Is(err, git.ErrUnrelated) {
		return t, false, nil
	}
	if err == nil {
		same, err = adopted(ctx, repo, now, t.Base, commit)
	}
	if err != nil {
		return t, same, cutOff(repo, err)
	}
	// Reviewers are shown also what got into the target without being landed.
	w.Land = land
	if at, failed := i.at(w.Place); failed == nil && at != nil {
		past, err := i.bypassed(ctx, at, w, t.Base)
		if err != nil || !past {
			return t, same, err
		}
		if from, err := i.began(ctx, repo, w, commit); err != nil || from != "" {
			t.Base = from
			return t, same, err
		}
	}
	return t, same, nil
}

// listTime bounds how long a report waits for what a remote repository has as reported.
const listTime = 20 * time.Second

// Includes returns the work of other tasks of the project that was reported and is in the work of a tip, since what
// that began from: its commits, or the files that it had left there, uncommitted, when the task was taken. What was reported elsewhere is known if it is at the remote repository that has the target, and that
// answers; who lands looks again. get tells what is of this board.
func (i *Inspector) Includes(ctx context.Context, w board.Work, tip board.Tip, get func(ctx context.Context, id board.ID, events int) (board.Dossier, error)) ([]board.Included, error) {
	repo, err := i.repo()
	if err != nil || repo == nil || tip.Base == "" {
		return nil, err
	}
	var there map[string]string
	if t, err := board.ParseTarget(w.Land); err == nil && t.Remote != "" {
		limited, cancel := context.WithTimeout(ctx, listTime)
		there, _ = repo.RemoteStates(limited, t.Remote, i.accepts())
		cancel()
	}
	found, err := Includes(ctx, repo, there, get, w.Task, tip.Commit, tip.Base)
	if err != nil {
		return nil, err
	}
	taken, err := i.taken(ctx, &states{repo, repo.States(), there, get}, w, tip)
	for _, t := range taken {
		if !slices.ContainsFunc(found, func(f board.Included) bool { return f.Task == t.Task }) && len(found) < board.MaxIncluded {
			found = append(found, t)
		}
	}
	return found, err
}

// Includes returns the work of other tasks of a task's project that was reported, and that is in a commit and in none of
// some others: of each task the newest attempt. What was reported for the task itself, too, is its own. Known is what
// the clone has as reported, and what others have, which are as those of git.Repo.States; of the latter, what the board has recorded.
func Includes(ctx context.Context, repo *git.Repo, others map[string]string, get Getter, task board.ID, tip string, notIn ...string) ([]board.Included, error) {
	newest := map[board.ID]int{}
	commits := map[board.ID]string{}
	own := map[string]bool{}
	type state struct{ name, commit string }
	var all []state
	known := &states{repo, repo.States(), others, get}
	for _, some := range []map[string]string{known.here, known.there} {
		for name, commit := range some {
			all = append(all, state{name, commit})
			if strings.HasPrefix(name, task.String()+"/") {
				own[commit] = true
			}
		}
	}
	var in map[string]bool
	for _, s := range all {
		commit := s.commit
		id, attempt, reported := git.ParseState(s.name, commit)
		other, err := board.ParseID(id)
		if err != nil || !reported || other.Project != task.Project || other == task || own[commit] || commit == tip || attempt <= newest[other] {
			continue
		}
		if in == nil {
			if in, err = repo.Only(ctx, tip, notIn...); err != nil {
				return nil, err
			}
		}
		if !in[commit] {
			continue
		}
		if own, err := known.own(ctx, s.name, other, attempt, commit); err != nil {
			return nil, err
		} else if own {
			newest[other], commits[other] = attempt, commit
		}
	}
	list := make([]board.Included, 0, len(commits))
	for id, commit := range commits {
		list = append(list, board.Included{Task: id, Commit: commit, Attempt: newest[id]})
	}
	slices.SortFunc(list, func(a, b board.Included) int { return cmp.Compare(a.Task.No, b.Task.No) })
	return list[:min(len(list), board.MaxIncluded)], nil
}

// shareTime bounds how long the work of a report may take to get to a remote repository.
const shareTime = 10 * time.Minute

// Share pushes the work of an attempt to the remote repository that has the target, so that any clone
// can land it. With a target in this clone it does nothing. The error is a *board.PlaceError if
// the work did not get there.
func (i *Inspector) Share(ctx context.Context, h board.Handle, commit, land string) error {
	target, err := board.ParseTarget(land)
	if err != nil || target.Kind == board.TargetLocal {
		return err
	}
	repo, err := i.repo()
	if err != nil || repo == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, shareTime)
	defer cancel()
	err = repo.Push(ctx, target.Remote, commit, git.StateRefs(h.Task.String())+strconv.Itoa(h.Attempt), i.accepts())
	if err == nil {
		return nil
	}
	next := "repair that"
	if _, ok := errors.AsType[*git.FilterError](err); ok {
		next = "ask a person to run bossman trust"
	}
	return &board.PlaceError{Why: fmt.Sprintf("it has to be at %s to be landed, and was not pushed: %s", target.Remote, strings.TrimRight(err.Error(), ". ")), Next: next}
}

// accepts returns what accepts commands of the repository's own configuration.
func (i *Inspector) accepts() func(string) bool {
	if i.Accepts == nil {
		return nil
	}
	home := i.Home()
	return func(command string) bool { return i.Accepts(home, command) }
}
