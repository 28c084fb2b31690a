package clientconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

const (
	// maxFile is the size limit of a user's own file, unless the table has another one.
	maxFile = 1 << 20
	// maxProject is that of a project's file, which others have written.
	maxProject = 256 << 10
)

// Read reads the client's servers from all its files, sorted by name. A missing
// file has none. If two files name the same server, the one that the client
// does not use is marked as Shadowed. The error reports files that cannot be
// read; the servers of the other files are returned anyway.
func (c *Client) Read(p Places) ([]Server, error) {
	var all []Server
	var errs []error
	for _, f := range c.Files(p) {
		var text []byte
		var err error
		if f.Scope == User {
			text, err = readFile(f.Path, cmp.Or(c.row.Limit, maxFile), os.OpenFile, nil)
		} else {
			text, err = readInside(p.Project, f.Path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, &Error{File: f.Path, Err: err})
			continue
		}
		servers, err := c.Parse(text, f, p.Project)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, servers...)
	}
	markShadowed(all)
	return all, errors.Join(errs...)
}

// readInside reads a file of a project, which no symbolic link leaves: those who wrote the project
// have not written what is elsewhere. That of another user is not read: a directory above may be
// one in which everybody can put files.
func readInside(project, path string) ([]byte, error) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer root.Close()
	name, err := filepath.Rel(project, path)
	if err != nil {
		return nil, err
	}
	text, err := readFile(name, maxProject, root.OpenFile, func(info fs.FileInfo) error {
		if ofOthers(info) {
			return errors.New("belongs to another user, and is not read: if you trust it, copy it to a file of your own")
		}
		return nil
	})
	if err != nil {
		_, inside := root.Stat(name)
		if _, there := os.Stat(path); inside != nil && there == nil {
			return nil, errors.New("leads out of the project by a symbolic link, and is not read: put the file itself there")
		}
	}
	return text, err
}

// readFile reads a regular file that is not world-writable, and that allowed, if it is not nil, has no error for.
// The function open is os.OpenFile or that of an os.Root. The file that is read is the one that was checked, and
// readFile does not wait for a pipe.
func readFile(path string, limit int64, open func(string, int, fs.FileMode) (*os.File, error), allowed func(fs.FileInfo) error) ([]byte, error) {
	f, err := open(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, withoutPath(err)
	}
	if allowed != nil {
		if err := allowed(info); err != nil {
			return nil, err
		}
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0:
		return nil, errors.New("is world-writable: run chmod o-w")
	case info.Size() > limit:
		return nil, fmt.Errorf("has %d bytes, the limit is %d", info.Size(), limit)
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("has more than %d bytes", limit)
	}
	return text, err
}

// withoutPath removes the path from an error, because the caller adds it.
func withoutPath(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
