package git

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// shallowName begins the names of the files of a view that say where history is cut.
const shallowName = "bossman-shallow-"

// walkTime bounds how long it may take to see whether the history below some commits is there.
const walkTime = 2 * time.Minute

// whole has the contents of files shallow that were looked at, and the commits at which they cut a history
// that is there.
var whole sync.Map

// cuts returns the commits whose parents this clone does not have. The file shallow says so, and anybody who
// can write in the repository can write it: git would take a commit for the first one that has parents, and
// so a change for one that was always there, or the base of some work for an older one. A commit whose
// history is there is not among them, whatever the file says. f has everything else for git to run with.
func (r *Repo) cuts(ctx context.Context, f *frozen) (map[string]bool, error) {
	named, err := r.shallow()
	if err != nil || len(named) == 0 {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(named))
	read := func(args []string, stdin, shallow string, limit time.Duration) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return r.start(ctx, call{args: args, stdin: stdin}, slices.Concat(r.environment(), f.env(), []string{shallowFile + shallow}))
	}
	out, err := read([]string{"cat-file", "--batch"}, strings.Join(names, "\n")+"\n", "", maxRead)
	if err != nil {
		return nil, err
	}
	parents := parentsOf(out)
	all := map[string]bool{}
	for _, list := range parents {
		for _, p := range list {
			all[p] = true
		}
	}
	if out, err = read([]string{"cat-file", "--batch-check"}, strings.Join(slices.Sorted(maps.Keys(all)), "\n")+"\n", "", maxRead); err != nil {
		return nil, err
	}
	missing := map[string]bool{}
	for line := range strings.Lines(out) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), " missing"); ok {
			missing[name] = true
		}
	}
	cut, claimed := map[string]bool{}, []string{}
	for name, list := range parents {
		if slices.ContainsFunc(list, func(p string) bool { return missing[p] }) {
			cut[name] = true
		} else if len(list) > 0 {
			claimed = append(claimed, name)
		}
	}
	if len(claimed) == 0 {
		return cut, nil
	}
	// Older commits than the parents may be missing: git deletes those first.
	slices.Sort(claimed)
	key := strings.Join(slices.Concat([]string{r.Common, ""}, claimed, []string{""}, slices.Sorted(maps.Keys(cut))), "\n")
	if _, ok := whole.Load(key); ok {
		return cut, nil
	}
	file, err := f.cutFile(cut)
	if err != nil {
		return nil, err
	}
	_, err = read([]string{"rev-list", "--quiet", "--stdin"}, strings.Join(claimed, "\n")+"\n", file, walkTime)
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 128 && ctx.Err() == nil {
		for _, name := range claimed {
			cut[name] = true
		}
		return cut, nil
	}
	if err == nil {
		whole.Store(key, true)
	}
	return cut, err
}

// shallow returns the commits that the file shallow names.
func (r *Repo) shallow() (map[string]bool, error) {
	if err := inside(r.resolved(), r.Common, "shallow"); err != nil {
		return nil, err
	}
	file, err := openPlain(filepath.Join(r.Common, "shallow"), maxPacked)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	named := map[string]bool{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if name := strings.TrimSpace(lines.Text()); IsObject(name) {
			named[name] = true
		}
	}
	return named, lines.Err()
}

// parentsOf reads what git cat-file --batch writes, and returns the parents of the commits.
func parentsOf(out string) map[string][]string {
	parents := map[string][]string{}
	for out != "" {
		head, rest, _ := strings.Cut(out, "\n")
		out = rest
		var name, kind string
		var size int
		if n, _ := fmt.Sscanf(head, "%s %s %d", &name, &kind, &size); n < 3 { // it is missing
			continue
		}
		size = min(max(size, 0), len(out))
		text := out[:size]
		out = strings.TrimPrefix(out[size:], "\n")
		if kind != "commit" {
			continue
		}
		list := []string{}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			if p, ok := strings.CutPrefix(line, "parent "); ok && IsObject(p) {
				list = append(list, p)
			}
		}
		parents[name] = list
	}
	return parents
}

// shallowFile begins the variable that names the file which git reads in place of shallow. An empty one
// says that history is cut nowhere.
const shallowFile = "GIT_SHALLOW_FILE="

// cutFile returns a file for git that names some commits, in the view; empty if there are none.
func (f *frozen) cutFile(cut map[string]bool) (string, error) {
	if len(cut) == 0 {
		return "", nil
	}
	text := strings.Join(slices.Sorted(maps.Keys(cut)), "\n") + "\n"
	sum := sha256.Sum256([]byte(text))
	path := filepath.Join(f.view, fmt.Sprintf("%s%x", shallowName, sum[:16]))
	if _, err := os.Lstat(path); err == nil {
		return path, nil
	}
	return path, put(path, text)
}

// Whole returns a *HistoryError if history is cut behind a commit.
func (r *Repo) Whole(ctx context.Context, commit string) error { return r.unknown(ctx, "", commit) }

// unknown returns a *HistoryError if history is cut at one of the commits that are reachable from some and not
// from another one: what lies behind them is not known.
func (r *Repo) unknown(ctx context.Context, notFrom string, from ...string) error {
	f, err := r.now(ctx)
	if err != nil || len(f.cut) == 0 {
		return err
	}
	args := append([]string{"rev-list"}, from...)
	if notFrom != "" {
		args = append(args, "^"+notFrom)
	}
	out, err := r.git(ctx, args...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		if f.cut[strings.TrimSpace(line)] {
			return cutError
		}
	}
	return nil
}

var cutError = &HistoryError{"this clone is shallow, and does not have the history that tells what the work is: run git fetch --unshallow", nil}
