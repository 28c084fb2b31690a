package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Worktrees lists the repository's worktrees that are there, as they see it themselves.
// It reads files only.
func (r *Repo) Worktrees() []*Repo {
	var list []*Repo
	for _, root := range append([]string{filepath.Dir(r.Common)}, r.linked()...) { // the main worktree, if there is one
		if w, err := r.At(root); err == nil && !w.Bare {
			list = append(list, w)
		}
	}
	return list
}

// WorktreeDirs lists the git directories of all worktrees, also of those that are not to be used, but not of those that git
// would forget because they are gone.
func (r *Repo) WorktreeDirs() ([]string, error) {
	dirs := []string{r.Common}
	entries, err := os.ReadDir(filepath.Join(r.Common, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		dir := filepath.Join(r.Common, "worktrees", e.Name())
		_, locked := os.Lstat(filepath.Join(dir, "locked"))
		if root, ok := linkedRoot(dir); ok && locked != nil {
			if _, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// At returns the worktree of the same repository that has its top in dir. It is an error if
// something else is there, or if it is not to be used.
func (r *Repo) At(dir string) (*Repo, error) {
	w, ok := At(dir)
	switch {
	case !ok || !w.Of(r.Common):
		return nil, fmt.Errorf("%q is no worktree of %q", dir, r.Common)
	case w.Foreign != "" && w.Root != r.Root:
		return nil, fmt.Errorf("the worktree %q is not used: %s", dir, w.Foreign)
	case r.Own != nil:
		if err := r.Own(w); err != nil {
			return nil, err
		}
	}
	w.Own = r.Own
	return w, nil
}

// Unused says why the worktree that has a branch checked out is not used; nil if there is none.
func (r *Repo) Unused(branch string) error {
	for _, root := range r.linked() {
		w, ok := At(root)
		if !ok || !w.Of(r.Common) {
			continue
		}
		if head, err := w.Head(); err != nil || head.Branch != branch {
			continue
		}
		if _, err := r.At(root); err != nil {
			return err
		}
	}
	return nil
}

// Of reports whether this is the repository with a common git directory, and the git directory of
// the worktree is there, too. If it is elsewhere, anybody may write the configuration in it.
func (r *Repo) Of(common string) bool {
	return r.Common == common && (r.Dir == common || filepath.Dir(r.Dir) == filepath.Join(common, "worktrees"))
}

// inside lists the worktrees that lie in this one, relative to its top and with slashes.
func (r *Repo) inside() (paths []string) {
	for _, w := range r.Worktrees() {
		if rel, err := filepath.Rel(r.Root, w.Root); err == nil && filepath.IsLocal(rel) && rel != "." {
			paths = append(paths, filepath.ToSlash(rel))
		}
	}
	return paths
}

// linked lists the directories that the repository has as linked worktrees, whether they are
// there or not.
func (r *Repo) linked() (roots []string) {
	for _, root := range r.entries() {
		roots = append(roots, root)
	}
	return roots
}

// entries yields the git directories of linked worktrees, and the directories that these name as
// their tops.
func (r *Repo) entries() iter.Seq2[string, string] {
	return func(yield func(dir, root string) bool) {
		pointers, _ := filepath.Glob(filepath.Join(globQuote(r.Common), "worktrees", "*", "gitdir"))
		for _, p := range pointers {
			dir := filepath.Dir(p)
			if root, ok := linkedRoot(dir); ok && !yield(dir, root) {
				return
			}
		}
	}
}

// linkedRoot returns the directory that the git directory of a linked worktree names as its top.
func linkedRoot(dir string) (string, bool) {
	text, err := readSmall(filepath.Join(dir, "gitdir"))
	if err != nil {
		return "", false
	}
	dot := strings.TrimSpace(text)
	if !filepath.IsAbs(dot) {
		dot = filepath.Join(dir, dot)
	}
	return filepath.Dir(dot), true
}

// Linked returns the linked worktree of the repository that has its top in dir. It is an error if
// something else is there: a clone, a worktree of another repository, a link to one, or anything
// whose git directory is not one of those that the repository has for its worktrees. What is returned
// is used only as long as that directory is in its place, and nothing is mounted below it.
func (r *Repo) Linked(dir string) (*Repo, error) {
	for path, is := range map[string]func(fs.FileMode) bool{dir: fs.FileMode.IsDir, filepath.Join(dir, ".git"): fs.FileMode.IsRegular} {
		if info, err := os.Lstat(path); err != nil || !is(info.Mode()) {
			return nil, fmt.Errorf("%q is not a linked worktree", dir)
		}
	}
	w, ok := At(dir)
	if !ok || w.Common != r.Common || w.Foreign != "" || filepath.Dir(w.Dir) != filepath.Join(r.Common, "worktrees") {
		return nil, fmt.Errorf("%q is not a linked worktree of %q", dir, r.Common)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	w.own = info
	return w, cmp.Or(w.there(), w.writable())
}

// A notEmptyError says that no worktree is made in a directory. It is an fs.ErrExist.
type notEmptyError struct{ dir string }

func (e *notEmptyError) Error() string {
	return fmt.Sprintf("%q is not an empty directory: no worktree is made there", e.dir)
}

func (e *notEmptyError) Is(target error) bool { return target == fs.ErrExist }

// link makes a linked worktree without files in a directory that is empty or not there, with a
// detached HEAD. git worktree add would run hooks and filters that the configuration has for the
// new worktree alone, and that nobody can know before it is there; and git worktree prune deletes
// whatever looks to it like a worktree that has gone.
func (r *Repo) link(ctx context.Context, dir, commit string) (w *Repo, err error) {
	if err := r.writable(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil || !info.IsDir() || len(entries) > 0 {
		return nil, errors.Join(err, &notEmptyError{dir})
	}
	if _, err := r.forget(ctx, dir); err != nil {
		return nil, err
	}
	own, err := r.makeDir(filepath.Base(dir))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(own))
		}
	}()
	locked := filepath.Join(own, "locked") // git does not prune it meanwhile
	for _, f := range [][2]string{
		{locked, "initializing"},
		{filepath.Join(own, "HEAD"), commit},
		{filepath.Join(own, "commondir"), "../.."},
		{filepath.Join(own, "gitdir"), filepath.Join(dir, ".git")},
		{filepath.Join(dir, ".git"), "gitdir: " + own},
	} {
		if err := put(f[0], f[1]+"\n"); err != nil {
			return nil, err
		}
	}
	if err := r.copySparse(own); err != nil {
		return nil, err
	}
	if err := os.Remove(locked); err != nil {
		return nil, err
	}
	return r.Linked(dir)
}

// maxSame bounds how many worktrees have directories of the same name.
const maxSame = 10_000

// makeDir makes a git directory for a worktree in a directory of this name.
func (r *Repo) makeDir(name string) (string, error) {
	if !validRef("refs/" + name) {
		name = "worktree"
	}
	all := filepath.Join(r.Common, "worktrees")
	if err := os.Mkdir(all, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	dir := filepath.Join(all, name)
	for n := 1; ; n++ {
		err := os.Mkdir(dir, 0o755)
		if err == nil || !errors.Is(err, fs.ErrExist) || n == maxSame {
			return dir, err
		}
		dir = filepath.Join(all, name+strconv.Itoa(n))
	}
}

// ShareSparse makes a linked worktree have as much of the files as this one, whatever was set
// there, from its next Checkout on.
func (r *Repo) ShareSparse(w *Repo) error {
	if err := w.writable(); err != nil {
		return err
	}
	for _, name := range []string{"config.worktree", filepath.Join("info", "sparse-checkout")} {
		if err := os.Remove(filepath.Join(w.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return r.copySparse(w.Dir)
}

// copySparse makes a worktree, whose git directory is dir, have as much of the files as this one.
func (r *Repo) copySparse(dir string) error {
	name := filepath.Join("info", "sparse-checkout")
	from := filepath.Join(r.Dir, name)
	if _, err := os.Lstat(from); err != nil {
		return nil // it has them all
	}
	if err := inside(r.resolved(), r.Dir, name); err != nil {
		return err
	}
	var lines string
	for key, value := range configFile(filepath.Join(r.Dir, "config.worktree")) {
		switch key {
		case "core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse":
			section, name, _ := strings.Cut(key, ".")
			lines += fmt.Sprintf("[%s]\n\t%s = %t\n", section, name, !isFalse(value))
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "info"), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := copyFile(filepath.Join(dir, name), from); err != nil || lines == "" {
		return err
	}
	return put(filepath.Join(dir, "config.worktree"), lines)
}

// forget forgets a linked worktree that was in a directory in which there is none any more: its
// branch can be checked out elsewhere. The repositories of its submodules, which may have commits that
// are nowhere else, are moved to a directory that it returns; empty if there are none. The caller
// has the lock.
func (r *Repo) forget(ctx context.Context, dir string) (modules string, err error) {
	entries, err := os.ReadDir(filepath.Join(r.Common, "worktrees"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	for _, e := range entries {
		own := filepath.Join(r.Common, "worktrees", e.Name())
		if text, failed := readSmall(filepath.Join(own, "gitdir")); e.IsDir() && failed == nil && resolve(own, strings.TrimSpace(text)) == filepath.Join(dir, ".git") {
			if there, failed := os.ReadDir(filepath.Join(own, "modules")); failed == nil && len(there) > 0 {
				modules = dir + ".modules-" + strconv.FormatInt(time.Now().UnixMilli(), 10)
				if err := os.Rename(filepath.Join(own, "modules"), modules); err != nil {
					return "", err
				}
				err = r.unplace(ctx, modules)
			}
			err = errors.Join(err, os.RemoveAll(own))
		}
	}
	return modules, err
}

// roomName is the name of the worktree of a lander: one that no person is likely to choose.
const roomName = "bossman-land"

// Room is the directory of the worktree in which work is judged before it lands.
func (r *Repo) Room() string {
	dir := r.Root
	if main, ok := Main(r.Common); ok { // it may be bare
		dir = main.Root
	}
	return filepath.Join(dir+".worktrees", roomName)
}

// Aside moves a linked worktree to another directory, for people to look at. It has no branch
// there, so that the branch can be checked out elsewhere, and its submodules work there. What is no
// linked worktree of the repository any more is moved as it is, and the worktree forgotten, also if
// nothing is there; modules is where the repositories of its submodules are then. So it is if the
// new place cannot be noted, as on a full disk: git there must not write into the next worktree of
// dir.
func (r *Repo) Aside(ctx context.Context, dir, to string) (modules string, err error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	w, none := r.Linked(dir)
	if none != nil {
		if err := os.Rename(dir, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		return r.forget(ctx, dir)
	}
	head, err := w.Head()
	if err != nil {
		return "", err
	}
	if err := os.Rename(dir, to); err != nil {
		return "", err
	}
	if failed := w.moved(to); failed != nil {
		failed = errors.Join(failed, os.Remove(filepath.Join(to, ".git")))
		modules, err = r.forget(ctx, dir)
		return modules, errors.Join(failed, err)
	}
	err = r.unplace(ctx, filepath.Join(w.Dir, "modules"))
	if head.Commit != "" {
		err = errors.Join(err, put(filepath.Join(w.Dir, "HEAD"), head.Commit+"\n"))
	}
	return "", err
}

// unplace makes the repositories of submodules below a directory forget where their files are. They
// are then in the directory whose .git names the repository.
func (r *Repo) unplace(ctx context.Context, modules string) error {
	return filepath.WalkDir(modules, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.Name() != "config" || !e.Type().IsRegular() {
			return err
		}
		if _, err := os.Lstat(filepath.Join(filepath.Dir(path), "HEAD")); err != nil {
			return nil
		}
		_, err = r.run(ctx, call{args: []string{"config", "--file", path, "--unset-all", "core.worktree"}})
		if e, ok := errors.AsType[*Error](err); ok && e.Exit == 5 { // it has none
			err = nil
		}
		return err
	})
}

// moved notes that a linked worktree is in another directory now. After an error it is still noted
// where it was.
func (r *Repo) moved(to string) error {
	dot := filepath.Join(to, ".git")
	if err := put(dot, "gitdir: "+r.Dir+"\n"); err != nil {
		return err
	}
	return put(filepath.Join(r.Dir, "gitdir"), dot+"\n")
}

// Stale reports whether the repository has a linked worktree whose directory has gone. Its
// branch cannot be checked out until git worktree prune has forgotten it.
func (r *Repo) Stale() bool {
	return slices.ContainsFunc(r.linked(), func(root string) bool {
		_, err := os.Lstat(root)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// CanAdd reports whether git can make a worktree in a directory: it is empty or not there, and
// not known as a worktree that has gone.
func (r *Repo) CanAdd(dir string) bool {
	if slices.Contains(r.linked(), dir) {
		return false
	}
	entries, err := os.ReadDir(dir)
	if err == nil {
		return len(entries) == 0
	}
	_, dangling := os.Lstat(dir)
	return errors.Is(err, fs.ErrNotExist) && dangling != nil
}

// Worktree returns the worktree that has a branch checked out, nil if there is none. Of
// several it prefers the one in dir.
func (r *Repo) Worktree(branch, dir string) *Repo {
	on := slices.DeleteFunc(r.Worktrees(), func(w *Repo) bool {
		head, err := w.Head()
		return err != nil || head.Branch != branch
	})
	if len(on) == 0 {
		return nil
	}
	return on[max(0, slices.IndexFunc(on, func(w *Repo) bool { return w.Root == dir }))]
}
