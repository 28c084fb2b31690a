package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Stored is a state of a worktree that was stored as a commit.
type Stored struct {
	// Commit is the commit: what is checked out, or a new one on top of that if files differ
	// from it. The entry of a submodule is the commit that is checked out there.
	Commit string
	// Submodules are those that have something that is in no other clone, by path: changes that
	// are not committed, and so are not in Commit, or commits of their own that were not pushed.
	// Their state is kept under the ref in their own repositories.
	Submodules []string
	// Inner are the directories that Inner lists. These repositories are in no commit, unless
	// somebody has committed a link to one.
	Inner []string
}

// Store stores a worktree as a commit that others can merge, without touching the branch, the
// index or a file. What is only in a submodule is kept under a ref there. It stores the snapshot s, or, if that is zero, that
// of Everything; accept is as for Snapshot.
//
// A snapshot has trees in place of submodules with changes, and links to repositories that no
// .gitmodules names. In a commit both would break every clone: the first become the commits that
// are checked out in the submodules, and the second are left out, unless they were committed.
func (r *Repo) Store(ctx context.Context, accept func(filter string) bool, s Snapshot, ref, message string) (Stored, error) {
	if s == (Snapshot{}) {
		var err error
		if s, err = r.Everything(ctx, accept); err != nil {
			return Stored{}, err
		}
	}
	stored, err := r.store(ctx, s, ref, message)
	if err == nil {
		stored.Inner, err = r.Inner(ctx)
	}
	return stored, err
}

// Everything is Snapshot without the directories that Inner lists.
func (r *Repo) Everything(ctx context.Context, accept func(filter string) bool) (Snapshot, error) {
	return r.snapshot(ctx, snapping{accept: accept, outer: true}, 0)
}

func (r *Repo) store(ctx context.Context, s Snapshot, ref, message string) (stored Stored, err error) {
	tree, apart, err := r.mergeable(ctx, s, ref, message)
	if err != nil {
		return Stored{}, err
	}
	stored = Stored{Commit: s.Base, Submodules: apart}
	var parents []string
	before := ""
	if s.Base != "" {
		parents = []string{s.Base}
		if before, err = r.Tree(ctx, s.Base); err != nil {
			return Stored{}, err
		}
	}
	if tree != before {
		if stored.Commit, err = r.commitTree(ctx, tree, parents, message); err != nil {
			return Stored{}, err
		}
	}
	return stored, nil
}

// keep makes a ref name a commit of a submodule. If the ref has another content, that stays, and
// the commit gets a ref beside it. Without a ref, or a commit, nothing is kept.
func (r *Repo) keep(ctx context.Context, ref, commit string) error {
	if ref == "" || commit == "" {
		return nil
	}
	if old := r.Ref(ref); old != "" && old != commit {
		one, err := r.Tree(ctx, old)
		two, err2 := r.Tree(ctx, commit)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if one != two {
			ref += "-" + Short(commit)
		}
	}
	return r.SetRef(ctx, ref, commit, "")
}

// mergeable returns the tree of a snapshot as it can be committed, and the submodules with
// something of their own, which it stores in their repositories.
func (r *Repo) mergeable(ctx context.Context, s Snapshot, ref, message string) (tree string, apart []string, err error) {
	links, err := r.treeLinks(ctx, s.Tree)
	if err != nil || len(links) == 0 {
		return s.Tree, nil, err
	}
	before := map[string]string{}
	if s.Base != "" {
		if before, err = r.treeLinks(ctx, s.Base); err != nil {
			return "", nil, err
		}
	}
	named := r.modules(ctx, s.Tree)
	var lines strings.Builder
	for _, path := range slices.Sorted(maps.Keys(links)) {
		commit := links[path]
		if before[path] == "" && !named[path] {
			commit = ""
		} else if sub := r.submodule(path); sub != nil {
			own := false
			if commit, own, err = sub.entry(ctx, commit, ref, message); err != nil {
				return "", nil, fmt.Errorf("submodule %q: %w", path, err)
			}
			if own {
				apart = append(apart, path)
			}
		}
		switch commit {
		case links[path]:
		case "":
			fmt.Fprintf(&lines, "0 %s\t%s\x00", strings.Repeat("0", len(links[path])), path)
		default:
			fmt.Fprintf(&lines, "%s %s\t%s\x00", gitlink, commit, path)
		}
	}
	if lines.Len() == 0 {
		return s.Tree, apart, nil
	}
	tree, err = r.edited(ctx, s.Tree, lines.String())
	return tree, apart, err
}

// edited returns a tree that has other entries than another one, as lines for git update-index --index-info.
func (r *Repo) edited(ctx context.Context, tree, lines string) (string, error) {
	if err := r.keepsObjects(); err != nil {
		return "", err
	}
	index, remove, err := privateIndex()
	if err != nil {
		return "", err
	}
	defer remove()
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := r.run(ctx, call{args: []string{"read-tree", tree}, env: env, memory: r.readMemory() + addMemory}); err != nil {
		return "", err
	}
	if err := r.updateIndex(ctx, env, lines, "--index-info"); err != nil {
		return "", err
	}
	tree, err = r.run(ctx, call{args: []string{"write-tree"}, env: env})
	return strings.TrimSpace(tree), err
}

// entry returns the commit for the entry of a submodule that a snapshot has as an object, empty
// if there is none. If the submodule has something of its own, it is stored under a ref.
func (r *Repo) entry(ctx context.Context, object, ref, message string) (commit string, own bool, err error) {
	commit, err = r.Commit(ctx, object)
	if errors.Is(err, ErrNoCommit) { // it is a tree
		head, err := r.Head()
		if err != nil {
			return "", false, err
		}
		if ref == "" {
			return head.Commit, true, nil
		}
		stored, err := r.store(ctx, Snapshot{Tree: object, Base: head.Commit}, ref, message)
		if err == nil {
			err = r.keep(ctx, ref, stored.Commit)
		}
		return head.Commit, true, err
	}
	if err != nil {
		return "", false, err
	}
	if own, err = r.unpushed(ctx, commit); err != nil || !own {
		return commit, false, err
	}
	return commit, true, r.keep(ctx, ref, commit)
}

// unpushed reports whether a commit was made here and is in no branch of a remote, as far as the
// repository knows.
func (r *Repo) unpushed(ctx context.Context, commit string) (bool, error) {
	made := false // a shallow clone may have no branch with a commit that came from elsewhere
	for c := range r.headLog() {
		made = made || c.to == commit && makes(c.why)
	}
	if !made {
		return false, nil
	}
	out, err := r.git(ctx, "rev-list", "--max-count=1", commit, "--not", "--remotes")
	return out != "", err
}

// Inner lists the repositories and the worktrees in this worktree of which something is in no commit
// that Store makes, and would be lost with the directory: those that git does not ignore,
// and that are no submodule, or one whose git directory is not below the one of this repository. Of one that was made
// in a directory with files of this repository, that is the history; of others, the files as well. It looks
// into submodules as well.
func (r *Repo) Inner(ctx context.Context) ([]string, error) { return r.innerAll(ctx, 0) }

func (r *Repo) innerAll(ctx context.Context, depth int) ([]string, error) {
	paths, err := r.nested(ctx)
	if err != nil {
		return nil, err
	}
	embedded, err := r.embedded(ctx)
	if err != nil {
		return nil, err
	}
	paths = append(paths, embedded...)
	links, err := r.links(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		sub := r.submodule(l.path)
		switch {
		case r.inner(l.path) == nil:
		case sub == nil, depth == maxNesting:
			paths = append(paths, l.path)
		default:
			more, err := sub.innerAll(ctx, depth+1)
			if err != nil && ctx.Err() == nil {
				more, err = []string{""}, nil // it is broken
			}
			if err != nil {
				return nil, err
			}
			for _, path := range more {
				paths = append(paths, strings.TrimSuffix(l.path+"/"+path, "/"))
			}
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// nested lists the repositories and worktrees in this worktree that are not in its index, and that
// git does not ignore.
func (r *Repo) nested(ctx context.Context) (paths []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	out, err := r.run(ctx, call{args: []string{"ls-files", "--others", "--exclude-standard", "-z"}, memory: r.readMemory() + addMemory})
	for _, path := range split(out) {
		if dir, ok := strings.CutSuffix(path, "/"); ok { // git does not look into it
			paths = append(paths, dir)
		}
	}
	return paths, err
}

// setAside moves the directories that Inner lists out of the worktree, to one beside it.
func (r *Repo) setAside(ctx context.Context) error {
	paths, err := r.Inner(ctx)
	if err != nil || len(paths) == 0 {
		return err
	}
	own, trees := r.inside(), map[string]*Repo{}
	for _, path := range paths {
		if slices.Contains(own, path) {
			trees[path], _ = r.Linked(filepath.Join(r.Root, filepath.FromSlash(path)))
		}
	}
	slices.Sort(paths) // a directory before those in it, which move with it
	aside, err := os.MkdirTemp(filepath.Dir(r.Root), filepath.Base(r.Root)+".inner-")
	if err != nil {
		return err
	}
	for n, path := range paths {
		from, to := filepath.Join(r.Root, filepath.FromSlash(path)), filepath.Join(aside, filepath.FromSlash(path))
		if !slices.ContainsFunc(paths[:n], func(outer string) bool { return strings.HasPrefix(path, outer+"/") }) {
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				return err
			}
			if err := os.Rename(from, to); err != nil {
				return err
			}
		}
		if tree := trees[path]; tree != nil { // the repository has to know where it is
			if err := tree.moved(to); err != nil {
				return err
			}
		}
	}
	return nil
}
