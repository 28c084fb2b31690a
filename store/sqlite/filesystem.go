package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bossman-dev/bossman/internal/plaindir"
)

// A NetworkError rejects a board on a network file system, where the locks and the shared
// memory that SQLite needs do not work between machines.
type NetworkError struct {
	Path string
	Kind string // nfs, cifs, …
}

func (e *NetworkError) Error() string {
	return fmt.Sprintf("%s is on a network file system (%s), where several processes damage a SQLite file", e.Path, e.Kind)
}

// checkFileSystem returns a *NetworkError if the file is, or would be, on a network file
// system, unless that is allowed.
func (s *Store) checkFileSystem() error {
	dir := filepath.Dir(s.path)
	for {
		_, err := os.Stat(dir)
		up := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || up == dir {
			break
		}
		dir = up
	}
	kind, network, err := s.opt.fileSystem(dir)
	s.network = network || err != nil
	if s.opt.Force {
		return nil
	}
	if err != nil {
		return fmt.Errorf("file system of %q: %w", dir, err)
	}
	if network {
		return &NetworkError{Path: s.path, Kind: kind}
	}
	return nil
}

// boardDir opens the directory of path, which is no symbolic link: where agents can write the
// directory above it, one of them may have exchanged it for a link to another board. If create is
// set and it is missing, it is created, accessible only to its owner.
func boardDir(path string, create bool) (*os.Root, error) {
	dir, err := plaindir.Open(filepath.Dir(path))
	if !create || !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return plaindir.Open(filepath.Dir(path))
}
