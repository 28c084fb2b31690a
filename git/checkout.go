package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/internal/plaindir"
	"github.com/bossman-dev/bossman/proc"
)

// lockPause is the pause between two attempts at the lock of a repository.
const lockPause = 20 * time.Millisecond

// lock waits for the repository's lock for changes of its worktrees: git fails if two are made
// at the same time.
func (r *Repo) lock(ctx context.Context) (unlock func(), err error) {
	return r.lockFile(ctx, "worktrees.lock")
}

// lockFile waits for one of the repository's locks among Bossman's own files.
func (r *Repo) lockFile(ctx context.Context, name string) (unlock func(), err error) {
	if err := r.writable(); err != nil {
		return nil, err
	}
	if err := MakeDir(filepath.Join(r.Common, "bossman")); err != nil {
		return nil, err
	}
	dir, err := plaindir.Make(r.Common, "bossman")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for {
		unlock, ok, err := proc.TryLockIn(dir, name)
		if err != nil || ok {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPause):
		}
	}
}

// AddWorktree makes a worktree in a directory that is empty or not there, with a commit checked
// out and no branch. It runs no hook, and of the repository's own filters those that accept
// accepts; if another one applies to a file, the error is a *FilterError.
func (r *Repo) AddWorktree(ctx context.Context, dir, commit string, accept func(filter string) bool) (*Repo, error) {
	commit, err := r.Commit(ctx, commit)
	if err != nil {
		return nil, err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	w, err := r.link(ctx, dir, commit)
	unlock()
	if err != nil {
		return nil, err
	}
	if err := w.checkout(ctx, "", commit, false, accept, 0); err != nil {
		return nil, errors.Join(err, os.RemoveAll(w.Dir), os.RemoveAll(dir))
	}
	return w, nil
}

// Checkout makes the worktree exactly a commit, on a branch that it makes or moves there, or on
// none if branch is empty. Changes are lost, and files that git does not know; with ignored also
// those that it ignores. What is ignored by files that the commit does not have counts as not known. What Inner lists is moved to a directory beside the worktree, whose name
// begins with that of the worktree and .inner-. A submodule that is
// checked out is made its commit in the same way; it is emptied, as if nobody had checked it out,
// if that cannot be done, for example because the commit has to be fetched. What runs is as for
// AddWorktree.
func (r *Repo) Checkout(ctx context.Context, branch, commit string, ignored bool, accept func(filter string) bool) error {
	if r.Bare {
		return fmt.Errorf("%w: no files are checked out in %q", ErrNoRepo, r.Root)
	}
	if err := r.there(); err != nil {
		return err
	}
	if err := r.setAside(ctx); err != nil {
		return err
	}
	return r.checkout(ctx, branch, commit, ignored, accept, 0)
}

// checkout is Checkout for a repository that lies in depth others, as a submodule.
func (r *Repo) checkout(ctx context.Context, branch, commit string, ignored bool, accept func(filter string) bool, depth int) error {
	if r.Bare {
		return fmt.Errorf("%w: no files are checked out in %q", ErrNoRepo, r.Root)
	}
	if err := r.writable(); err != nil {
		return err
	}
	if err := r.abandon(); err != nil {
		return err
	}
	if err := r.unhide(ctx); err != nil {
		return err
	}
	args := []string{"checkout", "--quiet", "--force", "--no-recurse-submodules", "--detach"}
	var refs []string
	if branch != "" {
		if !validRef("refs/heads/" + branch) {
			return fmt.Errorf("%.80q is no name of a branch", branch)
		}
		for _, w := range r.Worktrees() {
			if head, err := w.Head(); err == nil && head.Branch == branch && w.Dir != r.Dir {
				return fmt.Errorf("branch %.80q is checked out in %q", branch, w.Root)
			}
		}
		args = append(args[:len(args)-1], "--no-track", "--ignore-other-worktrees", "-B", branch)
		refs = append(refs, "refs/heads/"+branch)
	}
	if err := r.fill(ctx, accept, refs, append(args, commit, "--")...); err != nil {
		return err
	}
	dropped, err := r.dropIgnores(ctx)
	if err == nil && dropped && depth == 0 {
		err = r.setAside(ctx) // what was ignored until now
	}
	if err != nil {
		return err
	}
	clean := []string{"clean", "--quiet", "-d", "--force", "--force"} // the second one for repositories inside
	if ignored {
		clean = append(clean, "-x")
	}
	if _, err := r.write(ctx, call{args: clean}); err != nil {
		return err
	}
	if err := r.dropSpecial(ctx); err != nil {
		return err
	}
	links, err := r.links(ctx, nil)
	if err != nil {
		return err
	}
	for _, l := range links {
		if !r.hasDir(l.path) {
			continue
		}
		if sub := r.submodule(l.path); sub != nil && depth < maxNesting {
			if err := sub.checkout(ctx, "", l.object, ignored, accept, depth+1); err == nil {
				continue
			} else if ctx.Err() != nil {
				return err
			}
		}
		if err := r.empty(l.path); err != nil {
			return fmt.Errorf("submodule %q: %w", l.path, err)
		}
	}
	return nil
}

// empty removes what is in a directory of the worktree, and follows no symbolic link that is put in its
// place or above it meanwhile.
func (r *Repo) empty(path string) error {
	dir, err := r.openPlain(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := plaindir.Entries(dir)
	for _, e := range entries {
		err = errors.Join(err, dir.RemoveAll(e.Name()))
	}
	return err
}

// OpenDir opens the git directory of the worktree, or a directory in it, without following symbolic links below
// that of the repository.
func (r *Repo) OpenDir(names ...string) (*os.Root, error) {
	rel, err := filepath.Rel(r.Common, r.Dir)
	var root *os.Root
	switch {
	case err != nil || !filepath.IsLocal(rel): // the repository has another path by way of a symbolic link
		root, err = plaindir.Open(r.Dir)
	default:
		if root, err = os.OpenRoot(r.Common); rel != "." {
			names = append(strings.Split(filepath.ToSlash(rel), "/"), names...)
		}
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return plaindir.Below(root, false, names...)
}

// openPlain opens a directory of the worktree without following symbolic links.
func (r *Repo) openPlain(path string) (*os.Root, error) {
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if path == "." {
		return root.OpenRoot(".")
	}
	return plaindir.Below(root, false, strings.Split(path, "/")...)
}

// unhide makes git look at files again that it was told not to look at: their changes would stay,
// and those that are not there would stay away. A checkout skips those again that are outside a
// sparse checkout.
func (r *Repo) unhide(ctx context.Context) error {
	staged, err := r.staged(ctx, nil)
	if err != nil {
		return err
	}
	f := r.flagged(staged)
	lines := f.flags()
	lines["--no-skip-worktree"] += f.absent
	lines["--index-info"] = f.set
	for option, paths := range lines {
		args := []string{"update-index", "-z", option}
		if option != "--index-info" {
			args = append(args, "--stdin")
		}
		if paths == "" {
			continue
		}
		if _, err := r.write(ctx, call{args: args, stdin: paths}); err != nil {
			return err
		}
	}
	return nil
}

// abandon forgets a merge, a rebase and the like that was under way in the worktree, and the lock
// of an index that nobody writes any more.
func (r *Repo) abandon() error {
	for _, name := range []string{
		"index.lock", "HEAD.lock", "rebase-merge", "rebase-apply", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE",
		"CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer", "BISECT_LOG", "BISECT_START",
	} {
		if err := os.RemoveAll(filepath.Join(r.Dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// fill runs a command that checks files out, and writes some refs.
func (r *Repo) fill(ctx context.Context, accept func(filter string) bool, refs []string, args ...string) error {
	filters, err := r.filters(ctx)
	if err != nil {
		return err
	}
	set, refused := filters.accepted(accept, fills)
	memory := r.readMemory() + addMemory
	if len(filters.own)+len(filters.others) > 0 {
		if err := r.filterStores(filters); err != nil {
			return err
		}
		memory += filterMemory
	}
	_, err = r.write(ctx, call{args: args, set: set, memory: memory}, refs...)
	if err != nil && ctx.Err() == nil {
		err = refusal(err, refused)
		if _, ok := errors.AsType[*Error](err); ok && strings.Contains(err.Error(), "promisor remote") && r.partial() {
			err = &HistoryError{"this clone is partial, and does not have all files of the commit: " + refetch, err}
		}
	}
	return err
}

// CommitTree stores a commit of a tree with the identity of git's configuration, or else that of
// Bossman on this machine. It runs no hook, and does not sign. The tree of a snapshot is committed as
// Store does it, but what is only in submodules is not kept.
func (r *Repo) CommitTree(ctx context.Context, tree string, parents []string, message string) (string, error) {
	s := Snapshot{Tree: tree}
	if len(parents) > 0 {
		s.Base = parents[0]
	}
	tree, _, err := r.mergeable(ctx, s, "", message)
	if err != nil {
		return "", err
	}
	return r.commitTree(ctx, tree, parents, message)
}

func (r *Repo) commitTree(ctx context.Context, tree string, parents []string, message string) (string, error) {
	args := []string{"commit-tree", "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	env, err := r.identity(ctx)
	if err != nil {
		return "", err
	}
	out, err := r.write(ctx, call{args: append(args, tree), env: env, stdin: message})
	return strings.TrimSpace(out), err
}

// identity returns the variables that name Bossman as an author, if git's configuration names
// nobody.
func (r *Repo) identity(ctx context.Context) ([]string, error) {
	f, err := r.now(ctx)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"user.name", "user.email"} {
		if !slices.ContainsFunc(f.lines, func(l line) bool { return l.key == key }) {
			host, _ := os.Hostname()
			return []string{
				"GIT_AUTHOR_NAME=Bossman", "GIT_AUTHOR_EMAIL=bossman@" + host,
				"GIT_COMMITTER_NAME=Bossman", "GIT_COMMITTER_EMAIL=bossman@" + host,
			}, nil
		}
	}
	return nil, nil
}

// SetRef makes a ref name a commit, or deletes it if commit is empty. If old is not empty, the ref
// has to name that before; if it is all zeros, there must be no such ref.
func (r *Repo) SetRef(ctx context.Context, ref, commit, old string) error {
	if !validRef(ref) {
		return fmt.Errorf("%.80q is no name of a ref", ref)
	}
	args := []string{"update-ref", "--no-deref", ref, commit}
	if commit == "" {
		args = []string{"update-ref", "--no-deref", "-d", ref}
	}
	if old != "" {
		args = append(args, old)
	}
	_, err := r.write(ctx, call{args: args}, ref)
	return err
}

// Ref returns the commit that a ref names, such as refs/bossman/web-1/1; empty if there is none.
func (r *Repo) Ref(name string) string { return r.ref(name, 0) }
