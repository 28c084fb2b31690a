// Package plaindir opens directories in which Bossman keeps files and which agents may write, also
// from a sandbox: an agent can exchange such a directory for a symbolic link at any time. What is
// done with the opened directory is done in that directory, wherever its path leads by then. OpenFile
// opens files that others may have put there, also pipes.
package plaindir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Open opens a directory. It is an error if a symbolic link, or anything else that is not a
// directory, has its name; links above it are followed.
func Open(path string) (*os.Root, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	return checked(path, before, func() (*os.Root, error) { return os.OpenRoot(path) })
}

// Below opens a directory below another one, and follows no symbolic link on the way. If create is
// set, it makes what is missing, for this user alone.
func Below(dir *os.Root, create bool, names ...string) (*os.Root, error) {
	dir, err := dir.OpenRoot(".")
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		var next *os.Root
		next, err = below(dir, create, name)
		dir.Close()
		dir = next
	}
	return dir, err
}

// Make is Below for a directory that agents cannot exchange, named by its path. It makes what is
// missing below that.
func Make(path string, names ...string) (*os.Root, error) {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return Below(dir, true, names...)
}

func below(dir *os.Root, create bool, name string) (*os.Root, error) {
	if create {
		if err := dir.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	return checked(filepath.Join(dir.Name(), name), before, func() (*os.Root, error) { return dir.OpenRoot(name) })
}

// checked opens a directory that has just been seen, unless it was none, or another one is opened.
func checked(path string, before fs.FileInfo, open func() (*os.Root, error)) (*os.Root, error) {
	if !before.IsDir() {
		return nil, notPlain(path)
	}
	dir, err := open()
	if err != nil {
		return nil, err
	}
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(opened, before) {
		dir.Close()
		return nil, errors.Join(err, notPlain(path))
	}
	return dir, nil
}

func notPlain(path string) error {
	return fmt.Errorf("%q is a symbolic link or not a directory, and is not followed: if you did not make it, do not trust what did; otherwise put the directory itself there", path)
}

// OpenFile opens a regular file for reading, with os.OpenFile or that of an os.Root, which follow
// symbolic links. It waits for no pipe. The error for what is not a regular file is fs.ErrInvalid.
func OpenFile(open func(name string, flag int, perm fs.FileMode) (*os.File, error), name string) (*os.File, fs.FileInfo, error) {
	f, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%q is not a regular file: %w", name, fs.ErrInvalid)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Read reads a regular file of at most max bytes in an opened directory. It follows no symbolic link,
// and waits for no pipe.
func Read(dir *os.Root, name string, max int64) ([]byte, error) {
	invalid := fmt.Errorf("%q is not a regular file of at most %d KiB: %w", filepath.Join(dir.Name(), name), max>>10, fs.ErrInvalid)
	if info, err := dir.Lstat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, invalid
	}
	f, info, err := OpenFile(dir.OpenFile, name)
	if errors.Is(err, fs.ErrInvalid) {
		return nil, invalid
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > max {
		return nil, invalid
	}
	return io.ReadAll(io.LimitReader(f, max))
}

// Replace writes a file in an opened directory as a whole, accessible only to its owner, in place of
// what has its name. A reader sees the old text or the new one, also after a crash.
func Replace(dir *os.Root, name string, text []byte) error {
	part := "." + name + "-" + rand.Text()
	f, err := dir.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = dir.Rename(part, name)
	}
	if err != nil {
		_ = dir.Remove(part)
	}
	return err
}

// Append adds a text to a regular file that is in an opened directory. It follows no symbolic link, and waits for no
// pipe.
func Append(dir *os.Root, name, text string) error {
	before, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || !os.SameFile(info, before) {
		f.Close()
		return errors.Join(err, fmt.Errorf("%q is not a regular file: %w", filepath.Join(dir.Name(), name), fs.ErrInvalid))
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Entries returns what is in an opened directory.
func Entries(dir *os.Root) ([]os.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}
