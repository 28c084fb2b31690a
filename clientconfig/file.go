package clientconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// maxFile is the size of a file that is read, where the table says nothing else.
const maxFile = 1 << 20

// Read reads the client's servers from all its files, in order of their names. A
// file that is not there has none. Where two files name the same server, the one
// that the client would not use is marked as Shadowed. The error tells of files that
// cannot be read; the servers of the others are there all the same.
func (c *Client) Read(p Places) ([]Server, error) {
	var all []Server
	var errs []error
	for _, f := range c.Files(p) {
		text, err := readFile(f.Path, cmp.Or(c.row.Limit, maxFile))
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
	settle(all)
	return all, errors.Join(errs...)
}

// readFile reads a file that nobody but its owner and group can write.
func readFile(path string, limit int64) ([]byte, error) {
	// Looked at before it is opened: opening a pipe would wait.
	info, err := os.Stat(path)
	if err != nil {
		return nil, reason(err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a file")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0:
		return nil, errors.New("everybody may write it, so it is not read: chmod o-w")
	case info.Size() > limit:
		return nil, fmt.Errorf("has %d bytes; at most %d are read", info.Size(), limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("has more than %d bytes", limit)
	}
	return text, err
}

// reason leaves out the path, which the caller knows.
func reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
