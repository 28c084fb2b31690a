package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// dropIgnores deletes the files .gitignore that are not in the index, also those that leave out
// themselves, as tools write them into their caches: they would leave out files of whoever works in
// the worktree next. Those in directories that the repository or the user leaves out stay, since
// they have no effect.
func (r *Repo) dropIgnores(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	out, err := r.run(ctx, call{args: []string{"ls-files", "--others", "-z", "--", ":(top,glob)**/.gitignore"}, memory: r.readMemory() + addMemory})
	loose := split(out)
	if err != nil || len(loose) == 0 {
		return err
	}
	verbose, err := r.run(ctx, call{args: []string{"check-ignore", "--verbose", "--no-index", "-z", "--stdin"}, stdin: out})
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 {
		verbose, err = "", nil // none is left out
	}
	if err != nil {
		return err
	}
	left := map[string]bool{} // by a file that stays
	fields := strings.Split(verbose, "\x00")
	for i := 0; i+3 < len(fields); i += 4 { // the source, its line, the pattern, and the path
		left[fields[i+3]] = !slices.Contains(loose, fields[i])
	}
	for _, path := range loose {
		if left[path] || !r.hasDir(filepath.ToSlash(filepath.Dir(path))) {
			continue
		}
		if err := os.Remove(filepath.Join(r.Root, filepath.FromSlash(path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// embedded lists the directories of the worktree that are repositories of their own, although
// their files are stored with this one: somebody has run git init there. Their history is in no
// commit here.
func (r *Repo) embedded(ctx context.Context) (paths []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	out, err := r.run(ctx, call{args: []string{"ls-files", "--cached", "--others", "--exclude-standard", "-z"}, memory: r.readMemory() + addMemory})
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{".": true}
	for _, path := range split(out) {
		if strings.HasSuffix(path, "/") {
			continue // a repository whose files are not stored
		}
		for dir := filepath.ToSlash(filepath.Dir(path)); !seen[dir]; dir = filepath.ToSlash(filepath.Dir(dir)) {
			seen[dir] = true
			if _, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(dir), ".git")); err == nil && r.hasDir(dir) {
				paths = append(paths, dir)
			}
		}
	}
	slices.Sort(paths)
	return slices.DeleteFunc(paths, func(path string) bool { // what lies in another one goes with it
		return slices.ContainsFunc(paths, func(other string) bool { return strings.HasPrefix(path, other+"/") })
	}), nil
}
