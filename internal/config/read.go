package config

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

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
	f, info, err := plaindir.OpenFile(os.OpenFile, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if owner(info) != "" {
		return nil, console.Errorf(console.Denied, "chown it, or remove it", "%q belongs to %s, and a configuration of others is not used", path, owner(info))
	}
	return readAll(f, info, path)
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
	f, info, err := plaindir.OpenFile(dir.OpenFile, rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, info, path)
}

// readAll reads a configuration file, whose size is bounded.
func readAll(f io.Reader, info fs.FileInfo, path string) ([]byte, error) {
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%q has %d bytes, want at most %d KiB", path, info.Size(), maxFile>>10)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}
