package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// hookMemory is what a hook may allocate: it may run all tests.
	hookMemory = 1 << 40
	// privateHooks begins the names of the directories with the hook of a push.
	privateHooks = "hooks-"
	// maxHookFiles and maxHookBytes bound the files of the hooks that a person accepts.
	maxHookFiles = 1000
	maxHookBytes = 8 << 20
)

// HooksDir returns the directory of the repository's hooks, or of the user's if those are set to be run.
func (r *Repo) HooksDir(ctx context.Context) (string, error) {
	f, err := r.filters(ctx)
	if err != nil || f.hooksPath == "" {
		return filepath.Join(r.Common, "hooks"), err
	}
	return resolve(r.Root, home(f.hooksPath)), nil
}

// A prePush is the hook that runs before a push, as it was when it was looked at. The zero prePush is none.
type prePush struct {
	path string // of the hook
	// text is what a person accepts, empty if it is the user's own hook, which runs where it is.
	text string
	// top is the directory that has the hook and what it may call, and files what is in it.
	top   string
	files map[string]hookFile
}

// A hookFile is a file of a prePush.
type hookFile struct {
	content []byte
	mode    fs.FileMode
}

// prePush returns the hook of the main worktree. That of the user's own configuration is the user's, unless it
// lies where the repository or an agent may have put it. Any other one is accepted with its content.
func (r *Repo) prePush(ctx context.Context) (h prePush, err error) {
	dir, err := r.HooksDir(ctx)
	if err != nil {
		return h, err
	}
	path := filepath.Join(dir, "pre-push")
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return h, nil
	}
	f, err := r.filters(ctx)
	if err != nil {
		return h, err
	}
	h.path = path
	if !f.ownHooks && f.hooksPath != "" && filepath.IsAbs(home(f.hooksPath)) && !r.reachable(path) {
		return h, nil
	}
	h.top = dir
	if filepath.Base(dir) == "_" { // husky's call those above
		h.top = filepath.Dir(dir)
	}
	if h.files, err = hookFiles(h.top); err != nil {
		return h, err
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(h.files)) {
		file := h.files[name]
		fmt.Fprintf(sum, "%q %v %x\n", name, file.mode, sha256.Sum256(file.content))
	}
	h.text = fmt.Sprintf("hook %s, with what is in %s, sha256=%x", path, h.top, sum.Sum(nil))
	return h, nil
}

// reachable reports whether a path lies in the repository, in one of its worktrees or in a directory for
// temporary files, or leads through one.
func (r *Repo) reachable(path string) bool {
	trees, _ := r.places()
	return passes(path, append(append(trees, r.Common), temporary(r.Common)...), nil)
}

// hookFiles reads the files in a directory, by their paths in it. Links to files count as these; others, and
// git's examples, are left out.
func hookFiles(top string) (map[string]hookFile, error) {
	files, left := map[string]hookFile{}, int64(maxHookBytes)
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".sample") {
			return err
		}
		f, err := openPlain(path, left)
		if errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrNotExist) {
			if info, failed := os.Stat(path); failed == nil && info.Mode().IsRegular() {
				return err // too long
			}
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		content, err := io.ReadAll(io.LimitReader(f, left))
		if err != nil {
			return err
		}
		name, err := filepath.Rel(top, path)
		if left -= int64(len(content)); err == nil && len(files) == maxHookFiles {
			err = fmt.Errorf("%q has more than %d files", top, maxHookFiles)
		}
		files[filepath.ToSlash(name)] = hookFile{content, info.Mode() & 0o700}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the hook pre-push cannot be read with what is beside it: %w", err)
	}
	return files, nil
}

// install returns a directory for git with the hook, and no other one, and a function that removes it. What was
// accepted runs from a copy in a place of Bossman's own, with what is beside it.
func (h prePush) install() (dir string, remove func(), err error) {
	if h.path == "" {
		return os.DevNull, func() {}, nil
	}
	all, err := privateDir()
	if err != nil {
		return "", nil, err
	}
	removeOld(all, privateHooks, time.Now().Add(-maxIndexAge))
	if dir, err = os.MkdirTemp(all, privateHooks); err != nil {
		return "", nil, err
	}
	hook, top, path := h.path, filepath.Join(dir, "files"), ""
	if h.text != "" {
		name, err := filepath.Rel(h.top, h.path)
		if err != nil {
			return "", nil, errors.Join(err, os.RemoveAll(dir))
		}
		hook = filepath.Join(top, name)
		path = "PATH=" + quote(os.Getenv("PATH")) + "\n" // it may call programs of the project, as a check may
	}
	script := "#!/bin/sh\n" + path + "exec " + quote(filepath.ToSlash(hook)) + " \"$@\"\n"
	err = os.WriteFile(filepath.Join(dir, "pre-push"), []byte(script), 0o700)
	for name, file := range h.files {
		path := filepath.Join(top, filepath.FromSlash(name))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, file.content, file.mode))
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// quote returns a word for sh.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
