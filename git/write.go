package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// write runs a command that changes the repository: its refs, its objects, an index or the files of
// a worktree. refs are the refs that it writes. No hook runs, and nothing is written through a
// symbolic link.
func (r *Repo) write(ctx context.Context, c call, refs ...string) (string, error) {
	if err := r.writable(refs...); err != nil {
		return "", &Error{Args: c.args, Exit: -1, err: err}
	}
	_ = os.Mkdir(filepath.Join(r.Common, "logs"), 0o755) // git does not make it beyond a link; it says so if it needs it
	return r.run(ctx, c)
}

// CanSet returns an error if a ref, or its log, cannot be written without following a symbolic
// link.
func (r *Repo) CanSet(ref string) error { return r.writable(ref) }

// writable returns an error if git would write through something that is not a plain file or
// directory of the repository: its objects, its index, the log of HEAD, some refs, their logs and
// the packed ones, and what it has of its worktrees. There git follows symbolic links, and makes, changes or
// deletes what they lead to.
func (r *Repo) writable(refs ...string) error {
	if r.Foreign != "" {
		return fmt.Errorf("%q is not written: %s", r.Root, r.Foreign)
	}
	if err := r.FormatError(); err != nil {
		return err
	}
	if now, ok := common(r.Dir); !ok || now != r.Common {
		return fmt.Errorf("%q names another repository than %q meanwhile, and is not written", filepath.Join(r.Dir, "commondir"), r.Common)
	}
	names := []string{"refs", "packed-refs", "logs/HEAD", "worktrees", "bossman"}
	for _, ref := range refs {
		names = append(names, ref, "logs/"+ref)
		if text, err := r.readRef(r.Common, ref); err == nil && strings.HasPrefix(text, "ref:") {
			return fmt.Errorf("%q names another ref, and is not written: delete it", ref)
		}
	}
	for _, name := range names {
		if err := straight(r.Common, name); err != nil {
			return err
		}
	}
	own := []string{"index", "logs/HEAD"}
	if rel, err := filepath.Rel(r.Common, r.Dir); err == nil && rel != "." {
		if err := straight(r.Common, filepath.ToSlash(rel)); err != nil {
			return err
		}
		own = append(own, "info/sparse-checkout") // which ShareSparse writes
	}
	for _, name := range own {
		if err := straight(r.Dir, name); err != nil {
			return err
		}
	}
	return r.keepsObjects()
}

// straight returns an error if a file below a directory is not reached through directories alone,
// or is not a regular file or a directory itself. It need not be there.
func straight(dir, name string) error {
	parts := strings.Split(name, "/")
	for n, part := range parts {
		dir = filepath.Join(dir, part)
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case info.IsDir(), info.Mode().IsRegular() && n == len(parts)-1:
			continue
		}
		return notPlain(dir, info)
	}
	return nil
}

// notPlain is the error for something that is not the file or directory that it has to be.
func notPlain(path string, info fs.FileInfo) error {
	what := "not a regular file or directory"
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		what = "a symbolic link"
	case info.Mode().IsRegular():
		what = "not a directory"
	}
	return fmt.Errorf("%q is %s, and nothing is written through it: if you did not make it, do not trust what it came with; otherwise put the file or directory itself there", path, what)
}

// MakeDir makes a directory in which Bossman keeps its own files, for this user alone, if it is not
// there. It is an error if a symbolic link or anything else has its name.
func MakeDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return CheckDir(dir)
}

// CheckDir returns an error if a symbolic link, or anything else that is not a directory, has the
// name of a directory in which Bossman keeps its own files. It need not be there.
func CheckDir(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return notPlain(dir, info)
	}
	return nil
}

// put writes a file as a whole, in place of what has its name.
func put(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".bossman-")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
