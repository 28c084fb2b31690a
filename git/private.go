package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// privateIndexes begins the names of the directories with indexes of Bossman's own.
	privateIndexes = "index-"
	// maxIndexAge is how old such a directory gets, if the process that made it was killed.
	maxIndexAge = 24 * time.Hour
)

// privateIndex returns the path for an index that no other process is to write, and a function
// that removes it. It is where agents in a sandbox cannot write. Who writes an index
// decides in which directories git runs itself, with what their repositories configure, and what a
// tree has.
func privateIndex() (path string, remove func(), err error) {
	all, err := privateDir()
	if err != nil {
		return "", nil, err
	}
	removeOld(all, privateIndexes, time.Now().Add(-maxIndexAge))
	dir, err := os.MkdirTemp(all, privateIndexes)
	if err != nil {
		return "", nil, fmt.Errorf("a snapshot needs an index of its own: %w", err)
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
