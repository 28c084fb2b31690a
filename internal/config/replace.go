package config

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/plaindir"
)

// keepFile is replaceFile for a file that Bossman keeps in a project, in a directory of its own.
// The project may have brought a symbolic link as that directory: nothing is written through it.
func keepFile(path, text string) error {
	if err := git.MakeDir(filepath.Dir(path)); err != nil {
		return console.Errorf(console.Denied, "", "%w", err)
	}
	dir, err := plaindir.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return plaindir.Replace(dir, filepath.Base(path), []byte(text))
}

// dropFile removes a file that keepFile has written.
func dropFile(path string) error {
	if err := git.CheckDir(filepath.Dir(path)); err != nil {
		return console.Errorf(console.Denied, "", "%w", err)
	}
	dir, err := plaindir.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Remove(filepath.Base(path))
}

// replaceFile replaces a file, or creates it with its directory, accessible only to its
// owner. A reader sees the old text or the new one, also after a crash.
func replaceFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // a no-op after the rename
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
