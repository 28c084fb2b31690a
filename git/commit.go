package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ErrNoCommit means that the repository has no such commit.
var ErrNoCommit = errors.New("git: no such commit")

// maxName bounds the name of a commit.
const maxName = 250

// Commit returns the full name of a commit that is named as for git: abbreviated to at least
// four digits, by a branch or a tag, or relative to one, such as HEAD~1. Seven digits or more are a
// commit's, if there is one, whatever branch or tag has that name.
func (r *Repo) Commit(ctx context.Context, name string) (string, error) {
	name = strings.TrimSpace(name)
	if lower := strings.ToLower(name); strings.Trim(lower, "0123456789abcdef") == "" && len(name) >= 7 && !IsObject(lower) {
		name = lower
		if commit, err := r.Abbreviated(ctx, name); commit != "" || err != nil {
			return commit, err
		}
	}
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		return "", fmt.Errorf("%w: %.64q is not a commit's name", ErrNoCommit, name)
	}
	out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 || ok && e.Exit == 128 {
		return "", fmt.Errorf("%w: %s", ErrNoCommit, name)
	}
	if out = strings.TrimSpace(out); err == nil && !IsObject(out) { // such as ^HEAD
		return "", fmt.Errorf("%w: %.64q is not one commit", ErrNoCommit, name)
	}
	return out, err
}

// Abbreviated returns the only commit whose name begins with some digits, at least four; empty if
// there is none. Unlike for Commit, a branch or a tag with such a name is none.
func (r *Repo) Abbreviated(ctx context.Context, digits string) (commit string, err error) {
	if len(digits) < 4 || len(digits) > maxName || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", nil
	}
	out, err := r.git(ctx, "rev-parse", "--disambiguate="+digits)
	if err != nil {
		return "", err
	}
	for _, object := range strings.Fields(out) {
		if kind, err := r.git(ctx, "cat-file", "-t", object); err != nil || strings.TrimSpace(kind) != "commit" {
			continue
		}
		if commit != "" {
			return "", fmt.Errorf("%w: %s is more than one", ErrNoCommit, digits)
		}
		commit = object
	}
	return commit, nil
}

// Contains reports whether a commit is reachable from another one.
func (r *Repo) Contains(ctx context.Context, tip, commit string) (bool, error) {
	_, err := r.git(ctx, "merge-base", "--is-ancestor", commit, tip)
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 {
		return false, nil
	}
	return err == nil, err
}

// Only returns the commits that are in one commit's history and in none of some others'. Others that the
// repository does not have are ignored.
func (r *Repo) Only(ctx context.Context, in string, notIn ...string) (map[string]bool, error) {
	list := in + "\n"
	for _, commit := range notIn {
		if IsObject(commit) {
			list += "^" + commit + "\n"
		}
	}
	if !IsObject(in) {
		return nil, ErrNoCommit
	}
	out, err := r.run(ctx, call{args: []string{"rev-list", "--ignore-missing", "--stdin"}, stdin: list})
	set := map[string]bool{}
	for line := range strings.Lines(out) {
		set[strings.TrimSpace(line)] = true
	}
	return set, err
}

// apart returns the commits that are in the history of one of two commits and not in that of the other.
func (r *Repo) apart(ctx context.Context, left, right string) (onlyLeft, onlyRight map[string]bool, err error) {
	out, err := r.run(ctx, call{args: []string{"rev-list", "--left-right", "--end-of-options", left + "..." + right}})
	onlyLeft, onlyRight = map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if commit, ok := strings.CutPrefix(line, "<"); ok {
			onlyLeft[commit] = true
		} else {
			onlyRight[strings.TrimPrefix(line, ">")] = true
		}
	}
	return onlyLeft, onlyRight, err
}

// A lineage is some commits with their parents.
type lineage struct {
	order []string // parents first
	of    map[string][]string
}

// parents returns the commits that are in the history of some and not in that of another. Those that the
// repository does not have are ignored.
func (r *Repo) parents(ctx context.Context, in []string, notIn string) (l lineage, err error) {
	list := strings.Join(in, "\n") + "\n^" + notIn + "\n"
	out, err := r.run(ctx, call{args: []string{"rev-list", "--ignore-missing", "--topo-order", "--reverse", "--parents", "--stdin"}, stdin: list})
	l.of = map[string][]string{}
	for line := range strings.Lines(out) {
		if names := strings.Fields(line); len(names) > 0 {
			l.order = append(l.order, names[0])
			l.of[names[0]] = names[1:]
		}
	}
	return l, err
}

// Related reports whether two commits have a common ancestor.
func (r *Repo) Related(ctx context.Context, a, b string) (bool, error) {
	_, err := r.git(ctx, "merge-base", a, b)
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 {
		return false, nil
	}
	return err == nil, err
}

// Contained reports whether a commit is reachable from what is checked out.
func (r *Repo) Contained(ctx context.Context, commit string) (bool, error) {
	head, err := r.Head()
	if err != nil || head.Commit == "" {
		return false, err
	}
	return r.Contains(ctx, head.Commit, commit)
}

// Named reports whether a commit is reachable from a branch or another ref. Git deletes others some day.
func (r *Repo) Named(ctx context.Context, commit string) (bool, error) {
	out, err := r.git(ctx, "rev-list", "--max-count=1", "--not", "--glob=refs/*", "--not", "--end-of-options", commit)
	return strings.TrimSpace(out) == "", err
}

// IsNew reports whether a commit is reachable from none of the tips. Tips that the
// repository no longer has are ignored.
func (r *Repo) IsNew(ctx context.Context, commit string, tips []string) (bool, error) {
	var in strings.Builder
	in.WriteString(commit + "\n")
	for _, tip := range tips {
		if IsObject(tip) {
			in.WriteString("^" + tip + "\n")
		}
	}
	out, err := r.run(ctx, call{args: []string{"rev-list", "--ignore-missing", "--max-count=1", "--stdin"}, stdin: in.String()})
	if err != nil {
		return false, err
	}
	return strings.TrimSpace(out) == commit, nil
}

// Changes reports whether a commit changes anything: its tree differs from that of its
// first parent. It is a *HistoryError if a shallow clone does not have that.
func (r *Repo) Changes(ctx context.Context, commit string) (bool, error) {
	out, err := r.git(ctx, "rev-list", "--parents", "--max-count=1", "--end-of-options", commit)
	if err != nil {
		return false, err
	}
	names := strings.Fields(out)
	if len(names) < 2 { // the first commit
		if f, err := r.now(ctx); err != nil || f.cut[commit] {
			return false, cmp.Or(err, error(cutError))
		}
		files, err := r.git(ctx, "ls-tree", "--end-of-options", commit)
		return files != "", err
	}
	old, err := r.Tree(ctx, names[1])
	if err != nil {
		return false, err
	}
	now, err := r.Tree(ctx, commit)
	return now != old, err
}

// LastChange returns the newest commit, from a commit backwards, that changes anything.
func (r *Repo) LastChange(ctx context.Context, commit string) (string, error) {
	out, err := r.git(ctx, "rev-list", "--max-count=1", "--end-of-options", commit, "--", ":/")
	return cmp.Or(strings.TrimSpace(out), commit), err
}

// Tree returns the name of a commit's tree.
func (r *Repo) Tree(ctx context.Context, commit string) (string, error) {
	out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{tree}")
	return strings.TrimSpace(out), err
}

// trees returns the trees of some commits. It is ErrNoCommit if one of them is not the full name of a commit.
func (r *Repo) trees(ctx context.Context, commits ...string) ([]string, error) {
	var in strings.Builder
	for _, commit := range commits {
		if !IsObject(commit) {
			return nil, fmt.Errorf("%w: %.64q is not the full name of a commit", ErrNoCommit, commit)
		}
		fmt.Fprintf(&in, "%s\n%s^{tree}\n", commit, commit)
	}
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	out, err := r.run(ctx, call{args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"}, stdin: in.String()})
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	trees := make([]string, len(commits))
	for n, commit := range commits {
		if len(lines) != 2*len(commits) || lines[2*n] != commit+" commit" {
			return nil, fmt.Errorf("%w: %s", ErrNoCommit, commit)
		}
		tree, ok := strings.CutSuffix(lines[2*n+1], " tree")
		if !ok {
			return nil, fmt.Errorf("the files of commit %s are not in this clone", Short(commit))
		}
		trees[n] = tree
	}
	return trees, nil
}

// Trailer returns the value of a trailer of a commit's message, empty if it has none.
func (r *Repo) Trailer(ctx context.Context, commit, key string) (string, error) {
	values, err := r.trailers(ctx, commit, key)
	if len(values) == 0 {
		return "", err
	}
	return values[0], err
}

// trailers returns the values of all trailers of a commit's message with a key, a line each.
func (r *Repo) trailers(ctx context.Context, commit, key string) (values []string, err error) {
	out, err := r.git(ctx, "rev-list", "--max-count=1", "--format=%(trailers:key="+key+",valueonly)", "--end-of-options", commit)
	_, lines, _ := strings.Cut(out, "\n") // the first line names the commit
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			values = append(values, line)
		}
	}
	return values, err
}

// CommitTime returns when a commit was made, by the committer's clock.
func (r *Repo) CommitTime(ctx context.Context, commit string) (time.Time, error) {
	// Unlike show, rev-list reads no mailmap.
	out, err := r.git(ctx, "rev-list", "--timestamp", "--max-count=1", "--end-of-options", commit)
	if err != nil {
		return time.Time{}, err
	}
	text, _, _ := strings.Cut(out, " ")
	secs, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(secs, 0), err
}
