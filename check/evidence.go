package check

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// Resolve replaces the names of commits in evidence, such as HEAD, with their full names.
// What names no commit stays as it is.
func (i *Inspector) Resolve(ctx context.Context, w board.Work, evidence []board.Evidence) {
	repo, err := i.at(w.Place)
	if err != nil || repo == nil {
		return
	}
	for n, e := range evidence {
		if e.Kind != board.EvidenceCommit || git.IsObject(e.Ref) {
			continue
		}
		if commit, err := repo.Commit(ctx, e.Ref); err == nil {
			evidence[n].Ref = commit
		}
	}
}

// Verify looks at the evidence of a report, as far as it can be looked at. It returns
// the pieces that it has seen, and a sentence for each piece that is false. The place of
// the work is one that Place returned.
func (i *Inspector) Verify(ctx context.Context, w board.Work, evidence []board.Evidence) (observed []board.Evidence, faults []string, err error) {
	repo, err := i.at(w.Place)
	if err != nil {
		return nil, []string{fmt.Sprintf("The work cannot be looked at: %v.", err)}, nil
	}
	if repo != nil {
		head, checkedOut, err := tip(repo, w.Place)
		if err != nil {
			return nil, nil, err
		}
		other, own, err := i.finished(ctx, repo, w, head)
		if err != nil {
			return nil, nil, err
		}
		existed, _, err := i.existed(ctx, repo, w, head)
		if err != nil {
			return nil, nil, err
		}
		if own || existed { // a new branch may begin from accepted work
			other = ""
		}
		if other != "" && (w.Place.Named || !checkedOut) {
			return nil, nil, &board.PlaceError{
				Why:  fmt.Sprintf("Branch %.80q is another agent's work: it ends with the accepted commit of %.60q, and has nothing newer.", w.Place.Branch, other),
				Next: "report again with the branch that your work is on", Foreign: true,
			}
		}
	}
	if err := i.resolved(ctx, repo, w); err != nil {
		return nil, nil, err
	}
	for _, e := range evidence {
		if repo != nil && e.Kind == board.EvidenceCommit {
			if err := settled(repo); err != nil {
				return nil, nil, err
			}
		}
		var fault string
		seen := false
		switch e.Kind {
		case board.EvidenceCommit:
			if repo == nil {
				continue // there is nothing to look at
			}
			fault, seen, err = i.verifyCommit(ctx, repo, w, e.Ref)
			fetched := false
			if fault == "" && err == nil {
				fetched, err = repo.Fetched(ctx, e.Ref)
			}
			if fetched {
				e.Detail = strings.TrimPrefix(e.Detail+"; it was not made in this clone", "; ")
			}
			if task, own := i.accepted(repo, w, e.Ref, "commits", "heads"); own {
				e.Detail = strings.TrimPrefix(e.Detail+"; it is in the accepted work of "+task+", too", "; ")
			}
		case board.EvidenceFile:
			fault, seen = i.verifyFile(ctx, repo, w, &e), true
		case board.EvidenceURL, board.EvidencePR:
			fault = verifyURL(e)
		}
		switch {
		case err != nil:
			return nil, nil, err
		case fault != "":
			faults = append(faults, fault)
		case seen:
			observed = append(observed, e)
		}
	}
	return observed, faults, nil
}

// clockSkew is how much the clocks of a board and of a worktree may differ.
const clockSkew = 2 * time.Minute

// verifyCommit says what is wrong with a commit, empty if nothing is: it must be in the
// repository and on the branch of the work, be newer than the task, change something, not have
// landed, and be nobody else's evidence. It is not seen if it is not known what the repository had
// when the task was first handed out.
func (i *Inspector) verifyCommit(ctx context.Context, repo *git.Repo, w board.Work, ref string) (fault string, seen bool, err error) {
	commit, err := repo.Commit(ctx, ref)
	if errors.Is(err, git.ErrNoCommit) {
		return fmt.Sprintf("%.64q is not a commit of this repository.", ref), false, nil
	}
	if err != nil {
		return "", false, err
	}
	tip, checkedOut, err := tip(repo, w.Place)
	if err != nil {
		return "", false, err
	}
	on := tip != ""
	if on {
		if on, err = repo.Contains(ctx, tip, commit); err != nil {
			return "", false, err
		}
	}
	if !on && (checkedOut || w.Place.Branch == "") {
		return fmt.Sprintf("Commit %.12s is not on what is checked out in %.200q.", commit, repo.Root), false, nil
	}
	if !on {
		return fmt.Sprintf("Commit %.12s is not on branch %.80q.", commit, w.Place.Branch), false, nil
	}
	fresh, known, err := i.isNew(ctx, repo, w, commit)
	if err != nil {
		return "", false, err
	}
	if !fresh {
		return i.older(ctx, repo, w, commit)
	}
	changes, err := repo.Changes(ctx, commit)
	if err != nil {
		return "", false, cutOff(repo, err)
	}
	if !changes {
		return fmt.Sprintf("Commit %.12s changes nothing.", commit), false, nil
	}
	tree, err := repo.Tree(ctx, commit)
	if err != nil {
		return "", false, err
	}
	if changed, err := i.hasChanged(ctx, repo, w, tree); err != nil {
		return "", false, err
	} else if !changed {
		return fmt.Sprintf("Commit %.12s has nothing that was not there when the task was first handed out.", commit), false, nil
	}
	if _, own := i.accepted(repo, w, commit, "commits", "heads"); !own {
		if there, err := landed(ctx, repo, w, commit); err != nil {
			return "", false, err
		} else if there {
			return fmt.Sprintf("Commit %.12s has nothing that is not in %.80q already, where work lands: it is not the work of this task.", commit, w.Land), false, nil
		}
	}
	if other, own := i.accepted(repo, w, commit, "commits"); other != "" && !own {
		return fmt.Sprintf("Commit %.12s is another agent's work: it is the evidence of %.60q.", commit, other), false, nil
	}
	if other, own := i.accepted(repo, w, commit, "heads"); other != "" && !own {
		return fmt.Sprintf("Commit %.12s is another agent's work: the accepted work of %.60q ends with it.", commit, other), false, nil
	}
	fault, err = i.unnamed(ctx, repo, w, tip)
	return fault, known && fault == "", err
}

// unnamed says that the commits of a task have a repository in place of files, empty if they do
// not.
func (i *Inspector) unnamed(ctx context.Context, repo *git.Repo, w board.Work, tip string) (fault string, err error) {
	before, ok := i.before(ctx, repo, w)
	if !ok {
		return "", nil
	}
	paths, err := repo.Unnamed(ctx, tip, before)
	if err != nil || len(paths) == 0 {
		return "", err
	}
	if tree, ok := git.At(filepath.Join(repo.Root, filepath.FromSlash(paths[0]))); ok && tree.Common == repo.Common {
		return fmt.Sprintf("Commit %.12s has another worktree of this repository, %.200q, as if it were a submodule. Run git rm --cached on it, add it to .gitignore and commit; leave its files alone.",
			tip, paths[0]), nil
	}
	return fmt.Sprintf("Commit %.12s has none of the files in %.200q, only a link to the repository there, which no .gitmodules names: no clone gets them. "+
		"If they belong to this repository, remove the .git in that directory, run git rm --cached on it, add it again and commit; otherwise add it with git submodule add, or ignore it.",
		tip, paths[0]), nil
}

// older says why a commit is not new.
func (i *Inspector) older(ctx context.Context, repo *git.Repo, w board.Work, commit string) (fault string, seen bool, err error) {
	existed, _, err := i.existed(ctx, repo, w, commit)
	if err != nil {
		return "", false, err
	}
	if existed {
		return fmt.Sprintf("Commit %.12s is older than your work: it existed when the task was first handed out.", commit), false, nil
	}
	at, err := repo.CommitTime(ctx, commit)
	since := i.since(repo, w)
	return fmt.Sprintf("Commit %.12s has a committer date of %s, before the task was first handed out, %s. If it is your work, give it the date of now: git commit --amend --no-edit --date=now.",
		commit, at.UTC().Format(time.DateTime), since.UTC().Format(time.DateTime)), false, err
}

// isNew reports whether a commit is newer than the first hand-out of a task. Without a
// note about that only the commit's own word counts, and known is false.
func (i *Inspector) isNew(ctx context.Context, repo *git.Repo, w board.Work, commit string) (fresh, known bool, err error) {
	existed, known, err := i.existed(ctx, repo, w, commit)
	if err != nil || existed {
		return false, known, err
	}
	at, err := repo.CommitTime(ctx, commit)
	return err == nil && !at.Before(i.since(repo, w).Add(-clockSkew)), known, err
}

// since is when a task was first handed out: by the clock of this machine, which also dates
// commits, if there is a note about it, else by that of the board.
func (i *Inspector) since(repo *git.Repo, w board.Work) time.Time {
	if at, ok := i.notes(repo).written("tips", noteName(w.First)); ok {
		return at
	}
	return w.Since
}

// existed reports whether the repository had a commit when a task was first handed out, by
// the note about that. known is false if there is none: then only what came after the hand-out of the
// newest attempt is known to be new, since what it had by then may be the work of earlier ones.
func (i *Inspector) existed(ctx context.Context, repo *git.Repo, w board.Work, commit string) (existed, known bool, err error) {
	if existed, known, err = i.had(ctx, repo, w.First, commit); known || err != nil || w.Claim == w.First {
		return existed, known, err
	}
	existed, known, err = i.had(ctx, repo, w.Claim, commit)
	return false, known && !existed, err
}

// noted reports whether it is known what the repository had at the hand-out with a claim.
func (i *Inspector) noted(repo *git.Repo, claim board.Handle) bool {
	return i.notes(repo).has("tips", noteName(claim))
}

// firstHere returns the claim with which a task was first handed out in a clone: earlier ones were elsewhere.
func (i *Inspector) firstHere(repo *git.Repo, w board.Work) board.Handle {
	first := w.Claim
	for _, a := range w.Attempts {
		if a.Handle.Attempt < first.Attempt && i.noted(repo, a.Handle) {
			first = a.Handle
		}
	}
	if i.noted(repo, w.First) {
		return w.First
	}
	return first
}

// had reports whether the repository had a commit at the hand-out with a claim, by the note about
// that; known is false if there is none.
func (i *Inspector) had(ctx context.Context, repo *git.Repo, claim board.Handle, commit string) (had, known bool, err error) {
	tips, known := i.notes(repo).read("tips", noteName(claim))
	if !known {
		return false, false, nil
	}
	fresh, err := repo.IsNew(ctx, commit, tips)
	return err == nil && !fresh, true, err
}

func verifyURL(e board.Evidence) string {
	u, err := url.Parse(strings.TrimSpace(e.Ref))
	if e.Kind == board.EvidencePR && err == nil && u.Hostname() == "" && isNumber(strings.TrimPrefix(e.Ref, "#")) {
		return ""
	}
	if err != nil || u.Hostname() == "" {
		return fmt.Sprintf("%.200q is not a URL with a host.", e.Ref)
	}
	return ""
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
