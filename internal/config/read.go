package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/plaindir"
)

const (
	// maxFile bounds a configuration file. Its values may take a hundred times as much
	// memory as its text.
	maxFile = 64 << 10
	// maxPath bounds a file with a path in it.
	maxPath = 4 << 10
)

// readOwn reads a file of the user's.
func readOwn(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && owner(info) != "" {
		f.Close()
		return nil, console.Errorf(console.Denied, "chown it, or remove it", "%q belongs to %s, and a configuration of others is not used", path, owner(info))
	}
	return readAll(f, path, maxFile)
}

// readPlain reads a file that this program writes, and that is no symbolic link.
func readPlain(path string, limit int64) ([]byte, error) {
	dir, err := plaindir.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return plaindir.Read(dir, filepath.Base(path), limit)
}

// readInside reads a file in a project's directory, which no symbolic link leaves.
func readInside(root, path string) ([]byte, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	f, err := dir.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return readAll(f, path, maxFile)
}

// readAll reads a regular file of bounded size, and closes it: a repository may bring a pipe
// or a device under the name of its configuration.
func readAll(f *os.File, path string, limit int64) ([]byte, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%q is not a regular file of at most %d KiB", path, limit>>10)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}
