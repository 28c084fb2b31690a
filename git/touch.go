package git

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxTouched bounds how many paths LastTouched looks for.
const maxTouched = 100

// LastTouched returns the newest commit in the history of one commit and not in that of another that
// changed one of some files; empty if there is none. A base that is empty excludes nothing.
func (r *Repo) LastTouched(ctx context.Context, base, tip string, paths []string) (string, error) {
	args := []string{"--literal-pathspecs", "rev-list", "--max-count=1", "--no-merges", "--end-of-options", tip}
	if base != "" {
		args = append(args, "^"+base)
	}
	args = append(args, "--")
	out, err := r.git(ctx, slices.Concat(args, paths[:min(len(paths), maxTouched)])...)
	return strings.TrimSpace(out), err
}

// Touched returns the files that commits have changed which are in the history of one commit and not in that of another.
// Merges are not looked at.
func (r *Repo) Touched(ctx context.Context, notIn, in string) (map[string]bool, error) {
	commits, err := r.Only(ctx, in, notIn)
	if err != nil || len(commits) == 0 {
		return nil, err
	}
	list := strings.Join(slices.Sorted(maps.Keys(commits)), "\n") + "\n"
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	out, err := r.run(ctx, call{
		args:  []string{"diff-tree", "--stdin", "--root", "-r", "-z", "--name-only", "--no-commit-id", "--no-renames", "--ignore-submodules=none", "--no-ext-diff", "--no-textconv"},
		stdin: list, memory: r.readMemory() + addMemory,
	})
	return set(split(out)), err
}

// maxClashed bounds in how many files Clashes looks, and maxHunks how many of the places where one differs.
const maxClashed, maxHunks = 20, 100

// Clashes returns the commits in the history of a target, and not in that of a base, that have last changed lines of
// some files which other work since the base changes, too: the newest first. It is empty if there are none, such as
// where lines were only deleted.
func (r *Repo) Clashes(ctx context.Context, base, target, work string, paths []string) (commits []string, err error) {
	f, err := r.now(ctx) // where there is no .mailmap: git would read that of the worktree, which may be anything
	if err != nil {
		return nil, err
	}
	last := map[string]bool{}
	paths = paths[:min(len(paths), maxClashed)]
	for _, path := range paths {
		mine, err := r.hunks(ctx, base, work, path)
		if err != nil {
			return nil, err
		}
		theirs, err := r.hunks(ctx, base, target, path)
		if err != nil {
			return nil, err
		}
		args := []string{"-C", f.view, "blame", "--porcelain", "--no-textconv"}
		found := 0
		for _, t := range theirs {
			if t.now > 0 && found < maxHunks && slices.ContainsFunc(mine, t.meets) {
				args = append(args, fmt.Sprintf("-L%d,+%d", t.at, t.now))
				found++
			}
		}
		if found == 0 {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, maxRead)
		out, err := r.run(limited, call{args: append(args, base+".."+target, "--", path), memory: r.readMemory() + addMemory, config: []string{"mailmap.file=", "mailmap.blob="}, frozen: f})
		cancel()
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			if name, _, _ := strings.Cut(line, " "); IsObject(name) {
				last[name] = true
			}
		}
	}
	if len(last) == 0 {
		return nil, nil
	}
	out, err := r.git(ctx, "rev-list", "--topo-order", "--end-of-options", target, "^"+base)
	for line := range strings.Lines(out) {
		if name := strings.TrimSpace(line); last[name] {
			commits = append(commits, name)
		}
	}
	return commits, err
}

// A hunk is a place where two versions of a file differ: some lines from one on are others in the new one.
type hunk struct{ from, was, at, now int }

// meets reports whether two hunks of the same old version are about the same lines, or about lines side by side.
func (h hunk) meets(o hunk) bool { return h.from <= o.from+o.was && o.from <= h.from+h.was }

// hunks returns where a file differs between two commits.
func (r *Repo) hunks(ctx context.Context, old, new, path string) (list []hunk, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	out, err := r.run(ctx, call{
		args: []string{
			"--literal-pathspecs", "diff-tree", "-r", "-p", "-U0", "--text", "--inter-hunk-context=0", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", old, new, "--", path,
		},
		memory: r.readMemory() + addMemory, first: maxDiffOutput,
	})
	for line := range strings.Lines(out) {
		head, ok := strings.CutPrefix(line, "@@ -")
		if !ok {
			continue
		}
		h := hunk{was: 1, now: 1}
		before, after, _ := strings.Cut(head, " +")
		if n, _ := fmt.Sscanf(before, "%d,%d", &h.from, &h.was); n == 0 {
			continue
		}
		if h.was == 0 { // what is new is after that line
			h.from++
		}
		if n, _ := fmt.Sscanf(after, "%d,%d", &h.at, &h.now); n > 0 {
			list = append(list, h)
		}
	}
	return list, err
}
