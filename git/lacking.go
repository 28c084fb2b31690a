package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Lacking is a submodule whose files are not in the worktree as its commit has them.
type Lacking struct {
	// Path is relative to the top of the worktree.
	Path string
	// Name is that of its settings, submodule.NAME, in the repository in which it lies.
	Name string
}

// Lacking lists the submodules whose recorded commit is not checked out in the worktree, though it should be: those that are active in
// git's sense, because somebody has initialized them in this clone, and those that are not the same in another commit. The other
// commit may be empty: then they do not count. A submodule that git is told not to check out, with submodule.NAME.update = none, is not
// among them, nor is one that .gitmodules does not name, or that is outside a sparse checkout.
func (r *Repo) Lacking(ctx context.Context, before string) ([]Lacking, error) {
	return r.lacking(ctx, before, 0)
}

func (r *Repo) lacking(ctx context.Context, before string, depth int) (list []Lacking, err error) {
	if _, err := os.Lstat(filepath.Join(r.Root, ".gitmodules")); err != nil {
		return nil, nil
	}
	links, err := r.links(ctx, nil)
	if err != nil || len(links) == 0 {
		return nil, err
	}
	old := map[string]string{}
	if before != "" {
		if old, err = r.treeLinks(ctx, before); err != nil {
			return nil, err
		}
	}
	active, err := r.activeModules(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		name, wanted := active.of(l.path)
		wanted = wanted || before != "" && old[l.path] != l.object
		if l.sparse || name == "" || active.never[name] {
			continue
		}
		sub := r.submodule(l.path)
		if sub == nil || !sub.hasCheckedOut(l.object) {
			if wanted {
				list = append(list, Lacking{l.path, name})
			}
			continue
		}
		if depth == maxNesting {
			continue
		}
		inside, err := sub.lacking(ctx, "", depth+1)
		if err != nil {
			return nil, fmt.Errorf("submodule %q: %w", l.path, err)
		}
		for _, s := range inside {
			list = append(list, Lacking{l.path + "/" + s.Path, s.Name})
		}
	}
	return list, nil
}

// Empty lists the submodules in whose directories nothing is checked out.
func (r *Repo) Empty(ctx context.Context) ([]string, error) { return r.emptyModules(ctx, 0) }

func (r *Repo) emptyModules(ctx context.Context, depth int) (paths []string, err error) {
	if _, err := os.Lstat(filepath.Join(r.Root, ".gitmodules")); err != nil {
		return nil, nil
	}
	links, err := r.links(ctx, nil)
	for _, l := range links {
		switch sub := r.submodule(l.path); {
		case r.missing(l.path):
			paths = append(paths, l.path)
		case sub != nil && depth < maxNesting:
			inside, err := sub.emptyModules(ctx, depth+1)
			if err != nil {
				return nil, fmt.Errorf("submodule %q: %w", l.path, err)
			}
			for _, path := range inside {
				paths = append(paths, l.path+"/"+path)
			}
		}
	}
	return paths, err
}

// Inside lists the repositories in the worktree of which a commit here has at most which commit is checked out: the submodules that are
// checked out, and those that nobody has added.
func (r *Repo) Inside(ctx context.Context) ([]string, error) {
	paths, err := r.nested(ctx)
	if err != nil {
		return nil, err
	}
	links, err := r.links(ctx, nil)
	for _, l := range links {
		if r.submodule(l.path) != nil {
			paths = append(paths, l.path)
		}
	}
	slices.Sort(paths)
	return paths, err
}

// hasCheckedOut reports whether a commit is what is checked out.
func (r *Repo) hasCheckedOut(commit string) bool {
	head, err := r.Head()
	return err == nil && head.Commit == commit
}

// activeModules are the submodules of a worktree, as its .gitmodules and the configuration have them.
type activeModules struct {
	names  map[string]string // by path
	active map[string]bool   // by name, if it is said
	chosen map[string]bool   // the paths that submodule.active matches, nil if that is not set
	url    map[string]bool   // by name: it was initialized
	never  map[string]bool   // by name: it is not to be checked out
}

// activeModules reads them.
func (r *Repo) activeModules(ctx context.Context) (m activeModules, err error) {
	m = activeModules{names: map[string]string{}, active: map[string]bool{}, url: map[string]bool{}, never: map[string]bool{}}
	for key, value := range configFile(filepath.Join(r.Root, ".gitmodules")) {
		if name, ok := moduleSetting(key, "path"); ok {
			m.names[value] = name
		}
	}
	f, err := r.now(ctx)
	if err != nil {
		return m, err
	}
	var chosen []string
	for _, l := range f.lines {
		if name, ok := moduleSetting(l.key, "active"); ok {
			m.active[name] = !isFalse(l.value)
		} else if name, ok := moduleSetting(l.key, "url"); ok {
			m.url[name] = true
		} else if name, ok := moduleSetting(l.key, "update"); ok {
			m.never[name] = l.value == "none"
		} else if l.key == "submodule.active" {
			chosen = append(chosen, l.value)
		}
	}
	if chosen == nil {
		return m, nil
	}
	out, err := r.git(ctx, slices.Concat([]string{"ls-files", "-z", "--"}, chosen)...)
	m.chosen = set(split(out))
	return m, err
}

// moduleSetting returns the name of the submodule of which a key of a configuration is a setting.
func moduleSetting(key, setting string) (name string, ok bool) {
	name, ok = strings.CutPrefix(key, "submodule.")
	if ok {
		name, ok = strings.CutSuffix(name, "."+setting)
	}
	return name, ok
}

// of returns the name of the submodule at a path, and whether it is active.
func (m activeModules) of(path string) (name string, active bool) {
	name = m.names[path]
	if active, ok := m.active[name]; ok {
		return name, active
	}
	if m.chosen != nil {
		return name, m.chosen[path]
	}
	return name, m.url[name]
}

// Prepared adds to what Print returns for a command which submodules are lacking: after a command that checks them out, it is another
// one as soon as one of them is not checked out any more.
func (r *Repo) Prepared(ctx context.Context, print string) (string, error) {
	list, err := r.Lacking(ctx, "")
	if err != nil || len(list) == 0 {
		return print, err
	}
	sum := sha256.New()
	for _, s := range list {
		fmt.Fprintf(sum, "%q\n", s.Path)
	}
	return print + "-" + hex.EncodeToString(sum.Sum(nil)), nil
}
