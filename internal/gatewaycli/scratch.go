package gatewaycli

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/proc"
)

// A scratch is the directory of one process for upstreams that run in an empty one. It is made when it is first needed, and
// removed with the process; if that is killed, the next one removes it.
type scratch struct {
	root string // of all processes

	mu     sync.Mutex
	dir    string
	unlock func()
}

const lockSuffix = ".lock"

// path returns the directory.
func (s *scratch) path() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		return s.dir, nil
	}
	if err := os.MkdirAll(s.root, 0o700); err != nil {
		return "", err
	}
	if err := os.Chmod(s.root, 0o700); err != nil {
		return "", err
	}
	for range 10 {
		file, err := os.CreateTemp(s.root, "*"+lockSuffix)
		if err != nil {
			return "", err
		}
		name := file.Name()
		_ = file.Close()
		unlock, ok, err := proc.TryLock(name) // another process may clear it away just now
		if err != nil {
			return "", err
		}
		if !ok {
			continue
		}
		dir := strings.TrimSuffix(name, lockSuffix)
		if err := os.Mkdir(dir, 0o700); err != nil {
			unlock()
			return "", err
		}
		s.dir, s.unlock = dir, unlock
		return dir, nil
	}
	return "", errors.New("all names are taken")
}

// remove removes the directory when the upstreams have ended.
func (s *scratch) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return
	}
	if os.RemoveAll(s.dir) == nil {
		_ = os.Remove(s.dir + lockSuffix)
	}
	s.unlock()
	s.dir = ""
}

// clear removes the directories of processes that were killed.
func (s *scratch) clear() {
	entries, _ := os.ReadDir(s.root)
	for _, e := range entries {
		name := filepath.Join(s.root, e.Name())
		if !strings.HasSuffix(name, lockSuffix) {
			continue
		}
		if info, err := e.Info(); runtime.GOOS == "windows" && (err != nil || time.Since(info.ModTime()) < 7*24*time.Hour) {
			continue // there, locks say nothing
		}
		unlock, ok, err := proc.TryLock(name)
		if err != nil || !ok {
			continue
		}
		if os.RemoveAll(strings.TrimSuffix(name, lockSuffix)) == nil {
			_ = os.Remove(name)
		}
		unlock()
	}
}
