package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxNesting bounds how deep submodules lie in each other.
const maxNesting = 10

// gitlink is the mode of an index entry for the repository in a directory: a submodule, or
// a repository that nobody has added.
const gitlink = "160000"

// links lists the paths of an index whose entry is a gitlink.
func (r *Repo) links(ctx context.Context, env []string) ([]string, error) {
	out, err := r.run(ctx, call{args: []string{"ls-files", "--stage", "-z"}, env: env})
	if err != nil {
		return nil, err
	}
	var paths []string
	for entry := range strings.SplitSeq(out, "\x00") {
		if path, ok := linkPath(entry); ok && !slices.Contains(paths, path) { // a conflict has several
			paths = append(paths, path)
		}
	}
	return paths, nil
}

func linkPath(entry string) (path string, ok bool) {
	facts, path, _ := strings.Cut(entry, "\t")
	return path, strings.HasPrefix(facts, gitlink+" ")
}

// unlink removes those gitlinks whose directory has files and no repository. Git takes such a
// submodule as unchanged and does not look at the files.
func (r *Repo) unlink(ctx context.Context, env, paths []string) error {
	var in strings.Builder
	for _, path := range paths {
		dir := filepath.Join(r.Root, path)
		entries, _ := os.ReadDir(dir)
		if sub, ok := At(dir); len(entries) > 0 && (!ok || sub.Bare) {
			in.WriteString(path + "\x00")
		}
	}
	return r.updateIndex(ctx, env, in.String(), "--force-remove", "--stdin")
}

// link makes the gitlinks of an index stand for what is in their directories: the commit
// that is checked out, or, if anything there is not committed, the tree of its snapshot.
// Other worktrees of the repository are left out: their work is not part of this one.
func (r *Repo) link(ctx context.Context, env []string, accept func(filter string) bool, depth int) error {
	paths, err := r.links(ctx, env)
	if err != nil || len(paths) == 0 {
		return err
	}
	own := r.Worktrees()
	var links, others strings.Builder
	for _, path := range paths {
		sub, ok := At(filepath.Join(r.Root, path))
		if !ok || sub.Bare {
			continue
		}
		if slices.ContainsFunc(own, func(w *Repo) bool { return w.Dir == sub.Dir && w.Dir != r.Dir }) {
			others.WriteString(path + "\x00")
			continue
		}
		if sub.Foreign != "" {
			return fmt.Errorf("submodule %q: %s", path, sub.Foreign)
		}
		if depth == maxNesting {
			return fmt.Errorf("submodules lie more than %d deep in %q", maxNesting, r.Root)
		}
		object, err := sub.content(ctx, accept, depth+1)
		if err != nil {
			return fmt.Errorf("submodule %q: %w", path, err)
		}
		if object != "" {
			fmt.Fprintf(&links, "%s %s\t%s\x00", gitlink, object, path)
		}
	}
	if err := r.updateIndex(ctx, env, others.String(), "--force-remove", "--stdin"); err != nil {
		return err
	}
	return r.updateIndex(ctx, env, links.String(), "--index-info")
}

// content is the commit that is checked out, or the tree of what is there if that differs.
func (r *Repo) content(ctx context.Context, accept func(filter string) bool, depth int) (object string, err error) {
	s, err := r.snapshot(ctx, accept, depth)
	if err != nil || s.Base == "" {
		return s.Tree, err
	}
	tree, err := r.Tree(ctx, s.Base)
	if err != nil || tree != s.Tree {
		return s.Tree, err
	}
	return s.Base, nil
}

// updateIndex changes an index as lines that end in NUL say, if there are any.
func (r *Repo) updateIndex(ctx context.Context, env []string, lines string, args ...string) error {
	if lines == "" {
		return nil
	}
	_, err := r.run(ctx, call{args: append([]string{"update-index", "-z"}, args...), env: env, stdin: lines})
	return err
}
