package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/bossman-dev/bossman/git"
)

// content is what is in a worktree: the tree that git stores, and the files that git converts for it. The tree has a submodule also if it
// is empty.
type content struct {
	git.Snapshot
	converted map[string]string
	empty     []string
}

// key identifies the content, byte for byte.
func (s *content) key() string {
	sum := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(s.converted)) {
		fmt.Fprintf(sum, "%q %s\n", path, s.converted[path])
	}
	return s.Tree + " " + hex.EncodeToString(sum.Sum(nil))
}

// judged identifies what a command sees of the content.
func (s *content) judged() string { return fmt.Sprintf("%s %q", s.key(), s.empty) }

// changed lists files that differ from those of another content, at most maxPaths.
func (s *content) changed(ctx context.Context, repo *git.Repo, after content) []string {
	if s.Tree != after.Tree {
		paths, _ := repo.Changed(ctx, s.Tree, after.Tree, maxPaths)
		return paths
	}
	both := maps.Clone(s.converted)
	maps.Copy(both, after.converted)
	maps.DeleteFunc(both, func(path, _ string) bool { return s.converted[path] == after.converted[path] })
	paths := slices.Sorted(maps.Keys(both))
	return paths[:min(len(paths), maxPaths)]
}

// read returns the content of a worktree; outside git there is nothing to compare. It runs
// filters, so it has the time that a check has.
func (c *Check) read(ctx context.Context, repo *git.Repo) (s content, err error) {
	if repo == nil || repo.Bare {
		return s, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit(), fmt.Errorf("git took longer than %v to read the files of the worktree; it runs the filters of .gitattributes", c.limit()))
	defer cancel()
	if s.Snapshot, err = repo.Snapshot(ctx, c.Filters); err != nil {
		return s, err
	}
	if s.Snapshot, err = without(ctx, repo, s.Snapshot, c.written); err != nil {
		return s, err
	}
	if s.converted, err = repo.Converted(ctx, s.Tree); err != nil {
		return s, err
	}
	s.empty, err = repo.Empty(ctx)
	return s, err
}
