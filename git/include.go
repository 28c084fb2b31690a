package git

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// IncludeFile is the file at the top of a worktree with patterns, as those of .gitignore, of files
// that git ignores and that other worktrees need all the same, such as .env.
const IncludeFile = ".worktreeinclude"

const (
	// maxIncluded bounds how many files are copied for it, and maxIncludedBytes how much.
	maxIncluded      = 2000
	maxIncludedBytes = 256 << 20
)

// Include copies the files of another worktree that its IncludeFile names and that git ignores in
// both, unless this one has them and they are not older. It returns what it has left out, and why.
// Only regular files are copied, and no symbolic link is followed in either worktree: an agent may
// have put one there. It runs nothing of the repository.
func (r *Repo) Include(ctx context.Context, from *Repo) (left []string, err error) {
	src, err := os.OpenRoot(from.Root)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	dst, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, err
	}
	defer dst.Close()
	patterns, err := readIn(src, IncludeFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	paths, err := from.includable(ctx, patterns)
	if err != nil {
		return nil, err
	}
	links, err := r.links(ctx, nil)
	if err != nil {
		return nil, err
	}
	leave := func(path string, why error) { left = append(left, fmt.Sprintf("%.200q: %v", path, why)) }
	paths = slices.DeleteFunc(paths, func(p string) bool {
		if slices.ContainsFunc(links, func(l link) bool { return strings.HasPrefix(p, l.path+"/") }) {
			leave(p, errors.New("it is in a submodule"))
			return true
		}
		dir, err := openDir(dst, path.Dir(p), false)
		if err == nil {
			dir.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // git would say nothing about the others either
			leave(p, err)
			return true
		}
		return false
	})
	ignored, err := r.ignored(ctx, paths)
	if err != nil {
		return left, err
	}
	n, bytes := 0, int64(0)
	for _, p := range paths {
		if ctx.Err() != nil {
			return left, ctx.Err()
		}
		if !ignored[p] {
			leave(p, errors.New("git does not ignore it here"))
			continue
		}
		if n == maxIncluded {
			leave(p, fmt.Errorf("there are more than %d files", maxIncluded))
			continue
		}
		copied, err := include(dst, src, p, maxIncludedBytes-bytes)
		if err != nil {
			leave(p, err)
			continue
		}
		n++
		bytes += copied
	}
	return left, nil
}

// includable lists the files of the worktree that are not in the index, that some patterns name, and that
// git ignores.
func (r *Repo) includable(ctx context.Context, patterns string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	file, remove, err := privateIndex() // it is a file of patterns
	if err != nil {
		return nil, err
	}
	defer remove()
	if err := os.WriteFile(file, []byte(patterns), 0o600); err != nil {
		return nil, err
	}
	paths, err := r.listFiles(ctx, "--others", "--ignored", "--exclude-from="+file)
	if err != nil {
		return nil, err
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { // repositories of their own, and git's files
		return strings.HasSuffix(p, "/") || slices.ContainsFunc(strings.Split(p, "/"), func(name string) bool { return strings.EqualFold(name, ".git") })
	})
	ignored, err := r.ignored(ctx, paths)
	return slices.DeleteFunc(paths, func(p string) bool { return !ignored[p] }), err
}

// ignored returns which of some files git ignores: they are not in the index, and not to be added.
func (r *Repo) ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	ignored := map[string]bool{}
	if len(paths) == 0 {
		return ignored, nil
	}
	out, err := r.run(ctx, call{args: []string{"check-ignore", "--verbose", "-z", "--stdin"}, stdin: strings.Join(paths, "\x00") + "\x00"})
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 {
		return ignored, nil // none
	}
	fields := strings.Split(out, "\x00")
	for i := 0; i+3 < len(fields); i += 4 { // the source, its line, the pattern, and the path
		ignored[fields[i+3]] = !strings.HasPrefix(fields[i+2], "!")
	}
	return ignored, err
}

// errLink means that a symbolic link or a file stands where a directory is expected.
var errLink = errors.New("a symbolic link or a file is in its way")

// openDir opens a directory below another one, without following a symbolic link. With create it
// makes those that are not there. A .git on the way is an error.
func openDir(root *os.Root, dir string, create bool) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	if err != nil || dir == "." {
		return at, err
	}
	for name := range strings.SplitSeq(dir, "/") {
		next, err := openBelow(at, name, create)
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

func openBelow(at *os.Root, name string, create bool) (*os.Root, error) {
	info, err := at.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := at.Mkdir(name, 0o777); err != nil {
			return nil, err
		}
		info, err = at.Lstat(name)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errLink
	}
	if _, err := at.Lstat(name + "/.git"); err == nil {
		return nil, errors.New("it is in another repository")
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := next.Stat("."); err != nil || !os.SameFile(info, opened) { // it was replaced
		next.Close()
		return nil, cmp.Or(err, errLink)
	}
	return next, nil
}

// include copies a file from one worktree to another, unless it is there and not older. It returns
// how many bytes it has copied, at most limit.
func include(dst, src *os.Root, file string, limit int64) (int64, error) {
	from, err := openDir(src, path.Dir(file), false)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	name := path.Base(file)
	in, info, err := openIn(from, name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	to, err := openDir(dst, path.Dir(file), true)
	if err != nil {
		return 0, err
	}
	defer to.Close()
	switch there, err := to.Lstat(name); {
	case err == nil && there.IsDir():
		return 0, errors.New("a directory is in its way")
	case err == nil && there.Mode().IsRegular() && !info.ModTime().After(there.ModTime()):
		return 0, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return 0, err
	}
	if info.Size() > limit {
		return 0, fmt.Errorf("the files have more than %d MB", maxIncludedBytes>>20)
	}
	// What is there is replaced, and not written: it may be a link, also a hard one.
	fresh := name + ".bossman-" + rand.Text()
	out, err := to.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	_, err = io.CopyN(out, in, info.Size())
	err = cmp.Or(err, out.Chmod(info.Mode().Perm()), out.Close())
	if err == nil {
		err = cmp.Or(to.Chtimes(fresh, info.ModTime(), info.ModTime()), to.Rename(fresh, name))
	}
	if err != nil {
		_ = to.Remove(fresh)
		return 0, err
	}
	return info.Size(), nil
}

// openIn opens a regular file in a directory, and follows no symbolic link.
func openIn(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("it is not a regular file")
	}
	f, err := openPlainWith(dir.OpenFile, name, maxIncludedBytes)
	if err != nil {
		return nil, nil, err
	}
	opened, err := f.Stat()
	if err != nil || !os.SameFile(info, opened) {
		f.Close()
		return nil, nil, cmp.Or(err, errors.New("it was replaced while it was read"))
	}
	return f, opened, nil
}

// readIn reads a short file in a directory.
func readIn(dir *os.Root, name string) (string, error) {
	f, info, err := openIn(dir, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.Size() > maxConfig {
		return "", fmt.Errorf("%w: %q has more than %d bytes", fs.ErrInvalid, name, maxConfig)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxConfig))
	return string(text), err
}
