package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// A link is a gitlink of an index.
type link struct {
	path, object string
	sparse       bool // the directory does not have to be there
}

// links lists the gitlinks of an index. Git does not look into their directories for it.
func (r *Repo) links(ctx context.Context, env []string) ([]link, error) {
	out, err := r.run(ctx, call{args: []string{"ls-files", "--stage", "-v", "-z"}, env: env})
	if err != nil {
		return nil, err
	}
	var links []link
	for entry := range strings.SplitSeq(out, "\x00") {
		facts, path, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(facts)                                                                     // a tag, the mode, the object and the stage
		if len(fields) != 4 || fields[1] != gitlink || len(links) > 0 && links[len(links)-1].path == path { // a conflict has several
			continue
		}
		links = append(links, link{path, fields[2], strings.EqualFold(fields[0], "S")})
	}
	return links, nil
}

// inner returns the repository in a directory of the worktree, nil if there is none. A bare
// one is content like any other directory.
func (r *Repo) inner(path string) *Repo {
	if !r.hasDir(path) {
		return nil
	}
	sub, ok := At(filepath.Join(r.Root, path))
	if !ok || sub.Bare {
		return nil
	}
	return sub
}

// hasDir reports whether a directory is in the worktree, and not beyond a symbolic link.
func (r *Repo) hasDir(path string) bool {
	if path = filepath.FromSlash(path); !filepath.IsLocal(path) {
		return false
	}
	dir := r.Root
	for part := range strings.SplitSeq(path, string(filepath.Separator)) {
		dir = filepath.Join(dir, part)
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// unlink takes the gitlinks out of an index. With them git would run itself in their
// directories to see whether anything has changed, with all that the repositories there
// configure, wherever they have it.
func (r *Repo) unlink(ctx context.Context, env []string, links []link) error {
	var in strings.Builder
	for _, l := range links {
		in.WriteString(l.path + "\x00")
	}
	if err := r.updateIndex(ctx, env, in.String(), "--force-remove", "--stdin"); err != nil || len(links) == 0 {
		return err
	}
	left, err := r.links(ctx, env)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("the index has a submodule in %q, where git allows none", left[0].path)
	}
	return err
}

// relinked returns the gitlinks of a snapshot, as lines for update-index: those that were in
// the index, and stand for what is in their directories now.
//
//   - A repository stands for the commit that is checked out, or, if anything there is not
//     committed, for the tree of its snapshot.
//   - Other worktrees of the repository are left out: their work is not part of this one.
//   - An empty directory is a submodule that nobody has checked out, and stays as it was.
//   - Files without a repository are files.
//
// It also returns the directories that git add leaves alone.
func (r *Repo) relinked(ctx context.Context, links []link, accept func(filter string) bool, depth int) (lines string, alone []string, err error) {
	var in strings.Builder
	own := r.Worktrees()
	for _, l := range links {
		sub := r.inner(l.path)
		object := ""
		switch {
		case sub == nil:
			entries, err := os.ReadDir(filepath.Join(r.Root, l.path))
			if r.hasDir(l.path) && err == nil && len(entries) == 0 || errors.Is(err, fs.ErrNotExist) && l.sparse {
				object = l.object
			}
		case slices.ContainsFunc(own, func(w *Repo) bool { return w.Dir == sub.Dir && w.Dir != r.Dir }):
			alone = append(alone, l.path)
		case sub.Foreign != "":
			return "", nil, fmt.Errorf("submodule %q: %s", l.path, sub.Foreign)
		case depth == maxNesting:
			return "", nil, fmt.Errorf("submodules lie more than %d deep in %q", maxNesting, r.Root)
		default:
			alone = append(alone, l.path)
			if object, err = sub.content(ctx, accept, depth+1); err != nil {
				return "", nil, fmt.Errorf("submodule %q: %w", l.path, err)
			}
		}
		if object != "" {
			fmt.Fprintf(&in, "%s %s\t%s\x00", gitlink, object, l.path)
		}
	}
	return in.String(), alone, nil
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
