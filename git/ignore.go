package git

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ignoreFiles are the files of patterns in a worktree.
const ignoreFiles = ":(top,glob)**/.gitignore"

// dropIgnores deletes the files .gitignore that are not in the index, also those that leave out
// themselves, as tools write them into their caches: they would leave out files of whoever works in
// the worktree next. Those in directories that the repository or the user leaves out as a whole stay:
// they have no effect, and there may be many. It reports whether there were any.
func (r *Repo) dropIgnores(ctx context.Context) (dropped bool, err error) {
	tracked, err := r.listFiles(ctx, "--cached", "--", ignoreFiles)
	if err != nil {
		return false, err
	}
	loose, err := r.listFiles(ctx, "--others", "--exclude-standard", "--", ignoreFiles)
	if err != nil {
		return false, err
	}
	ignored, err := r.listFiles(ctx, "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return false, err
	}
	var dirs []string
	for _, p := range ignored {
		if dir, ok := strings.CutSuffix(p, "/"); ok {
			dirs = append(dirs, dir)
		} else if path.Base(p) == ".gitignore" {
			loose = append(loose, p)
		}
	}
	stay, err := r.leftOut(ctx, dirs, tracked)
	if err != nil {
		return false, err
	}
	for _, dir := range dirs {
		if stay[dir] || !r.hasDir(dir) {
			continue
		}
		err := filepath.WalkDir(filepath.Join(r.Root, filepath.FromSlash(dir)), func(p string, e fs.DirEntry, err error) error {
			if _, none := os.Lstat(filepath.Join(p, ".git")); none == nil && err == nil && e.IsDir() {
				return fs.SkipDir // a repository, which setAside moves as it is
			}
			if err == nil && !e.IsDir() && e.Name() == ".gitignore" {
				rel, _ := filepath.Rel(r.Root, p)
				loose = append(loose, filepath.ToSlash(rel))
			}
			return ctx.Err() // what cannot be read, clean cannot delete either
		})
		if err != nil {
			return false, err
		}
	}
	if stay, err = r.leftOut(ctx, parents(loose), tracked); err != nil {
		return false, err
	}
	for _, p := range loose {
		if dir := path.Dir(p); stay[dir] || dir != "." && !r.hasDir(dir) {
			continue
		}
		dir, err := r.openPlain(path.Dir(p))
		if err == nil {
			err = dir.Remove(path.Base(p))
			dir.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return dropped, err
		}
		dropped = true
	}
	return dropped, nil
}

// parents lists the directories of some files, but for the top one.
func parents(files []string) (dirs []string) {
	for _, p := range files {
		if dir := path.Dir(p); dir != "." && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// above yields the directories in which files lie, at whatever depth, but for the top one.
func above(files []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		seen := map[string]bool{".": true}
		for _, p := range files {
			if strings.HasSuffix(p, "/") {
				continue // a repository whose files are not stored
			}
			for dir := path.Dir(p); !seen[dir]; dir = path.Dir(dir) {
				seen[dir] = true
				if !yield(dir) {
					return
				}
			}
		}
	}
}

// dropSpecial deletes the pipes, sockets and devices in the directories that have files of the
// index: git clean does not see them.
func (r *Repo) dropSpecial(ctx context.Context) error {
	tracked, err := r.listFiles(ctx, "--cached")
	if err != nil {
		return err
	}
	drop := func(path string) {
		entries, _ := os.ReadDir(filepath.Join(r.Root, filepath.FromSlash(path))) // what cannot be read, clean cannot delete either
		for _, e := range entries {
			if special(e.Type()) {
				err = errors.Join(err, r.dropOne(path, e.Name()))
			}
		}
	}
	drop(".")
	for dir := range above(tracked) {
		if r.hasDir(dir) {
			drop(dir)
		}
	}
	return err
}

// leftOut returns which of some directories are left out by a file of patterns that is in the index,
// or that is not in the worktree.
func (r *Repo) leftOut(ctx context.Context, dirs, tracked []string) (map[string]bool, error) {
	left := map[string]bool{}
	if len(dirs) == 0 {
		return left, nil
	}
	out, err := r.run(ctx, call{args: []string{"check-ignore", "--verbose", "--no-index", "-z", "--stdin"}, stdin: strings.Join(dirs, "\x00") + "\x00"})
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 {
		return left, nil // none
	}
	fields := strings.Split(out, "\x00")
	for i := 0; i+3 < len(fields); i += 4 { // the source, its line, the pattern, and the path
		source := fields[i]
		left[fields[i+3]] = !strings.HasPrefix(fields[i+2], "!") && (slices.Contains(tracked, source) || path.Base(source) != ".gitignore" || filepath.IsAbs(source))
	}
	return left, err
}

// Ignores reports whether git leaves out a file, or all files of a directory: they are in no commit,
// and git add would not add them. The path is relative to the top of the worktree. A symbolic link in
// it counts as what it leads to.
func (r *Repo) Ignores(ctx context.Context, path string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	root, err := filepath.EvalSymlinks(r.Root)
	if err != nil {
		return false, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(root, path))
	if err != nil {
		return false, err
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return false, err
	}
	spec := ":(top,literal)" + filepath.ToSlash(rel)
	ignored, err := r.listFiles(ctx, "--others", "--ignored", "--exclude-standard", "--", spec)
	if err != nil || len(ignored) == 0 {
		return false, err
	}
	known, err := r.listFiles(ctx, "--cached", "--others", "--exclude-standard", "--", spec)
	return len(known) == 0, err
}

// listFiles lists files of the index or of the worktree.
func (r *Repo) listFiles(ctx context.Context, options ...string) ([]string, error) {
	out, err := r.run(ctx, call{args: append([]string{"ls-files", "-z"}, options...), memory: r.readMemory() + addMemory})
	return split(out), err
}

// embedded lists the directories of the worktree that are repositories of their own, although
// their files are stored with this one: somebody has run git init there. Their history is in no
// commit here.
func (r *Repo) embedded(ctx context.Context) (paths []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	files, err := r.listFiles(ctx, "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	for dir := range above(files) {
		if _, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(dir), ".git")); err == nil && r.hasDir(dir) {
			paths = append(paths, dir)
		}
	}
	slices.Sort(paths)
	return slices.DeleteFunc(paths, func(path string) bool { // what lies in another one goes with it
		return slices.ContainsFunc(paths, func(other string) bool { return strings.HasPrefix(path, other+"/") })
	}), nil
}

// dropOne deletes a pipe, a socket or a device in a directory of the worktree, unless something else has
// its name by now.
func (r *Repo) dropOne(path, name string) error {
	dir, err := r.openPlain(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if info, err := dir.Lstat(name); err != nil || !special(info.Mode()) {
		return err
	}
	return dir.Remove(name)
}

func special(m fs.FileMode) bool { return m&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0 }
