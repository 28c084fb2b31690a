package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// verifyFile says what is wrong with the path of a piece of evidence, empty if nothing is: there
// must be a file in the worktree, or a directory with one. If git ignores it, another task may have
// left it there, and the detail of the evidence says so, as it does if the file has not changed.
func (i *Inspector) verifyFile(ctx context.Context, repo *git.Repo, w board.Work, e *board.Evidence) (fault string) {
	dir := i.dir(w)
	bases := []string{dir}
	if repo != nil && !repo.Bare {
		dir = repo.Root
		bases = []string{i.Dir, repo.Root}
	}
	rel, fault := findFile(dir, bases, e.Ref)
	if fault == "" && repo != nil && !repo.Bare {
		e.Detail = strings.TrimPrefix(e.Detail+i.ignored(ctx, repo, w, rel)+i.asBefore(ctx, repo, w, rel), "; ")
	}
	return fault
}

// asBefore says that a file, or what is in a directory, is as in the commit that was checked out when the task was first handed out, empty
// if it is not, or if that is not known.
func (i *Inspector) asBefore(ctx context.Context, repo *git.Repo, w board.Work, rel string) (remark string) {
	begun, _ := i.begun(repo, w.First)
	if begun == "" || begun == unborn {
		return ""
	}
	path := filepath.ToSlash(rel)
	objects, err := repo.Objects(ctx, [][2]string{{begun, path}, {"HEAD", path}})
	if err != nil || objects[0] == "" || objects[0] != objects[1] {
		return ""
	}
	loose, err := i.loose(ctx, repo)
	if err != nil {
		return ""
	}
	for file := range loose {
		if file == path || strings.HasPrefix(file, path+"/") {
			return ""
		}
	}
	return "; it is as it was when the task was first handed out"
}

// ignored says that git ignores a file of a worktree, empty if it does not.
func (i *Inspector) ignored(ctx context.Context, repo *git.Repo, w board.Work, rel string) (remark string) {
	ignored, err := repo.Ignores(ctx, rel)
	if err != nil {
		return "; it is not known whether git ignores it"
	}
	if !ignored {
		return ""
	}
	remark = "; git ignores it; it is in no commit"
	begun, known := i.notes(repo).written("tips", noteName(w.First))
	info, err := os.Stat(filepath.Join(repo.Root, rel))
	if known && err == nil && !info.IsDir() && info.ModTime().Before(begun) {
		remark += "; it was last written before the task was first handed out"
	}
	return remark
}

// findFile returns the path below dir of the file or directory that evidence names, relative to one
// of some directories. fault says why there is none.
func findFile(dir string, bases []string, ref string) (path, fault string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Sprintf("The directory of the work cannot be read: %v.", err)
	}
	defer root.Close()
	fault = fmt.Sprintf("There is no file %.200q in this worktree.", ref)
	_, escapes := root.Lstat("..") // has the error of a path that leads out
	for _, base := range bases {
		path := filepath.FromSlash(strings.TrimSpace(ref))
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		} else if parent, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(parent, filepath.Base(path))
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil && filepath.IsLocal(rel) && rel != "." && strings.Split(filepath.ToSlash(rel), "/")[0] != ".git" {
			info, err := root.Stat(rel)
			switch {
			case errors.Is(err, errors.Unwrap(escapes)):
				fault = fmt.Sprintf("A symbolic link in %.200q leads out of this worktree, or is absolute.", ref)
			case err != nil:
			case !info.IsDir() || hasFile(root, rel):
				return rel, ""
			default:
				return "", fmt.Sprintf("%.200q is a directory without a file.", ref)
			}
		}
	}
	return "", fault
}

// hasFile reports whether there is a file in a directory, however deep. What is in a git directory
// is none.
func hasFile(root *os.Root, dir string) (found bool) {
	_ = fs.WalkDir(root.FS(), filepath.ToSlash(dir), func(_ string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // it cannot be read
		case e.Name() == ".git" && e.IsDir():
			return fs.SkipDir
		case !e.IsDir() && e.Name() != ".git":
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}
