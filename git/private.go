package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ownDir returns the directory for Bossman's files in the common git directory. It is made if it
// is not there, and not used if it is a symbolic link.
func (r *Repo) ownDir() (string, error) {
	if err := straight(r.Common, "bossman"); err != nil {
		return "", err
	}
	dir := filepath.Join(r.Common, "bossman")
	return dir, os.MkdirAll(dir, 0o700)
}

const (
	// privateIndexes begins the names of the directories with indexes of Bossman's own.
	privateIndexes = "index-"
	// maxIndexAge is how old such a directory gets, if the process that made it was killed.
	maxIndexAge = 24 * time.Hour
)

// privateIndex returns the path for an index that no other process is to write, and a function
// that removes it. It is in the git directory, not in the directory for temporary files: an agent
// in a sandbox can often write there. Who writes an index decides in which directories git runs
// itself, with what their repositories configure, and what a tree has.
func (r *Repo) privateIndex() (path string, remove func(), err error) {
	dir, err := r.ownDir()
	if err == nil {
		removeOld(dir, privateIndexes, time.Now().Add(-maxIndexAge))
		dir, err = os.MkdirTemp(dir, privateIndexes)
	}
	if err != nil {
		return "", nil, fmt.Errorf("a snapshot needs an index of its own in the git directory: %w", err)
	}
	return filepath.Join(dir, "index"), func() { _ = os.RemoveAll(dir) }, nil
}

// removeOld removes what was last changed before a time from a directory, if its name has a prefix.
func removeOld(dir, prefix string, before time.Time) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}
