package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A NetworkError refuses a board on a network file system, where the locks and the
// shared memory that SQLite needs do not work between machines.
type NetworkError struct {
	Path string
	Kind string // nfs, cifs, …
}

func (e *NetworkError) Error() string {
	return fmt.Sprintf("%s is on a network file system (%s), where several processes damage a SQLite file", e.Path, e.Kind)
}

// checkFileSystem looks at the folder, or what there is above it.
func (s *Store) checkFileSystem() error {
	if s.opt.Force {
		return nil
	}
	dir := filepath.Dir(s.path)
	// The file itself may be a link to elsewhere.
	if real, err := filepath.EvalSymlinks(s.path); err == nil {
		dir = filepath.Dir(real)
	}
	for {
		_, err := os.Stat(dir)
		up := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || up == dir {
			break
		}
		dir = up
	}
	kind, network, err := s.opt.fileSystem(dir)
	if err != nil {
		return fmt.Errorf("ask for the file system of %s: %w", dir, err)
	}
	if network {
		return &NetworkError{Path: s.path, Kind: kind}
	}
	return nil
}

// makeFolder makes the folder of path, for its owner alone.
func makeFolder(path string) error { return os.MkdirAll(filepath.Dir(path), 0o700) }
