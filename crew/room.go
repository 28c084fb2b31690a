package crew

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/plaindir"
)

// room returns the slot's worktree, nil if there is none yet. Whatever else has its place is
// refused and left alone: it may be somebody's work, or lead to it.
func (s *slot) room() (*git.Repo, error) {
	if err := git.OwnDir(s.r.dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.r.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() != s.name {
			continue
		}
		if err := git.OwnDir(s.dir); err != nil {
			return nil, err
		}
		if files, err := os.ReadDir(s.dir); err != nil || len(files) == 0 {
			return nil, err
		}
		tree, err := s.r.o.Repo.Linked(s.dir)
		if err == nil {
			err = git.MakeDir(filepath.Join(tree.Dir, "bossman"))
		}
		if err != nil {
			return nil, fmt.Errorf("the worktree of %s is not used: %w; move %q elsewhere, and it is made anew", s.name, err, s.dir)
		}
		return tree, nil
	}
	return nil, nil
}

// maxAside is how many worktrees of a slot may have been moved away.
const maxAside = 8

// fewAside returns an error if so many worktrees of the slot were moved away that something is
// wrong with each. People have to look at them: nothing there is deleted without them.
func (s *slot) fewAside() error {
	entries, err := os.ReadDir(s.r.dir)
	n := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), s.name+asideInfix) {
			n++
		}
	}
	if n >= maxAside {
		return fmt.Errorf("%d worktrees of %s were moved away, and no more are made: look at %q, and delete those in which nothing is needed", n, s.name, filepath.Join(s.r.dir, s.name+asideInfix+"…"))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// maxKept bounds what a slot remembers.
const maxKept = 64 << 10

// readKept reads a file that a slot has written. It follows no symbolic link, and waits for no
// pipe.
func readKept(path string) ([]byte, error) {
	dir, err := plaindir.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return plaindir.Read(dir, filepath.Base(path), maxKept)
}

// replace writes a file as a whole, in place of what has its name.
func replace(path string, text []byte) error {
	dir, err := plaindir.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return plaindir.Replace(dir, filepath.Base(path), text)
}
