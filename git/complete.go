package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// complete updates what is left to update, from any state in which git can have been killed, and
// returns the files that are not as the new commit has them although nobody had changed them. The
// branch has the new commit, and the index and HEAD are locked.
func (l *landing) complete(ctx context.Context) (left []string, err error) {
	if err := l.do("copy the index again", l.copyIndex); err != nil {
		return nil, err
	}
	if err := l.do("refresh again", func() error { return l.refresh(ctx, "index") }); err != nil {
		return nil, err
	}
	entries, err := l.entries(ctx)
	if err != nil {
		return nil, err
	}
	isOld, err := l.as(ctx, func(c treeChange) treeEntry { return c.old })
	if err != nil {
		return nil, err
	}
	isNew, err := l.as(ctx, func(c treeChange) treeEntry { return c.new })
	if err != nil {
		return nil, err
	}
	var lines strings.Builder // makes entries those of the new commit
	for _, c := range l.changes {
		e := entries[c.path]
		switch there := l.present(c.path); {
		case e.unmerged || e.treeEntry != c.old: // of the new commit already, or the user's
		case isNew[c.path] && !e.skipped:
			lines.WriteString(c.line())
		case isOld[c.path] || !there:
		case l.begun(ctx, c):
			if err := l.do("remove "+c.path, func() error { return l.remove(c.path) }); err != nil {
				return nil, err
			}
		default:
			left = append(left, c.path)
			lines.WriteString(c.line())
		}
	}
	if err := l.setEntries(ctx, lines.String()); err != nil {
		return nil, err
	}
	base, err := l.base(ctx, lines.String())
	if err != nil {
		return nil, err
	}
	err = l.do("update again", func() error { return l.readTree(ctx, base, "-m", "-u") })
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		if left, err = l.giveUp(ctx, entries); err != nil {
			return nil, err
		}
	}
	return left, l.do("put the index", l.putIndex)
}

// base returns the tree of the old commit with some entries changed: those that are as the new commit
// has them already, and that git does not have to compare.
func (l *landing) base(ctx context.Context, lines string) (string, error) {
	old, err := l.oldTree(ctx)
	if err != nil || lines == "" {
		return old, err
	}
	if _, err := l.gitIndex(ctx, "side", "", "read-tree", old); err != nil {
		return "", err
	}
	if _, err := l.gitIndex(ctx, "side", lines, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	tree, err := l.gitIndex(ctx, "side", "", "write-tree")
	return strings.TrimSpace(tree), err
}

// giveUp makes the journal's index have the new entries of all files, whether these can be written or
// not, and returns those that are not as the new commit has them. To people they have changes.
func (l *landing) giveUp(ctx context.Context, entries map[string]indexEntry) (left []string, err error) {
	if err := l.copyIndex(); err != nil {
		return nil, err
	}
	isNew, err := l.as(ctx, func(c treeChange) treeEntry { return c.new })
	if err != nil {
		return nil, err
	}
	var lines strings.Builder
	for _, c := range l.changes {
		if e := entries[c.path]; !e.unmerged && e.treeEntry == c.old && !e.skipped {
			lines.WriteString(c.line())
			if !isNew[c.path] {
				left = append(left, c.path)
			}
		}
	}
	return left, l.setEntries(ctx, lines.String())
}

// setEntries changes entries of the journal's index, and looks at the files again.
func (l *landing) setEntries(ctx context.Context, lines string) error {
	if lines == "" {
		return nil
	}
	if _, err := l.gitIndex(ctx, "index", lines, "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	return l.refresh(ctx, "index")
}

// line is the new entry as a line for git update-index --index-info.
func (c treeChange) line() string { return entryLine(c.path, c.new, c.old) }

func entryLine(path string, e, other treeEntry) string {
	if e == (treeEntry{}) {
		return fmt.Sprintf("0 %s\t%s\x00", strings.Repeat("0", len(other.object)), path)
	}
	return fmt.Sprintf("%s %s\t%s\x00", e.mode, e.object, path)
}

// as returns the changed files that are as one side has them, by what is in them.
func (l *landing) as(ctx context.Context, side func(treeChange) treeEntry) (map[string]bool, error) {
	if err := os.Remove(l.file("side")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	is := map[string]bool{}
	var lines strings.Builder
	for _, c := range l.changes {
		if e := side(c); e == (treeEntry{}) {
			is[c.path] = !l.present(c.path)
		} else {
			lines.WriteString(entryLine(c.path, e, e))
			is[c.path] = true
		}
	}
	if lines.Len() == 0 {
		return is, nil
	}
	if _, err := l.gitIndex(ctx, "side", lines.String(), "update-index", "-z", "--index-info"); err != nil {
		return nil, err
	}
	if err := l.refresh(ctx, "side"); err != nil {
		return nil, err
	}
	differ, err := l.differing(ctx, "side")
	maps.DeleteFunc(is, func(path string, _ bool) bool { return differ[path] })
	return is, err
}

// present reports whether a file is there, in directories that are not links.
func (l *landing) present(file string) bool {
	if dir := path.Dir(file); dir != "." && !l.hasDir(dir) {
		return false
	}
	info, err := os.Lstat(filepath.Join(l.Root, filepath.FromSlash(file)))
	return err == nil && !info.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// maxBegun bounds the size of a file that is compared with the beginning of another one.
const maxBegun = 256 << 20

// begun reports whether a file is the beginning of what it has in the new commit: git was killed while
// it wrote it.
func (l *landing) begun(ctx context.Context, c treeChange) bool {
	if c.new.mode != "100644" && c.new.mode != "100755" {
		return false
	}
	root, err := os.OpenRoot(l.Root)
	if err != nil {
		return false
	}
	defer root.Close()
	name := filepath.FromSlash(c.path)
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxBegun {
		return false
	}
	have, err := root.ReadFile(name)
	if err != nil {
		return false
	}
	out, err := l.write(ctx, call{args: []string{"cat-file", "--filters", "--path=" + c.path, c.new.object}, set: l.set, memory: l.memory + 2*maxBegun, first: len(have) + 1})
	return err == nil && strings.HasPrefix(out, string(have))
}

// remove removes a file of the worktree.
func (l *landing) remove(file string) error {
	root, err := os.OpenRoot(l.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.Remove(filepath.FromSlash(file))
}
