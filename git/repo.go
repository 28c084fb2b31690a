package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/internal/plaindir"
)

// ErrNoRepo means that a directory is in no git repository.
var ErrNoRepo = errors.New("git: not a repository")

// A Repo is a repository as seen from one of its worktrees, or a bare one.
type Repo struct {
	// Root is the top directory of the worktree; for a bare repository, the
	// repository itself, or the directory whose .git it is.
	Root string
	// Dir is the git directory of the worktree, with its HEAD and index.
	Dir string
	// Common is the git directory that all worktrees share, with refs and objects.
	Common string
	// Bare is set if there is no worktree: no files are checked out in Root.
	Bare bool
	// Foreign says why the git directory may belong to something else than the worktree, in half a
	// sentence; empty if it does not. Then the worktree names it, but it does not name the worktree,
	// or lies where an agent may write: anybody can put such a pointer into an archive, and an agent
	// into its worktree.
	Foreign string
	// Claimant is the common git directory of another repository that has the worktree as its own,
	// which makes this one Foreign; empty if there is none.
	Claimant string
	// Own returns an error if another worktree of the repository is not to be used, because others
	// may write it. Nil: all are used.
	Own func(w *Repo) error

	own    fs.FileInfo               // the directory of a worktree that Linked found, else nil
	looked atomic.Pointer[time.Time] // when look last found nothing wrong
	last   atomic.Pointer[frozen]    // the configuration that was read last
}

// Find finds the repository that a directory is in. It reads files only. A bare repository
// inside a worktree is a part of its content, like any other directory: whoever wrote the
// content wrote its configuration, too. The same holds below a directory that has .bossman, which
// makes it a project without git. A linked worktree without its .git is Foreign.
func Find(dir string) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	r, err := find(dir)
	if lost := lost(dir); lost != nil && (err != nil || len(lost.Root) > len(r.Root)) {
		return lost, nil
	}
	return r, err
}

func find(dir string) (*Repo, error) {
	var bare *Repo
	for {
		r, ok := At(dir)
		switch {
		case ok && (!r.Bare || r.Root != r.Dir): // content has no .git
			return r, nil
		case ok && bare == nil:
			bare = r
		case bare != nil && isProject(dir):
			return nil, ErrNoRepo
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	if bare == nil {
		return nil, ErrNoRepo
	}
	return bare, nil
}

// isProject reports whether a directory has a board without git. The home directory and those
// above it are none.
func isProject(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, ".bossman")); err != nil {
		return false
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return true
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	rel, err := filepath.Rel(dir, home)
	return err != nil || !filepath.IsLocal(rel)
}

// At returns the repository whose worktree has its top in dir, or the bare repository
// that is dir.
func At(dir string) (*Repo, bool) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Lstat(dot)
	switch {
	case err != nil:
		if _, err := os.Lstat(filepath.Join(dir, "commondir")); err == nil || !isCommon(dir) {
			return nil, false
		}
		r := &Repo{Root: dir, Dir: dir, Common: dir, Bare: true}
		r.setForeign(false)
		return r, true
	case !info.IsDir():
		var ok bool
		if dot, ok = pointer(dot, info); !ok {
			return nil, false
		}
	}
	r := &Repo{Root: dir, Dir: dot}
	if !r.setCommon() {
		return nil, false
	}
	r.Bare = r.isBare()
	r.setForeign(!info.IsDir())
	return r, true
}

// Main returns the main worktree of a repository, or the bare repository. common is the git
// directory that its worktrees share.
func Main(common string) (*Repo, bool) {
	for _, dir := range []string{filepath.Dir(common), common} {
		if r, ok := At(dir); ok && r.Common == common {
			return r, true
		}
	}
	return nil, false
}

// isBare reports whether the git directory is configured to have no worktree, though something
// named .git leads to it: web/.git, or web/.bare, with the worktrees beside it. For git, too,
// such a setting says nothing about linked worktrees.
func (r *Repo) isBare() (bare bool) {
	if r.Common != r.Dir {
		return false
	}
	for _, name := range []string{"config", "config.worktree"} {
		for key, value := range r.settings(name) {
			if key == "core.bare" {
				bare = !isFalse(value)
			}
		}
	}
	return bare
}

// ownDirs lists the git directories of a worktree that lie in it under another name than .git,
// relative to its top and with slashes.
func (r *Repo) ownDirs() (paths []string) {
	for _, dir := range []string{r.Dir, r.Common} {
		rel, err := filepath.Rel(r.Root, dir)
		if rel = filepath.ToSlash(rel); err == nil && filepath.IsLocal(rel) && !slices.Contains(strings.Split(rel, "/"), ".git") {
			paths = append(paths, rel)
		}
	}
	return paths
}

// pointer returns the git directory that a file .git or a symbolic link of that name leads
// to.
func pointer(dot string, info fs.FileInfo) (string, bool) {
	var target string
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		real, err := filepath.EvalSymlinks(dot)
		return real, err == nil
	case info.Mode().IsRegular():
		text, err := readSmall(dot)
		if err != nil {
			return "", false
		}
		var ok bool
		if target, ok = strings.CutPrefix(text, "gitdir: "); !ok {
			return "", false
		}
	default:
		return "", false
	}
	return follow(filepath.Dir(dot), target)
}

// follow returns the directory that the text of a file in dir leads to, as git reads it: only
// line ends are not part of the name. It reports false if dots in it mean something else after
// a symbolic link.
func follow(dir, text string) (string, bool) {
	name := strings.TrimRight(text, "\r\n")
	path := resolve(dir, name)
	if !filepath.IsAbs(name) {
		name = dir + string(filepath.Separator) + name
	}
	return path, same(name, path)
}

// workTree returns the worktree that the configuration names.
func (r *Repo) workTree() (path string, ok bool) {
	for _, name := range []string{"config.worktree", "config"} {
		for key, value := range r.settings(name) {
			if key == "core.worktree" {
				return value, true
			}
		}
	}
	return "", false
}

// resolve returns what a path in a file of dir means.
func resolve(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// same reports whether two paths lead to one file or directory.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// setCommon follows the git directory to the one that it shares with others, and reports
// whether they are git directories.
func (r *Repo) setCommon() bool {
	var ok bool
	if r.Common, ok = common(r.Dir); !ok {
		return false
	}
	if _, err := os.Lstat(filepath.Join(r.Dir, "HEAD")); err != nil {
		return false
	}
	return isCommon(r.Common)
}

// common is the directory that a git directory shares with others, or itself if it names none.
func common(dir string) (path string, ok bool) {
	text, err := readSmall(filepath.Join(dir, "commondir"))
	if err != nil {
		return dir, true
	}
	return follow(dir, text)
}

// isCommon reports whether a directory has what a repository has: HEAD, objects and refs.
func isCommon(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	for _, part := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, part)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// Name is what people call the repository: web for web/.git, web/.bare and web.git.
func (r *Repo) Name() string {
	base := filepath.Base(r.Common)
	if strings.HasPrefix(base, ".") {
		return filepath.Base(filepath.Dir(r.Common))
	}
	return strings.TrimSuffix(base, ".git")
}

// maxSmall bounds the files that are read whole: HEAD, a ref, a pointer to a directory.
const maxSmall = 64 << 10

// readSmall reads a regular file of bounded size.
func readSmall(path string) (string, error) {
	f, err := openPlain(path, maxSmall)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSmall))
	return string(text), err
}

// openPlain opens a regular file of bounded size. It does not wait for a pipe.
func openPlain(path string, limit int64) (*os.File, error) {
	return openPlainWith(os.OpenFile, path, limit)
}

// openPlainWith is openPlain with a function in place of os.OpenFile, such as that of an os.Root.
func openPlainWith(open func(string, int, fs.FileMode) (*os.File, error), path string, limit int64) (*os.File, error) {
	f, info, err := plaindir.OpenFile(open, path)
	if err == nil && info.Size() > limit {
		f.Close()
		return nil, fmt.Errorf("%w: %q is not a regular file of at most %d bytes", fs.ErrInvalid, path, limit)
	}
	return f, err
}
