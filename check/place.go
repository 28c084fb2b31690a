package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// NextInstall is what to do if there is no git, or one that is too old.
const NextInstall = "ask a person to add the directory of git to PATH (2.32 or newer), for bossman mcp in the MCP client's configuration; then reconnect and report again"

// gitTimeout is how long git may take to describe a worktree.
const gitTimeout = 2 * time.Second

// Here is the place of the inspector's own directory.
func (i *Inspector) Here(ctx context.Context) board.Where {
	repo, err := i.repo()
	if err != nil {
		repo = nil
	}
	return i.where(ctx, repo)
}

// stand is a worktree without what it has checked out; nil is the inspector's directory,
// outside git.
func (i *Inspector) stand(repo *git.Repo) board.Where {
	host, _ := os.Hostname()
	if repo == nil {
		return board.Where{Host: host, Dir: i.Dir}
	}
	return board.Where{Host: host, Clone: repo.CloneID(), Dir: repo.Root}
}

// where describes a worktree; nil is the inspector's directory, outside git. In a bare repository
// no work is done on the branch of its HEAD.
func (i *Inspector) where(ctx context.Context, repo *git.Repo) board.Where {
	w := i.stand(repo)
	if repo == nil || repo.Bare {
		return w
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	if s, err := repo.Status(ctx); err == nil {
		w.Branch, w.Head, w.Uncommitted = s.Branch, s.Head, s.Uncommitted
	}
	return w
}

// Place returns where the work of a claim is now. It is the worktree where the claim was
// taken, from wherever the worker reports, until the worker is told or names another branch:
// then it is where that is checked out. If the branch is checked out nowhere, only the branch
// changes.
func (i *Inspector) Place(ctx context.Context, w board.Work, branch string) (board.Where, error) {
	at, err := i.place(ctx, w, branch)
	if err != nil || at.Dir == "" {
		return at, err
	}
	if repo, err := i.at(at); err == nil && repo != nil && repo.Root == repo.Room() {
		return w.Place, &board.PlaceError{
			Why:  fmt.Sprintf("In %.200q work is judged before it lands: what is there is moved away.", at.Dir),
			Next: "check your branch out in another worktree, with git worktree add, and report again with its name",
		}
	}
	return at, nil
}

func (i *Inspector) place(ctx context.Context, w board.Work, branch string) (board.Where, error) {
	repo, err := i.repo()
	if err != nil {
		return w.Place, &board.PlaceError{Why: fmt.Sprintf("The work cannot be looked at: %v.", err), Next: "restore the repository, and report again"}
	}
	if repo == nil {
		return i.outside(ctx, w)
	}
	if err := git.Installed(); err != nil {
		return w.Place, &board.PlaceError{Why: fmt.Sprintf("The work cannot be looked at: %v.", err), Next: NextInstall}
	}
	branch = strings.TrimPrefix(strings.TrimSpace(branch), "refs/heads/")
	if branch == "" && w.Place.Ordered != "" && !w.Place.Named {
		return i.ordered(ctx, repo, w)
	}
	own, err := i.last(repo, w)
	if branch == "" && w.Place.Named && w.Place.Branch != "" {
		return i.named(ctx, repo, own, w)
	}
	if branch == "" {
		if err != nil {
			return w.Place, err
		}
		at := i.where(ctx, own)
		if w.Place.Branch == "" || at.Branch == w.Place.Branch {
			return at, nil
		}
		// A branch with new work that the worker made in place is what it works on, also if it
		// leaves it.
		w.Place.Named, err = i.madeHere(ctx, own, w, w.Place.Branch, w.Place.Head)
		if err == nil && w.Place.Named {
			return i.named(ctx, repo, own, w)
		}
		if err == nil {
			at.Named, err = i.madeHere(ctx, own, w, at.Branch, "")
		}
		if err != nil {
			return w.Place, err
		}
		return at, nil
	}
	dir := ""
	if own != nil {
		dir = own.Root
	}
	tree := repo.Worktree(branch, dir)
	switch {
	case tree == nil && repo.Branch(branch) == "":
		return w.Place, &board.PlaceError{
			Why:  fmt.Sprintf("There is no branch %.80q in this repository.", branch),
			Next: "report again with the name of the branch that your work is on",
		}
	case tree == nil && err != nil && w.Land == "":
		return w.Place, err
	case tree == nil && w.Land != "":
		return i.unattended(ctx, repo, own, w, branch, notCheckedOut(repo, branch))
	case tree == nil && w.Place.Away():
		return w.Place, notCheckedOut(repo, branch)
	case tree == nil:
		at := i.where(ctx, own)
		at.Branch, at.Head, at.Uncommitted, at.Named = branch, "", 0, true
		return at, nil
	}
	at := i.where(ctx, tree)
	if tree.Root != dir && isTarget(w.Land, branch) {
		return w.Place, &board.PlaceError{
			Why:  fmt.Sprintf("Work lands on branch %.80q: what is in %.200q is not yours alone.", branch, tree.Root),
			Next: "report again with a branch of your own that your work is on",
		}
	}
	at.Named = tree.Root != dir || w.Place.Named || w.Place.Away()
	if tree.Root != dir || w.Place.Away() {
		err = free(w, at)
	}
	if err != nil {
		return w.Place, err
	}
	return at, nil
}

// madeHere reports whether a branch has new work of a task. last is the commit that it was last
// seen at, if it is known: the branch may be gone. The branch that the task was first handed out
// on may have been moved by others: it counts if its commit was made in this worktree.
func (i *Inspector) madeHere(ctx context.Context, repo *git.Repo, w board.Work, branch, last string) (bool, error) {
	begun, first := i.begun(repo, w.First)
	if begun == "" {
		begun, first = i.begun(repo, w.Claim)
	}
	commit := repo.Branch(branch)
	if commit == "" && last != "" {
		var err error
		if commit, err = repo.Commit(ctx, last); err != nil && !errors.Is(err, git.ErrNoCommit) {
			return false, err
		}
	}
	if begun == "" || commit == "" || branch == first && !repo.Had(commit) {
		return false, nil
	}
	fresh, _, err := i.isNew(ctx, repo, w, commit)
	return fresh, err
}

// Moved reports whether another branch is checked out at a place than the one that is known of
// it. It only reads files.
func (i *Inspector) Moved(at board.Where) bool {
	repo, err := i.repo()
	if err != nil || repo == nil || at.Dir == "" || at.Named || at.Away() || !at.SameClone(i.stand(repo)) {
		return false
	}
	own, err := repo.At(at.Dir)
	if err != nil {
		return false
	}
	head, err := own.Head()
	return err == nil && head.Branch != "" && head.Branch != at.Branch
}

// named is Place for a worker that has named its branch before. own is the worktree where its
// work was last, nil if it is gone.
func (i *Inspector) named(ctx context.Context, repo, own *git.Repo, w board.Work) (board.Where, error) {
	branch := w.Place.Branch
	if tree := repo.Worktree(branch, w.Place.Dir); tree != nil {
		return i.in(ctx, w, tree, true)
	}
	// It may have been merged.
	if own != nil {
		head, err := own.Head()
		if err != nil {
			return w.Place, err
		}
		commit := repo.Branch(branch)
		if commit == "" {
			if commit, err = repo.Commit(ctx, w.Place.Head); err != nil && !errors.Is(err, git.ErrNoCommit) {
				return w.Place, err
			}
		}
		if commit != "" && head.Commit != "" {
			merged, err := repo.Contains(ctx, head.Commit, commit)
			if err != nil {
				return w.Place, err
			}
			if at := i.where(ctx, own); merged && free(w, at) == nil {
				return at, nil
			}
		}
	}
	if err := hindered(repo, branch); err != nil {
		return w.Place, err
	}
	return i.unattended(ctx, repo, own, w, branch, &board.PlaceError{
		Why:  fmt.Sprintf("Your work was last seen on branch %.80q. It is not checked out in a worktree now.", branch),
		Next: "report again with the branch that your work is on, checked out in a worktree",
	})
}

// unattended is Place for a branch that is checked out nowhere: in a project that lands its work it is that branch, if it has
// commits since the task was first handed out, because they can be landed from there. Otherwise the error is not. own is the
// worktree where the work was last, nil if it is gone.
func (i *Inspector) unattended(ctx context.Context, repo, own *git.Repo, w board.Work, branch string, not error) (board.Where, error) {
	commit := repo.Branch(branch)
	if w.Land == "" || commit == "" {
		return w.Place, not
	}
	if err := hindered(repo, branch); err != nil {
		return w.Place, err
	}
	fresh, known, err := i.isNew(ctx, repo, w, commit)
	if err == nil && known && !fresh { // whatever date it has
		var existed bool
		existed, _, err = i.existed(ctx, repo, w, commit)
		fresh = !existed
	}
	if err != nil {
		return w.Place, err
	}
	if there, err := landed(ctx, repo, w, commit); err != nil {
		return w.Place, err
	} else if there || !fresh {
		if e, ok := errors.AsType[*board.PlaceError](not); ok {
			e.Why += " It has nothing new since the task was first handed out."
		}
		return w.Place, not
	}
	if own == nil {
		own = repo
	}
	at := i.stand(own)
	at.Branch, at.Head, at.Named = branch, git.Short(commit), true
	return at, nil
}

// ordered is Place for a worker that was told to work on a branch, and names none.
func (i *Inspector) ordered(ctx context.Context, repo *git.Repo, w board.Work) (board.Where, error) {
	branch := w.Place.Ordered
	tree := repo.Worktree(branch, w.Place.Dir)
	if tree == nil {
		// The worker may have gone on in its worktree on another branch, or renamed this one.
		if left := repo.Left(branch); left != nil && left.Root != w.Place.Dir {
			head, err := left.Head()
			if err != nil {
				return w.Place, err
			}
			made, err := i.madeHere(ctx, left, w, head.Branch, "")
			if err != nil {
				return w.Place, err
			}
			if made {
				return i.in(ctx, w, left, true)
			}
		}
	}
	switch {
	case tree == nil && repo.Branch(branch) == "":
		return w.Place, &board.PlaceError{
			Why:  fmt.Sprintf("You were told to work on branch %.80q. There is no such branch.", branch),
			Next: fmt.Sprintf("if your work is on another branch, report again and name that; else make the worktree with git worktree add -b %s PATH%s, move your work to it, and report again", visible.ShellWord(branch), begins(ctx, repo, w)),
		}
	case tree == nil:
		own, err := i.last(repo, w)
		if err != nil {
			own = nil
		}
		return i.unattended(ctx, repo, own, w, branch, notCheckedOut(repo, branch))
	}
	return i.in(ctx, w, tree, tree.Root != w.Place.Dir)
}

// in is Place for work in a worktree in which no other agent may be.
func (i *Inspector) in(ctx context.Context, w board.Work, tree *git.Repo, named bool) (board.Where, error) {
	at := i.where(ctx, tree)
	at.Named = named
	if err := free(w, at); err != nil {
		return w.Place, err
	}
	return at, nil
}

// notCheckedOut is the error for the branch of a worker that was told to work elsewhere than
// where it took the task.
func notCheckedOut(repo *git.Repo, branch string) error {
	if err := hindered(repo, branch); err != nil {
		return err
	}
	return &board.PlaceError{
		Why:  fmt.Sprintf("Branch %.80q is not checked out in a worktree.", branch),
		Next: "check it out with git worktree add, and report again; if your work is on another branch, name that",
	}
}

// beside reports whether a claim is one on another task than some work's, whose worker is at work in a
// place, or was told to work on its branch.
func beside(o board.Claim, w board.Work, at board.Where) bool {
	told := o.Where.Ordered != "" && o.Where.Ordered == at.Branch && o.Where.SameClone(at)
	return o.Task != w.Task && (told || o.Where.In(at))
}

// free returns an error if another agent works in a place.
func free(w board.Work, at board.Where) error {
	for _, o := range w.Others {
		if beside(o, w, at) {
			return &board.PlaceError{
				Why:  fmt.Sprintf("Branch %.80q is checked out in %.200q, where another agent works on %v.", at.Branch, at.Dir, o.Task),
				Next: "put your work on a branch of its own, and name that",
			}
		}
	}
	return nil
}

// outside is Place for an inspector outside git: the work is where the claim was taken, if
// that was outside git too.
func (i *Inspector) outside(ctx context.Context, w board.Work) (board.Where, error) {
	at := i.where(ctx, nil)
	if w.Place.Dir == "" || w.Place.Dir == at.Dir { // machines change their names, and nothing else tells them apart
		return at, nil
	}
	_, err := git.Find(w.Place.Dir)
	info, gone := os.Stat(w.Place.Dir)
	if !w.Place.SameClone(at) || !errors.Is(err, git.ErrNoRepo) || gone != nil || !info.IsDir() {
		return w.Place, &board.PlaceError{
			Why:  fmt.Sprintf("Your work is in %.200q on %.80q, and cannot be looked at from %.200q.", w.Place.Dir, w.Place.Host, at.Dir),
			Next: "report from there",
		}
	}
	at.Dir = w.Place.Dir
	return at, nil
}

// last returns the worktree where the work of a claim was last. repo is the inspector's.
func (i *Inspector) last(repo *git.Repo, w board.Work) (*git.Repo, error) {
	here := i.stand(repo)
	same := w.Place.SameClone(here)
	if w.Place.Dir == "" || same && w.Place.Dir == repo.Root {
		return repo, nil
	}
	where := fmt.Sprintf("in %.200q", w.Place.Dir)
	if w.Place.Host != here.Host {
		where += fmt.Sprintf(" on %.80q", w.Place.Host)
	}
	if same {
		if other, err := repo.At(w.Place.Dir); err == nil {
			return other, nil
		}
		if tree := repo.Worktree(w.Place.Branch, ""); tree != nil && w.Place.Branch != "" && w.Place.Host != here.Host {
			return tree, nil // its directory has another name there
		}
		if err := repo.Unused(w.Place.Branch); err != nil {
			return nil, &board.PlaceError{Why: fmt.Sprintf("Your work was last seen %s, where work is not looked at: %v.", where, err), Next: nextElsewhere}
		}
	}
	if w.Place.Dir == repo.Root {
		return nil, &board.PlaceError{
			Why:  fmt.Sprintf("Your work was last seen %s in another clone: this one is on another machine, or was made since.", where),
			Next: "report from there; if your work is here, report again and name its branch",
		}
	}
	return nil, &board.PlaceError{
		Why:  fmt.Sprintf("Your work was last seen %s, and that is not a worktree of this repository, %.200q.", where, repo.Root),
		Next: "report from there; if your branch is checked out in another worktree, report again and name it; if it is in none, check it out with git worktree add",
	}
}

// at returns the worktree of a place that Place returned; nil outside git.
func (i *Inspector) at(p board.Where) (*git.Repo, error) {
	repo, err := i.repo()
	if err != nil || repo == nil || repo.Root == p.Dir {
		return repo, err
	}
	return repo.At(p.Dir)
}

// tip returns the commit that the work of a place ends with, and whether its branch is
// checked out there.
func tip(repo *git.Repo, p board.Where) (commit string, checkedOut bool, err error) {
	head, err := repo.Head()
	if err != nil || p.Branch == "" || p.Branch == head.Branch {
		return head.Commit, !repo.Bare, err
	}
	if commit = repo.Branch(p.Branch); commit == "" {
		return "", false, errors.New("the branch is gone")
	}
	return commit, false, nil
}

// OnBranch returns a *board.PlaceError if the newest commit of a task is on no branch, so that git
// deletes it some day. The place of the work is one that Place returned.
func (i *Inspector) OnBranch(ctx context.Context, w board.Work) error {
	repo, err := i.at(w.Place)
	if err != nil || repo == nil || w.Place.Branch != "" {
		return err
	}
	head, _, err := tip(repo, w.Place)
	if err != nil || head == "" {
		return err
	}
	if fresh, _, err := i.isNew(ctx, repo, w, head); err != nil || !fresh {
		return err
	}
	if named, err := repo.Named(ctx, head); err != nil || named {
		return err
	}
	return &board.PlaceError{
		Why:  fmt.Sprintf("Commit %.12s in %.200q is on no branch: nothing would keep your work.", head, repo.Root),
		Next: fmt.Sprintf("give it a branch there, such as git switch -c %v, and report again", w.Task),
	}
}
