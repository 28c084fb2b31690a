package git

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// StateRefs begins the names of the refs that keep the states of a task.
func StateRefs(task string) string { return "refs/bossman/" + task + "/" }

// SharedRef is the ref of a state at a remote repository. Several boards may share that, each with a task of the same id, so
// the name has the commit, or what Short leaves of it.
func SharedRef(ref, commit string) string { return ref + "-" + Short(commit) }

// ParseState returns whose state a commit is by its name, as States and RemoteStates return both. ok is false if it is none that was
// reported, such as web-1/1-end. Another board may have a task of the same id.
func ParseState(name, commit string) (task string, attempt int, ok bool) {
	task, number, _ := strings.Cut(name, "/")
	number = strings.TrimSuffix(number, SharedRef("", commit))
	attempt, err := strconv.Atoi(number)
	return task, attempt, err == nil
}

// ClaimTrailer names the claim of a state in the message of its commit.
const ClaimTrailer = "Bossman-Claim"

const (
	// unmergedInfix stands in the names of the refs of states with conflicts, before the name of
	// the tree.
	unmergedInfix = "-unmerged-"
	// unmergedTrailer names a file with a conflict in the message of such a state, quoted.
	unmergedTrailer = "Bossman-Unmerged"
)

// Unmerged lists the files of the index that are not merged: a merge, a rebase or a stash had
// conflicts there, and nobody has added them since.
func (r *Repo) Unmerged(ctx context.Context) (paths []string, err error) {
	if r.Bare {
		return nil, nil
	}
	out, err := r.run(ctx, call{args: []string{"ls-files", "--unmerged", "--full-name", "-z", "--", ":/"}})
	for _, entry := range split(out) {
		if _, path, ok := strings.Cut(entry, "\t"); ok {
			paths = append(paths, path)
		}
	}
	return slices.Compact(paths), err
}

// UnmergedTrailers names the files of a state that were not merged, for the end of its message: a
// tree does not say.
func UnmergedTrailers(paths []string) string {
	var text strings.Builder
	for _, path := range paths {
		text.WriteString(unmergedTrailer + ": " + strconv.QuoteToASCII(path) + "\n")
	}
	return text.String()
}

// KeepUnmerged keeps a state whose message has UnmergedTrailers, for Unresolved. ref is that of
// the state, below StateRefs, which may get another one.
func (r *Repo) KeepUnmerged(ctx context.Context, ref, commit string) error {
	tree, err := r.Tree(ctx, commit)
	if err != nil {
		return err
	}
	return r.SetRef(ctx, ref+unmergedInfix+Short(tree), commit, "")
}

// Unresolved lists the files that still have the conflict markers with which KeepUnmerged kept
// them for a task since a time. It looks at the worktree, or at a commit if tip is not empty. A
// marker that the file had before the conflict does not count.
func (r *Repo) Unresolved(ctx context.Context, task string, since time.Time, tip string) (paths []string, err error) {
	out, err := r.git(ctx, "for-each-ref", "--format=%(refname) %(objectname)", strings.TrimSuffix(StateRefs(task), "/"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		ref, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.Contains(ref, unmergedInfix) || !IsObject(commit) {
			continue
		}
		if at, err := r.CommitTime(ctx, commit); err != nil || at.Before(since) {
			continue // it is no commit, or of another board that this clone had
		}
		trailers, err := r.trailers(ctx, commit, unmergedTrailer)
		if err != nil {
			return nil, err
		}
		for _, quoted := range trailers {
			path, err := strconv.Unquote(quoted)
			if err != nil || !filepath.IsLocal(filepath.FromSlash(path)) {
				continue
			}
			left, err := r.marked(ctx, path, commit, commit+"^", tip)
			if err != nil {
				return nil, err
			}
			if left {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// Conflicted lists those files of Unmerged in the worktree that have conflict markers which they
// do not have in what is checked out.
func (r *Repo) Conflicted(ctx context.Context) (paths []string, err error) {
	all, err := r.Unmerged(ctx)
	for _, path := range all {
		left, err := r.marked(ctx, path, "", "HEAD", "")
		if err != nil {
			return nil, err
		}
		if left {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// marked reports whether a file has a conflict marker that it has in one commit and not in another.
// An empty commit is the worktree. Of a file with maxMarkers before, nobody can tell.
func (r *Repo) marked(ctx context.Context, path, in, notIn, now string) (bool, error) {
	has, err := r.markers(ctx, path, in)
	if err != nil || len(has) == 0 {
		return false, err
	}
	before, err := r.markers(ctx, path, notIn)
	if err != nil || len(before) == maxMarkers {
		return false, err
	}
	maps.DeleteFunc(has, func(line string, _ bool) bool { return before[line] })
	if in == now || len(has) == 0 {
		return len(has) > 0, nil
	}
	left, err := r.markers(ctx, path, now)
	if len(left) == maxMarkers { // more than before, and perhaps not all
		return true, err
	}
	for line := range left {
		if has[line] {
			return true, err
		}
	}
	return false, err
}

const (
	// maxMarker bounds how much of a line is compared.
	maxMarker = 1 << 10
	// maxMarkers bounds how many different markers of a file are compared.
	maxMarkers = 1000
	// maxMarked bounds how much of a file in the worktree is read for its markers, and how much of
	// what git finds in a commit.
	maxMarked = 16 << 20
)

// markers returns the different lines of a file that begin or end a conflict, in a commit or, if
// that is empty, in the worktree: the first maxMarkers in maxMarked bytes. There are none if there
// is no such file.
func (r *Repo) markers(ctx context.Context, path, commit string) (map[string]bool, error) {
	lines := map[string]bool{}
	add := func(line string) {
		if line = strings.TrimRight(line, "\r\n"); isMarker(line) && len(lines) < maxMarkers {
			lines[strings.Clone(line[:min(len(line), maxMarker)])] = true
		}
	}
	if commit != "" {
		out, err := r.grepMarkers(ctx, path, commit)
		for line := range strings.Lines(out) {
			if strings.HasSuffix(line, "\n") { // the last one may have been cut
				add(line)
			}
		}
		return lines, err
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	path = filepath.FromSlash(path)
	if info, err := root.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	f, err := openPlainWith(root.OpenFile, path, math.MaxInt64)
	if errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrNotExist) { // it has just been replaced
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	start := true
	for in := bufio.NewReader(io.LimitReader(f, maxMarked)); ctx.Err() == nil && len(lines) < maxMarkers; {
		line, more, err := in.ReadLine()
		if err != nil {
			break
		}
		if start {
			add(string(line))
		}
		start = !more
	}
	return lines, ctx.Err()
}

// grepMarkers returns the lines of a file in a commit that begin or end a conflict, at most
// maxMarked bytes.
func (r *Repo) grepMarkers(ctx context.Context, path, commit string) (string, error) {
	object, err := r.Commit(ctx, commit)
	if errors.Is(err, ErrNoCommit) { // before the first one
		return "", nil
	}
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	out, err := r.run(ctx, call{first: maxMarked, args: []string{
		"grep", "--text", "-h", "--no-line-number", "--no-column", "--no-color", "--no-recurse-submodules", "-E",
		"-e", "^(<{7,}|>{7,}) ", object, "--", ":(top,literal)" + path,
	}})
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 {
		return "", nil
	}
	return out, err
}

// isMarker reports whether a line begins or ends a conflict, as git writes it.
func isMarker(line string) bool {
	for _, c := range []string{"<", ">"} {
		if rest := strings.TrimLeft(line, c); len(line)-len(rest) >= 7 && strings.HasPrefix(rest, " ") {
			return true
		}
	}
	return false
}
