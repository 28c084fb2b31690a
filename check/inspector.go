package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	// Runner runs the check.
	Runner *Runner
	// InForce returns the check that decides here, nil if there is none. why says why a
	// check that is configured is not in force.
	InForce func() (c *Check, why string, err error)
}

// errOtherRepo means that the directory belongs to another repository than at the start.
var errOtherRepo = errors.New("the directory belongs to another repository now")

// repo finds the repository of the work; nil outside git.
func (i *Inspector) repo() (*git.Repo, error) {
	repo, err := git.Find(i.Dir)
	if errors.Is(err, git.ErrNoRepo) && i.Common == "" {
		return nil, nil
	}
	if err == nil && i.Common != "" && repo.Common != i.Common {
		err = errOtherRepo
	}
	return repo, err
}

// Begin notes what the repository has when a task is first handed out here: a commit
// that exists by then is not the task's work.
func (i *Inspector) Begin(id board.ID) error {
	repo, err := i.repo()
	if err != nil || repo == nil {
		return err
	}
	root, err := tipsDir(repo)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.OpenFile(id.String(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(repo.Tips(), "\n"))
	return errors.Join(err, f.Close())
}

// End forgets what Begin noted.
func (i *Inspector) End(id board.ID) {
	if repo, err := i.repo(); err == nil && repo != nil {
		if root, err := tipsDir(repo); err == nil {
			_ = root.Remove(id.String())
			root.Close()
		}
	}
}

// tipsDir opens the directory of Begin's notes, which all worktrees share.
func tipsDir(repo *git.Repo) (*os.Root, error) {
	common, err := os.OpenRoot(repo.Common)
	if err != nil {
		return nil, err
	}
	defer common.Close()
	if err := common.MkdirAll("bossman/tips", 0o700); err != nil {
		return nil, err
	}
	return common.OpenRoot("bossman/tips")
}

// maxTips bounds the notes of Begin: 100,000 refs have about 4 MB.
const maxTips = 64 << 20

func tipsOf(repo *git.Repo, id board.ID) ([]string, bool) {
	root, err := tipsDir(repo)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	info, err := root.Stat(id.String())
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxTips {
		return nil, false
	}
	text, err := root.ReadFile(id.String())
	return strings.Fields(string(text)), err == nil
}

// Verify looks at the evidence of a report, as far as it can be looked at. It returns
// the pieces that it has seen, and a sentence for each piece that is false. since is
// when the task was first handed out, and branch a branch that the report names.
func (i *Inspector) Verify(ctx context.Context, id board.ID, since time.Time, branch string, evidence []board.Evidence) (observed []board.Evidence, faults []string, err error) {
	repo, err := i.repo()
	if err != nil {
		return nil, []string{fmt.Sprintf("The work cannot be looked at: %v.", err)}, nil
	}
	for _, e := range evidence {
		var fault string
		seen := false
		switch e.Kind {
		case board.EvidenceCommit:
			if repo == nil {
				continue // there is nothing to look at
			}
			fault, err = verifyCommit(ctx, repo, id, since, branch, e.Ref)
			seen = true
		case board.EvidenceFile:
			fault, seen = i.verifyFile(repo, e.Ref), true
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
// repository, on what is checked out or on the named branch, and newer than the task.
func verifyCommit(ctx context.Context, repo *git.Repo, id board.ID, since time.Time, branch, ref string) (string, error) {
	commit, err := repo.Commit(ctx, ref)
	if errors.Is(err, git.ErrNoCommit) {
		return fmt.Sprintf("%.64q is not a commit of this repository.", ref), nil
	}
	if err != nil {
		return "", err
	}
	head, err := repo.Head()
	if err != nil {
		return "", err
	}
	tips := []string{head.Commit}
	where := "on what is checked out here"
	if branch != "" {
		tips = append(tips, "")
		branch = strings.TrimPrefix(branch, "refs/heads/")
		tips[1] = repo.Branch(branch)
		where = fmt.Sprintf("neither on what is checked out here nor on branch %.80q", branch)
	}
	on := false
	for _, tip := range tips {
		if tip == "" || on {
			continue
		}
		if on, err = repo.Contains(ctx, tip, commit); err != nil {
			return "", err
		}
	}
	if !on && branch == "" {
		return fmt.Sprintf("Commit %.12s is not %s.", commit, where), nil
	}
	if !on {
		return fmt.Sprintf("Commit %.12s is %s.", commit, where), nil
	}
	if tips, ok := tipsOf(repo, id); ok {
		fresh, err := repo.IsNew(ctx, commit, tips)
		if err != nil {
			return "", err
		}
		if !fresh {
			return fmt.Sprintf("Commit %.12s is older than your work: it existed when the task was first handed out.", commit), nil
		}
	}
	at, err := repo.CommitTime(ctx, commit)
	if err == nil && at.Before(since.Add(-clockSkew)) {
		return fmt.Sprintf("Commit %.12s is older than your work: it was made before the task was first handed out.", commit), nil
	}
	return "", err
}

// verifyFile says what is wrong with a path, empty if nothing is: there must be a file
// or a directory in the worktree.
func (i *Inspector) verifyFile(repo *git.Repo, ref string) string {
	dir := i.Dir
	bases := []string{dir}
	if repo != nil && !repo.Bare {
		dir = repo.Root
		bases = append(bases, repo.Root)
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
// way. It returns nil if no check is in force; why says so if one is configured.
func (i *Inspector) Run(ctx context.Context) (run *Run, c *Check, why string, err error) {
	c, why, err = i.InForce()
	if c == nil || err != nil {
		return nil, nil, why, err
	}
	repo, err := i.repo()
	if err != nil {
		return ended(c, Verdict{Result: NotJudged, Exit: -1, Why: err.Error()}), c, "", nil
	}
	return i.Runner.Check(ctx, i.Dir, repo, c), c, "", nil
}

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
