package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// An Inspector looks at the work of one directory, so that a report of done does not
// rest on the worker's word alone.
type Inspector struct {
	// Dir is where the agent works.
	Dir string
	// Common is the git directory that Dir belonged to at the start, empty if there was
	// none. Work in another repository does not count.
	Common string
	// Notes is a directory outside the repository for what has to be remembered about it.
	Notes string
	// Runner runs the check.
	Runner *Runner
	// InForce returns the check that decides in Home, nil if there is none. why says why a
	// check that is configured is not in force.
	InForce func(home string) (c *Check, why string, err error)

	pruned sync.Once
}

// errOtherRepo means that the directory belongs to another repository than at the start.
var errOtherRepo = errors.New("the directory belongs to another repository now")

// main returns the main worktree, or the bare repository, if Dir is gone: it may have been
// another worktree. Otherwise it returns nil.
func (i *Inspector) main() *git.Repo {
	if _, err := os.Stat(i.Dir); !errors.Is(err, fs.ErrNotExist) || i.Common == "" {
		return nil
	}
	repo, ok := git.At(strings.TrimSuffix(i.Common, string(filepath.Separator)+".git"))
	if !ok {
		return nil
	}
	return repo
}

// Home is where the project's configuration is: Dir, as long as it is there.
func (i *Inspector) Home() string {
	if main := i.main(); main != nil {
		return main.Root
	}
	return i.Dir
}

// repo finds the repository of the work; nil outside git.
func (i *Inspector) repo() (*git.Repo, error) {
	repo, err := git.Find(i.Dir)
	if errors.Is(err, git.ErrNoRepo) && i.Common == "" {
		return nil, nil
	}
	if main := i.main(); main != nil {
		repo, err = main, nil
	}
	if err == nil && i.Common != "" && repo.Common != i.Common {
		err = errOtherRepo
	}
	return repo, err
}

// Begin notes what the repository has when a task is first handed out here: a commit
// that exists by then is not the task's work, and neither is a file that lies about.
func (i *Inspector) Begin(ctx context.Context, w board.Work) error {
	repo, err := i.repo()
	if err != nil || repo == nil {
		return err
	}
	n := i.notes(repo)
	i.pruned.Do(func() { n.prune(time.Now()) })
	if n.has("tips", tipsName(w)) {
		return nil // what is there now may be the work of an earlier attempt
	}
	if err := n.write("tips", tipsName(w), strings.Join(repo.Tips(), "\n")); err != nil {
		return err
	}
	head, err := repo.Head()
	if err != nil {
		return err
	}
	if err := n.write("begun", tipsName(w), cmp.Or(head.Commit, unborn)+" "+head.Branch); err != nil {
		return err
	}
	loose, err := i.loose(ctx, repo)
	if err != nil || loose == "" {
		return err
	}
	return n.write("loose", tipsName(w), loose)
}

// loose is a note about the files of a worktree that are not committed.
func (i *Inspector) loose(ctx context.Context, repo *git.Repo) (string, error) {
	if repo.Bare {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	sum, err := repo.Loose(ctx)
	if err != nil {
		return "", err
	}
	return pathName(repo.Root) + " " + sum, nil
}

// End notes what an accepted report had as its work: the commits that are its evidence, which
// are no evidence for the work of others, and the commit that its work ends with.
func (i *Inspector) End(ctx context.Context, w board.Work, observed []board.Evidence) {
	repo, err := i.at(w.Place)
	if err != nil || repo == nil {
		return
	}
	// Without a note the report stands, too.
	by := w.Task.String() + " " + w.Worker
	for _, e := range observed {
		if e.Kind == board.EvidenceCommit {
			_ = i.notes(repo).write("commits", e.Ref, by)
		}
	}
	head, _, err := tip(repo, w.Place)
	if err != nil || head == "" {
		return
	}
	if head, err = repo.LastChange(ctx, head); err != nil {
		return
	}
	if fresh, known, err := i.isNew(ctx, repo, w, head); err == nil && fresh && known {
		_ = i.notes(repo).write("heads", head, by)
	}
}

// finished returns the task of another worker whose accepted work a branch ends with, empty if
// there is none or something newer.
func (i *Inspector) finished(ctx context.Context, repo *git.Repo, w board.Work, tip string) (string, error) {
	if tip == "" {
		return "", nil
	}
	last, err := repo.LastChange(ctx, tip)
	return i.othersNote(repo, w, "heads", last), err
}

// othersNote returns the task of a note about a commit, if it is another worker's.
func (i *Inspector) othersNote(repo *git.Repo, w board.Work, kind, commit string) string {
	by, ok := i.notes(repo).read(kind, commit)
	if !ok || len(by) != 2 || by[0] == w.Task.String() || by[1] == w.Worker {
		return ""
	}
	return by[0]
}

// notes returns the notes about a repository.
func (i *Inspector) notes(repo *git.Repo) notes {
	if i.Notes == "" {
		return notes{}
	}
	return notes{dir: filepath.Join(i.Notes, pathName(repo.Common))}
}

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
		other, err := i.finished(ctx, repo, w, head)
		if err != nil {
			return nil, nil, err
		}
		if other != "" && (w.Place.Named || !checkedOut) {
			return nil, nil, &board.PlaceError{
				Why:  fmt.Sprintf("Branch %.80q is another agent's work: it ends with the accepted commit of %.60q, and has nothing newer.", w.Place.Branch, other),
				Next: "report again with the branch that your work is on", Foreign: true,
			}
		}
	}
	for _, e := range evidence {
		var fault string
		seen := false
		switch e.Kind {
		case board.EvidenceCommit:
			if repo == nil {
				continue // there is nothing to look at
			}
			fault, seen, err = i.verifyCommit(ctx, repo, w, e.Ref)
			if fault == "" && err == nil && repo.Fetched(e.Ref) {
				e.Detail = strings.TrimPrefix(e.Detail+"; it was not made in this clone", "; ")
			}
		case board.EvidenceFile:
			fault, seen = i.verifyFile(repo, i.dir(w), e.Ref), true
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
// repository and on the branch of the work, be newer than the task, change something, and
// be nobody else's evidence. It is not seen if it is not known what the repository had
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
	if !on && checkedOut {
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
		return "", false, err
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
	if other := i.othersNote(repo, w, "commits", commit); other != "" {
		return fmt.Sprintf("Commit %.12s is another agent's work: it is the evidence of %.60q.", commit, other), false, nil
	}
	return "", known, nil
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
	return fmt.Sprintf("Commit %.12s has a committer date of %s, before the task was first handed out, %s. If it is your work, give it the date of now: git commit --amend --no-edit --date=now.",
		commit, at.UTC().Format(time.DateTime), w.Since.UTC().Format(time.DateTime)), false, err
}

// isNew reports whether a commit is newer than the first hand-out of a task. Without a
// note about that only the commit's own word counts, and known is false.
func (i *Inspector) isNew(ctx context.Context, repo *git.Repo, w board.Work, commit string) (fresh, known bool, err error) {
	existed, known, err := i.existed(ctx, repo, w, commit)
	if err != nil || existed {
		return false, known, err
	}
	at, err := repo.CommitTime(ctx, commit)
	return err == nil && !at.Before(w.Since.Add(-clockSkew)), known, err
}

// existed reports whether the repository had a commit when a task was first handed out, by
// the note about that; known is false if there is none.
func (i *Inspector) existed(ctx context.Context, repo *git.Repo, w board.Work, commit string) (existed, known bool, err error) {
	tips, known := i.notes(repo).read("tips", tipsName(w))
	if !known {
		return false, false, nil
	}
	fresh, err := repo.IsNew(ctx, commit, tips)
	return err == nil && !fresh, true, err
}

// verifyFile says what is wrong with a path, empty if nothing is: there must be a file
// or a directory in the worktree.
func (i *Inspector) verifyFile(repo *git.Repo, dir, ref string) string {
	bases := []string{dir}
	if repo != nil && !repo.Bare {
		dir = repo.Root
		bases = []string{i.Dir, repo.Root}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Sprintf("The directory of the work cannot be read: %v.", err)
	}
	defer root.Close()
	for _, base := range bases {
		path := filepath.FromSlash(strings.TrimSpace(ref))
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil && filepath.IsLocal(rel) && rel != "." && strings.Split(filepath.ToSlash(rel), "/")[0] != ".git" {
			if _, err := root.Stat(rel); err == nil {
				return ""
			}
		}
	}
	return fmt.Sprintf("There is no file %.200q in this worktree.", ref)
}

func verifyURL(e board.Evidence) string {
	u, err := url.Parse(strings.TrimSpace(e.Ref))
	if e.Kind == board.EvidencePR && err == nil && u.Host == "" && isNumber(strings.TrimPrefix(e.Ref, "#")) {
		return ""
	}
	if err != nil || u.Host == "" {
		return fmt.Sprintf("%.200q is not a URL with a host.", e.Ref)
	}
	return ""
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Run begins to check the work as it is now, or joins the check of it that is under
// way. It returns nil if no check is in force; why says so if one is configured. The place
// of the work is one that Place returned.
func (i *Inspector) Run(ctx context.Context, w board.Work) (run *Run, c *Check, why string, err error) {
	c, why, err = i.InForce(i.Home())
	if c == nil || err != nil {
		return nil, nil, why, err
	}
	repo, err := i.at(w.Place)
	if err != nil {
		return ended(c, Verdict{Result: NotJudged, Exit: -1, Why: err.Error()}), c, "", nil
	}
	if repo != nil {
		if _, checkedOut, err := tip(repo, w.Place); err == nil && !checkedOut {
			return nil, nil, "", &board.PlaceError{
				Why:  fmt.Sprintf("Branch %.80q is not checked out in a worktree, so the check cannot judge it.", w.Place.Branch),
				Next: "check it out, here or with git worktree add, and report again",
			}
		}
	}
	return i.Runner.Check(ctx, i.dir(w), repo, c), c, "", nil
}

// dir is the directory of the work, which is not that of the inspector if a report comes
// from elsewhere.
func (i *Inspector) dir(w board.Work) string { return cmp.Or(w.Place.Dir, i.Dir) }

// Evidence is a green verdict as evidence.
func (v *Verdict) Evidence(c *Check) board.Evidence {
	detail := fmt.Sprintf("exit 0 in %v on tree %.12s", v.Took.Round(100*time.Millisecond), v.Tree)
	if v.Flaky {
		detail += "; it was red before on the same tree"
	}
	return board.Evidence{Kind: board.EvidenceTests, Ref: c.String(), Detail: detail}
}

// Last returns the last lines of the output, at most n bytes.
func (v *Verdict) Last(n int) string {
	lines := strings.Split(strings.TrimRight(v.Tail, "\n"), "\n")
	var out []string
	for _, line := range slices.Backward(lines) {
		if len(line) >= n { // the end of a long line is better than nothing
			if len(out) == 0 {
				out = append(out, strings.ToValidUTF8(line[len(line)-n:], ""))
			}
			break
		}
		n -= len(line) + 1
		out = append(out, line)
	}
	slices.Reverse(out)
	return strings.Join(out, "\n")
}
