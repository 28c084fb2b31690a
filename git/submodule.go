package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

// symlink is the mode of a symbolic link in an index or a tree.
const symlink = "120000"

// A link is a gitlink of an index.
type link struct {
	path, object string
	sparse       bool // the directory does not have to be there
}

// links lists the gitlinks of an index. Git does not look into their directories for it.
func (r *Repo) links(ctx context.Context, env []string) ([]link, error) {
	staged, err := r.staged(ctx, env)
	return linksIn(staged), err
}

// staged returns the entries of an index, each with a tag, the mode, the object, the stage and the path.
func (r *Repo) staged(ctx context.Context, env []string) (string, error) {
	return r.run(ctx, call{args: []string{"ls-files", "--stage", "-v", "-z"}, env: env})
}

// linksIn lists the gitlinks among the entries of an index.
func linksIn(staged string) (links []link) {
	for entry := range strings.SplitSeq(staged, "\x00") {
		facts, path, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(facts)                                                                     // a tag, the mode, the object and the stage
		if len(fields) != 4 || fields[1] != gitlink || len(links) > 0 && links[len(links)-1].path == path { // a conflict has several
			continue
		}
		links = append(links, link{path, fields[2], strings.EqualFold(fields[0], "S")})
	}
	return links
}

// inner returns the repository in a directory of the worktree, nil if there is none. A bare
// one is content like any other directory.
func (r *Repo) inner(path string) *Repo {
	if !r.hasDir(path) {
		return nil
	}
	sub, ok := At(filepath.Join(r.Root, path))
	if !ok || sub.Bare && sub.Root == sub.Dir {
		return nil
	}
	return sub
}

// submodule is inner for a submodule in which git may be run: neither another worktree of this
// repository nor foreign to its directory, and with its git directory below the one of this
// repository. Others are repositories of their own. Whoever works in the worktree can write their
// configuration, at any moment: whatever was found in it, git may find a filter there.
func (r *Repo) submodule(path string) *Repo {
	sub := r.inner(path)
	if sub == nil || sub.Common == r.Common || sub.Foreign != "" {
		return nil
	}
	dir, within := r.below(sub.Dir)
	common, shared := r.below(sub.Common)
	if !within || !shared {
		return nil
	}
	sub.Dir, sub.Common = dir, common
	return sub
}

// below returns a directory below the git directory as a path without symbolic links from there on:
// a link in the worktree may lead elsewhere a moment later.
func (r *Repo) below(dir string) (path string, ok bool) {
	top, err := filepath.EvalSymlinks(r.Common)
	if err != nil {
		return "", false
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", false
	}
	rel, err := filepath.Rel(top, dir)
	return filepath.Join(r.Common, rel), err == nil && rel != "." && filepath.IsLocal(rel)
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
//   - A submodule stands for the commit that is checked out, or, if anything there is not
//     committed, for the tree of its snapshot.
//   - A repository of its own stands for the commit that is checked out: nobody looks into it.
//   - Other worktrees of the repository are left out: their work is not part of this one.
//   - An empty directory is a submodule that nobody has checked out, and stays as it was.
//   - Files without a repository are files.
//
// It also returns the directories that git add leaves alone.
func (r *Repo) relinked(ctx context.Context, links []link, how snapping, depth int) (lines string, alone []string, err error) {
	var in strings.Builder
	own := r.Worktrees()
	for _, l := range links {
		sub, module := r.inner(l.path), r.submodule(l.path)
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
		case module == nil:
			alone = append(alone, l.path)
			head, err := sub.Head()
			if err != nil {
				return "", nil, fmt.Errorf("submodule %q: %w", l.path, err)
			}
			if object = head.Commit; len(object) != len(l.object) { // before its first commit, or with other hashes
				object = l.object
			}
		case depth == maxNesting:
			return "", nil, fmt.Errorf("submodules lie more than %d deep in %q", maxNesting, r.Root)
		default:
			alone = append(alone, l.path)
			if object, err = module.content(ctx, how, depth+1); err != nil {
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
func (r *Repo) content(ctx context.Context, how snapping, depth int) (object string, err error) {
	s, err := r.snapshot(ctx, how, depth)
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

// treeLinks returns the gitlinks of a commit or a tree, by path.
func (r *Repo) treeLinks(ctx context.Context, tree string) (map[string]string, error) {
	out, err := r.git(ctx, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", tree)
	links := map[string]string{}
	for entry := range strings.SplitSeq(out, "\x00") {
		facts, path, _ := strings.Cut(entry, "\t")
		if fields := strings.Fields(facts); len(fields) == 3 && fields[0] == gitlink { // the mode, the type and the object
			links[path] = fields[2]
		}
	}
	return links, err
}

// Unseen lists the submodules of a tree whose files are not in the worktree, and that are not the
// same in another commit. An empty commit has none.
func (r *Repo) Unseen(ctx context.Context, tree, before string) ([]string, error) {
	return r.newLinks(ctx, tree, before, func(path, now, old string) bool { return now != old && r.missing(path) })
}

// Unnamed lists the gitlinks of a commit that its .gitmodules does not name, and that another
// commit does not have: no clone gets what is in them. An empty commit has none.
func (r *Repo) Unnamed(ctx context.Context, commit, before string) ([]string, error) {
	var named map[string]bool
	return r.newLinks(ctx, commit, before, func(path, _, old string) bool {
		if named == nil {
			named = r.modules(ctx, commit)
		}
		return old == "" && !named[path]
	})
}

// modules returns the paths of the submodules that the .gitmodules of a commit or a tree names.
func (r *Repo) modules(ctx context.Context, tree string) map[string]bool {
	named := map[string]bool{}
	out, err := r.git(ctx, "config", "--blob", tree+":.gitmodules", "--null", "--get-regexp", `^submodule\..*\.path$`)
	for setting := range strings.SplitSeq(out, "\x00") {
		if _, path, ok := strings.Cut(setting, "\n"); ok && err == nil { // without the file there are none
			named[path] = true
		}
	}
	return named
}

// newLinks lists the gitlinks of a tree for which is returns true, given what they were before.
func (r *Repo) newLinks(ctx context.Context, tree, before string, is func(path, now, old string) bool) (paths []string, err error) {
	links, err := r.treeLinks(ctx, tree)
	if err != nil || len(links) == 0 {
		return nil, err
	}
	old := map[string]string{}
	if before != "" {
		if old, err = r.treeLinks(ctx, before); err != nil {
			return nil, err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(links)) {
		if is(path, links[path], old[path]) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// missing reports whether nothing is checked out in the directory of a gitlink.
func (r *Repo) missing(path string) bool {
	entries, err := os.ReadDir(filepath.Join(r.Root, filepath.FromSlash(path)))
	return errors.Is(err, fs.ErrNotExist) || r.hasDir(path) && err == nil && len(entries) == 0
}
