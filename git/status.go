package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Status is the state of a worktree.
type Status struct {
	// Branch is empty if the head is detached.
	Branch string
	// Head is the start of the commit's hash, empty before the first commit.
	Head string
	// Uncommitted is how many files differ from the commit, untracked ones included; 0 if
	// git does not say, or is not asked.
	Uncommitted int
}

// Short is the start of a commit's name, as people are shown it and boards keep it.
func Short(commit string) string { return commit[:min(len(commit), 12)] }

// Status reads the state of a worktree. It takes no lock in the repository and runs
// nothing that the repository or the user configures. Without the filters a file that one
// of them would change counts as uncommitted if it was touched.
func (r *Repo) Status(ctx context.Context) (Status, error) {
	head, err := r.Head()
	if err != nil {
		return Status{}, err
	}
	s := Status{Branch: head.Branch, Head: Short(head.Commit)}
	if r.Bare {
		return s, nil
	}
	if out, err := r.porcelain(ctx); err == nil {
		s.Uncommitted = strings.Count(out, "\x00")
	}
	return s, nil
}

// porcelain is what git status says for programs about the worktree and its submodules, without
// running a filter. It looks at each submodule by itself: git would run what that configures.
func (r *Repo) porcelain(ctx context.Context, options ...string) (string, error) {
	return r.porcelainAt(ctx, 0, options)
}

func (r *Repo) porcelainAt(ctx context.Context, depth int, options []string) (string, error) {
	out, err := r.ownPorcelain(ctx, options)
	if err != nil || depth == maxNesting {
		return out, err
	}
	if _, err := os.Lstat(filepath.Join(r.Root, ".gitmodules")); err != nil {
		return out, nil
	}
	links, err := r.links(ctx, nil)
	if err != nil {
		return "", err
	}
	for _, l := range links {
		sub := r.submodule(l.path)
		if sub == nil {
			continue
		}
		inside, err := sub.porcelainAt(ctx, depth+1, options)
		if err != nil {
			return "", fmt.Errorf("submodule %q: %w", l.path, err)
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(inside, "\x00"), "\x00") {
			if file := looseFile(line); file != "" {
				out += strings.TrimSuffix(line, file) + l.path + "/" + file + "\x00"
			}
		}
	}
	return out, nil
}

// ownPorcelain is porcelain without the files of submodules. Other worktrees that lie in this one
// are no files of it.
func (r *Repo) ownPorcelain(ctx context.Context, options []string) (string, error) {
	env, err := r.withoutFilters(ctx)
	if err != nil {
		return "", err
	}
	args := append([]string{"status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=dirty", "--untracked-files=normal"}, options...)
	if not := append(r.ownDirs(), r.inside()...); len(not) > 0 {
		args = append(args, "--", ":/")
		for _, path := range not {
			args = append(args, ":(top,exclude,literal)"+path)
		}
	}
	out, err := r.run(ctx, call{args: args, env: env})
	if err != nil || env == nil {
		return out, err
	}
	return r.written(ctx, out)
}

// withoutFilters returns an environment in which git runs no filter of any configuration.
func (r *Repo) withoutFilters(ctx context.Context) (env []string, err error) {
	f, err := r.filters(ctx)
	if err != nil {
		return nil, err
	}
	return f.allOff(func(string) bool { return false }).env(), nil
}
