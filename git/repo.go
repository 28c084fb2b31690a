package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoRepo means that a directory is in no git repository.
var ErrNoRepo = errors.New("git: not a repository")

// A Repo is a repository as seen from one of its worktrees, or a bare one.
type Repo struct {
	// Root is the top directory of the worktree; for a bare repository, the
	// repository itself.
	Root string
	// Dir is the git directory of the worktree, with its HEAD and index.
	Dir string
	// Common is the git directory that all worktrees share, with refs and objects.
	Common string
	// Bare is set if there is no worktree.
	Bare bool
}

// Find finds the repository that a directory is in. It reads files only.
func Find(dir string) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for {
		if r, ok := At(dir); ok {
			return r, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return nil, ErrNoRepo
		}
		dir = up
	}
}

// At returns the repository whose worktree has its top in dir, or the bare repository
// that is dir.
func At(dir string) (*Repo, bool) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Stat(dot)
	switch {
	case err == nil && info.IsDir():
		common, ok := commonDir(dot)
		return &Repo{Root: dir, Dir: dot, Common: common}, ok
	case err == nil && info.Mode().IsRegular():
		text, err := readSmall(dot)
		target, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir:")
		if err != nil || !ok {
			return nil, false
		}
		target = strings.TrimSpace(target)
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		common, ok := commonDir(target)
		return &Repo{Root: dir, Dir: filepath.Clean(target), Common: common}, ok
	}
	common, ok := commonDir(dir)
	return &Repo{Root: dir, Dir: dir, Common: common, Bare: true}, ok
}

// commonDir follows a git directory to the one that it shares with others. A git
// directory has HEAD, objects and refs.
func commonDir(dir string) (string, bool) {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return "", false
	}
	if text, err := readSmall(filepath.Join(dir, "commondir")); err == nil {
		shared := strings.TrimSpace(text)
		if !filepath.IsAbs(shared) {
			shared = filepath.Join(dir, shared)
		}
		dir = shared
	}
	for _, part := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, part)); err != nil || !info.IsDir() {
			return "", false
		}
	}
	return filepath.Clean(dir), true
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
func readSmall(path string) (string, error) { return readBounded(path, maxSmall) }

func readBounded(path string, limit int64) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%w: %s is not a regular file", fs.ErrInvalid, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%w: %s is over %d bytes", fs.ErrInvalid, path, limit)
	}
	return string(text), err
}
