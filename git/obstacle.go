package git

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// patience is how long git may run before it is looked for what keeps it: a pipe under the name
// of a file that it reads. Looking at everything before each call would cost more than git.
const patience = 2 * time.Second

// watched returns a context that ends if git waits for something that never comes. The caller
// calls stop when git has ended.
func (r *Repo) watched(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(patience, func() {
		if err := r.obstacle(ctx); err != nil {
			cancel(err)
		}
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// obstacle returns an error that names a file which git would wait for: among objects and shared
// indexes, or, anywhere in the worktree, of patterns.
func (r *Repo) obstacle(ctx context.Context) error {
	look := func(dir string, reads func(name string) bool) error {
		return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return fs.SkipAll
			}
			if err != nil || e.IsDir() || e.Type().IsRegular() || !reads(e.Name()) {
				return nil
			}
			if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
				return fmt.Errorf("%q, which git reads, is not a regular file", path)
			}
			return nil
		})
	}
	all := func(string) bool { return true }
	dirs, err := r.objectDirs()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := look(dir, all); err != nil {
			return err
		}
	}
	for _, name := range []string{"sharedindex.*", "*_HEAD"} {
		files, _ := filepath.Glob(filepath.Join(globQuote(r.Dir), name))
		for _, path := range files {
			if err := look(path, all); err != nil {
				return err
			}
		}
	}
	if r.Bare {
		return nil
	}
	return look(r.Root, func(name string) bool {
		return strings.EqualFold(name, ".gitattributes") || strings.EqualFold(name, ".gitignore") || strings.EqualFold(name, ".gitmodules")
	})
}

// maxAlternates bounds how many directories of objects a repository may have, and how many a
// list of alternates may name.
const maxAlternates = 20

// objectDirs lists the directories in which git looks for objects: that of the repository, and
// the alternates of each. It is an error if git may see others.
func (r *Repo) objectDirs() ([]string, error) {
	dirs := []string{filepath.Join(r.Common, "objects")}
	for n := 0; n < len(dirs); n++ {
		more, err := alternates(dirs[n])
		if err != nil {
			return nil, err
		}
		for _, dir := range more {
			path := filepath.Join(dir, "info", "alternates")
			if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
				return nil, fmt.Errorf("%q is not a regular file", path)
			}
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
		if len(dirs) > maxAlternates {
			return nil, fmt.Errorf("%q leads to more than %d directories of objects", dirs[0], maxAlternates)
		}
	}
	return dirs, nil
}

// alternates lists the directories in which git looks for objects beside a directory of them. It
// is an error if git may read the list in another way, or if it is long.
func alternates(dir string) (dirs []string, err error) {
	path := filepath.Join(dir, "info", "alternates")
	text, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, `"`) || len(dirs) == maxAlternates {
			return nil, fmt.Errorf("%q has more than %d directories, or one in quotation marks", path, maxAlternates)
		}
		dirs = append(dirs, resolve(dir, line))
	}
	return dirs, nil
}

// keepsObjects returns an error if a new object would be written through a symbolic link, which
// may lead out of the repository. The directory of all objects may be a link to another one
// of its kind: there are tools that share it.
func (r *Repo) keepsObjects() error {
	dir := filepath.Join(r.Common, "objects")
	if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if info, err := os.Stat(filepath.Join(dir, "pack")); err != nil || !info.IsDir() {
			return fmt.Errorf("%q is a symbolic link to something else than objects", dir)
		}
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !e.IsDir() && (len(e.Name()) == 2 || e.Name() == "pack") {
			return fmt.Errorf("%q is not a directory, and a snapshot is not written through it", filepath.Join(dir, e.Name()))
		}
	}
	return err
}

// indexed returns how many objects the index of a pack has, 0 if the file is not one.
func indexed(path string) int64 {
	f, err := openPlain(path, 1<<40)
	if err != nil {
		return 0
	}
	defer f.Close()
	info, err := f.Stat()
	head := make([]byte, 8+256*4) // a mark and the version, then how many objects begin with each byte, and those before
	if _, short := io.ReadFull(f, head); err != nil || short != nil || string(head[:8]) != "\xfftOc\x00\x00\x00\x02" {
		return 0
	}
	n := int64(binary.BigEndian.Uint32(head[len(head)-4:]))
	if size := info.Size(); size < n*(20+4+4) || size > (n+2)*(32+4+4+8)+int64(len(head)) {
		return 0
	}
	return n
}
