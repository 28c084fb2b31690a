package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	// none. Work in another repository does not count, nor does one that was made since: who made
	// it may be an agent or another user, and decides what git runs there.
	Common string
	// Root is the top of the worktree that Dir was in at the start, empty if that does not matter.
	Root string
	// Own returns an error if a worktree is not to be used, because it is another user's or others
	// could replace it. repo is nil if it is not made yet. Nil: all are used.
	Own func(root string, repo *git.Repo) error
	// Notes is a directory outside the repository for what has to be remembered about it.
	Notes string
	// Withhold keeps what was changed here: reports do not tell it.
	Withhold bool
	// Runner runs the check.
	Runner *Runner
	// InForce returns the check that decides in Home, nil if there is none. why says why a
	// check that is configured is not in force.
	InForce func(home string) (c *Check, why string, err error)
	// Accepts reports whether a person has accepted a command of the repository's own configuration, as
	// git.Repo.Filters and RemoteCommands list them; nil accepts none.
	Accepts func(home, command string) bool
	// Slots corrects what was seen of an attempt, if that is in a worktree that goes from task to
	// task; nil if there are none.
	Slots func(ctx context.Context, repo *git.Repo, a board.Attempt, s board.Sight) board.Sight

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
	repo, ok := git.Main(i.Common)
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
	if i.Common == "" {
		return nil, nil
	}
	repo, err := git.Find(i.Dir)
	main := i.main()
	switch {
	case main != nil:
		repo, err = main, nil
	case err == nil && i.Root != "" && repo.Root != i.Root:
		return nil, fmt.Errorf("it was in the worktree %.200q when this process started, and is in %.200q now, because of a .git that was made or removed since", i.Root, repo.Root)
	}
	if err == nil && !repo.Of(i.Common) {
		err = errOtherRepo
	}
	if err == nil && i.Own != nil {
		err = i.Own(repo.Root, repo)
		repo.Own = func(w *git.Repo) error { return i.Own(w.Root, w) }
	}
	if err != nil {
		return nil, err
	}
	return repo, nil
}

// NewRepo returns the top of a repository that Dir is in, if it was in none at the start; empty
// otherwise.
func (i *Inspector) NewRepo() string {
	if i.Common != "" {
		return ""
	}
	repo, err := git.Find(i.Dir)
	if err != nil {
		return ""
	}
	return repo.Root
}

// inBare reports whether Dir is in a bare repository, where no work can be.
func (i *Inspector) inBare() bool {
	repo, err := i.repo()
	return err == nil && repo != nil && repo.Bare
}

// Begin notes what the repository has when a task is handed out here: a commit that exists by the
// first time is not the task's work, and neither is a file that lies about. What exists by a later
// time is not the work of that attempt.
func (i *Inspector) Begin(ctx context.Context, w board.Work) error {
	repo, err := i.repo()
	if err != nil || repo == nil {
		return err
	}
	repo.MakeCloneID()
	n := i.notes(repo)
	i.pruned.Do(func() { n.prune(time.Now()) })
	name := noteName(w.Claim)
	if n.has("tips", name) {
		return nil
	}
	tips := repo.Tips()
	for _, tree := range repo.Worktrees() {
		tips = slices.AppendSeq(tips, maps.Keys(tree.MadeHere())) // no ref may have them
	}
	for _, s := range repo.Stashes() {
		tips = append(tips, s.Commit)
	}
	if err := n.write("tips", name, strings.Join(tips, "\n")); err != nil {
		return err
	}
	head, err := repo.Head()
	if err != nil {
		return err
	}
	if err := n.write("begun", name, strings.Join([]string{pathName(repo.Root), cmp.Or(head.Commit, unborn), head.Branch}, " ")); err != nil {
		return err
	}
	if w.Ordered != "" {
		if err := n.write("told", name, w.Ordered); err != nil {
			return err
		}
	}
	if list := names(repo); len(list) <= maxNames {
		if err := n.write("names", name, strings.Join(list, "\n")); err != nil {
			return err
		}
	}
	trees := slices.DeleteFunc(repo.Worktrees(), func(t *git.Repo) bool { return t.Root == repo.Root })
	attempts := map[*git.Repo]int{}
	for _, tree := range trees {
		attempts[tree] = len(i.attemptsIn(repo, w, tree))
	}
	slices.SortStableFunc(trees, func(a, b *git.Repo) int { return attempts[b] - attempts[a] }) // what lies about is noted for some
	if !repo.Bare {
		trees = slices.Insert(trees, 0, repo)
	}
	return i.noteLoose(ctx, repo, trees, w.Claim)
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
	if _, checkedOut, err := tip(repo, w.Place); err == nil && checkedOut && w.Place.Uncommitted > 0 {
		i.noteLeft(ctx, repo, w.Task)
	}
	head, err := repo.Commit(ctx, w.Place.Head) // it may have been stored, and its branch not moved yet
	if err != nil {
		head, _, err = tip(repo, w.Place)
	}
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

// finished returns the other task whose accepted work a branch ends with, empty if there is none
// or something newer. own is set if it was the same worker's.
func (i *Inspector) finished(ctx context.Context, repo *git.Repo, w board.Work, tip string) (task string, own bool, err error) {
	if tip == "" {
		return "", false, nil
	}
	last, err := repo.LastChange(ctx, tip)
	task, own = i.accepted(repo, w, last, "heads")
	return task, own, err
}

// accepted returns the other task in whose accepted work a commit is, by notes of some kinds;
// empty if there is none. own is set if it was the same worker's.
func (i *Inspector) accepted(repo *git.Repo, w board.Work, commit string, kinds ...string) (task string, own bool) {
	for _, kind := range kinds {
		by, ok := i.notes(repo).read(kind, commit)
		if ok && len(by) == 2 && by[0] != w.Task.String() {
			return by[0], by[1] == w.Worker
		}
	}
	return "", false
}

// notes returns the notes about a repository.
func (i *Inspector) notes(repo *git.Repo) notes {
	if i.Notes == "" {
		return notes{}
	}
	return notes{dir: filepath.Join(i.Notes, pathName(repo.Common))}
}

// Run begins to check the work as it is now, or joins the check of it that is under
// way, unless a person has accepted just that without the check. It returns nil if no check is in
// force; why says so if one is configured. The place of the work is one that Place returned.
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
		_, checkedOut, err := tip(repo, w.Place)
		if err == nil && !checkedOut && w.Place.Branch == "" {
			return nil, nil, "", &board.PlaceError{
				Why:  fmt.Sprintf("%.200q is a bare repository for git, by core.bare in its configuration: there is no work there that the check could judge.", repo.Root),
				Next: "report again with the branch that your work is on, checked out in a worktree; if there is none, make one with git worktree add",
			}
		}
		if err == nil && !checkedOut {
			if err := hindered(repo, w.Place.Branch); err != nil {
				return nil, nil, "", err
			}
			return nil, nil, "", &board.PlaceError{
				Why:  fmt.Sprintf("Branch %.80q is not checked out in a worktree, so the check cannot judge it.", w.Place.Branch),
				Next: "check it out, here or with git worktree add, and report again",
			}
		}
		if err := settled(repo); err != nil {
			return nil, nil, "", err
		}
	}
	if repo != nil && !repo.Bare {
		made := *c
		made.written = i.written(repo, w)
		c = &made
	}
	if w.Waived != "" {
		if s, err := c.read(ctx, repo); err == nil && s.Tree == w.Waived {
			return ended(c, Verdict{Result: Waived, Exit: -1, Tree: s.Tree, Base: s.Base}), c, "", nil
		}
	}
	return i.Runner.Check(ctx, i.dir(w), repo, c, w.Claim.String()), c, "", nil
}

// nextElsewhere is what to do about a worktree that is not used.
const nextElsewhere = "check the branch out in another place, or ask a person to mend it, and report again"

// hindered returns a *board.PlaceError if there is a worktree with a branch that cannot be looked at:
// something is under way there, or it is not to be used.
func hindered(repo *git.Repo, branch string) error {
	if tree := repo.Held(branch); tree != nil {
		return settled(tree)
	}
	if err := repo.Unused(branch); err != nil {
		return &board.PlaceError{
			Why:  fmt.Sprintf("Branch %.80q is checked out where work is not looked at: %v.", branch, err),
			Next: nextElsewhere,
		}
	}
	return nil
}

// settled returns a *board.PlaceError if something has been begun in a worktree and not ended:
// then what is there is not what the branch will have.
func settled(repo *git.Repo) error {
	step := repo.UnderWay()
	if step == "" {
		return nil
	}
	return &board.PlaceError{
		Why:  fmt.Sprintf("In %.200q %s is under way.", repo.Root, step),
		Next: "finish or abort it, and report again",
	}
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
	if v.Before != "" {
		detail += "; " + v.Before
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
