package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNoCommitInside means that a directory of the worktree is a repository without a commit,
// which git can take neither as a submodule nor as files.
var ErrNoCommitInside = errors.New("git: a repository without a commit lies in the worktree")

// A Snapshot is everything in a worktree at one moment, as objects of the repository.
type Snapshot struct {
	// Tree is the full name of the tree, with all files that git does not ignore. The entry
	// of a submodule that has changes names the tree of its own snapshot, not a commit.
	Tree string
	// Base is the commit that was checked out, empty before the first one.
	Base string
}

// Snapshot stores what is in the worktree, committed or not, without touching the
// branch, the index or a file, and without running a hook. The repository's own git directory
// is never in it. It runs the clean filters of
// the user's and the system's configuration, and of those that the repository and its
// submodules configure the ones that accept accepts, as Filters lists them; nil accepts none.
// If another one applies to a file that has to be stored, the error is a *FilterError.
func (r *Repo) Snapshot(ctx context.Context, accept func(filter string) bool) (Snapshot, error) {
	return r.snapshot(ctx, snapping{accept: accept}, 0)
}

// A snapping says how a snapshot is made.
type snapping struct {
	accept func(filter string) bool // nil accepts none
	outer  bool                     // leave out repositories that nobody has added
}

// snapshot is Snapshot for a repository that lies in depth others, as a submodule.
func (r *Repo) snapshot(ctx context.Context, how snapping, depth int) (Snapshot, error) {
	if r.Bare {
		return Snapshot{}, fmt.Errorf("%w: no files are checked out in %q", ErrNoRepo, r.Root)
	}
	if err := r.keepsObjects(); err != nil {
		return Snapshot{}, err
	}
	head, err := r.Head()
	if err != nil {
		return Snapshot{}, err
	}
	index, remove, err := privateIndex()
	if err != nil {
		return Snapshot{}, err
	}
	defer remove()
	// A copy of the index knows which files are unchanged, so that they are not read
	// again. It needs the time of the original: git reads a file in spite of equal size
	// and time if it may have changed after the index was written.
	if err := copyFile(index, filepath.Join(r.Dir, "index")); err != nil && !os.IsNotExist(err) {
		return Snapshot{}, err
	}
	env := []string{"GIT_INDEX_FILE=" + index}
	staged, err := r.staged(ctx, env)
	if err != nil {
		return Snapshot{}, err
	}
	links := linksIn(staged)
	filters, err := r.filters(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	set, refused := filters.accepted(how.accept, stores)
	if !same(r.Dir, filepath.Join(filepath.Dir(r.Dir), strings.ToUpper(filepath.Base(r.Dir)))) {
		// The file system tells cases apart, whatever the clone's configuration says.
		set = append(set, setting{"core.ignoreCase", "false"})
	}
	env = append(env, set.env()...)
	if err := r.clearFlags(ctx, env, r.flagged(staged)); err != nil {
		return Snapshot{}, err
	}
	if err := r.unlink(ctx, env, links); err != nil {
		return Snapshot{}, err
	}
	lines, alone, err := r.relinked(ctx, links, how, depth)
	if err != nil {
		return Snapshot{}, err
	}
	if how.outer {
		nested, err := r.nested(ctx)
		if err != nil {
			return Snapshot{}, err
		}
		alone = append(alone, nested...)
	}
	paths := ":/\x00"
	for _, path := range append(alone, r.ownDirs()...) {
		paths += ":(top,exclude,literal)" + path + "\x00"
	}
	add := []string{"add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"}
	if _, err := os.Lstat(filepath.Join(r.Dir, "info", "sparse-checkout")); err == nil {
		add = append(add, "--sparse") // files outside the sparse checkout are files, too
	}
	memory := r.readMemory() + addMemory
	if len(filters.own)+len(filters.others) > 0 {
		if err := r.filterStores(filters); err != nil {
			return Snapshot{}, err
		}
		memory += filterMemory
	}
	warned := ""
	_, err = r.run(ctx, call{args: add, env: env, stdin: paths, memory: memory, warned: &warned})
	if paths := unreadable(warned); len(paths) > 0 && ctx.Err() == nil {
		return Snapshot{}, &UnreadableError{paths} // git leaves out a directory that it cannot read
	}
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok && strings.Contains(e.Output, "does not have a commit checked out") {
			err = fmt.Errorf("%w: %.400q", ErrNoCommitInside, strings.TrimSpace(e.Output))
		} else if ctx.Err() == nil {
			err = refusal(err, refused)
		}
		return Snapshot{}, err
	}
	// Of repositories that nobody has added, git takes the commit that is checked out.
	if links, err = r.links(ctx, env); err != nil {
		return Snapshot{}, err
	}
	if err := r.unlink(ctx, env, links); err != nil {
		return Snapshot{}, err
	}
	for _, l := range links {
		if r.inner(l.path) == nil {
			return Snapshot{}, fmt.Errorf("git takes %q for a repository, and Bossman does not", l.path)
		}
	}
	more, _, err := r.relinked(ctx, links, how, depth)
	if err != nil {
		return Snapshot{}, err
	}
	if err := r.updateIndex(ctx, env, lines+more, "--index-info"); err != nil {
		return Snapshot{}, err
	}
	tree, err := r.run(ctx, call{args: []string{"write-tree"}, env: env})
	return Snapshot{Tree: strings.TrimSpace(tree), Base: head.Commit}, err
}

// An UnreadableError means that a worktree has files or directories that git cannot read.
type UnreadableError struct {
	// Paths are some of them, relative to the top of the worktree.
	Paths []string
}

func (e *UnreadableError) Error() string { return "git cannot read " + quotedList(e.Paths) }

// unreadable lists the paths that git complains about because it cannot read them.
func unreadable(complaints string) (paths []string) {
	for line := range strings.Lines(complaints) {
		line, ok := strings.CutSuffix(strings.TrimSpace(line), ": Permission denied")
		if !ok {
			continue
		}
		for _, quote := range [][2]string{{"warning: could not open directory '", "'"}, {`error: open("`, `")`}} {
			if path, ok := strings.CutPrefix(line, quote[0]); ok && strings.HasSuffix(path, quote[1]) {
				paths = append(paths, strings.TrimSuffix(path, quote[1]))
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

const (
	// addMemory is what git may allocate to store files, in addition to what it reads: an
	// entry of the index for each. It maps the files themselves.
	addMemory = 512 << 20
	// filterMemory is what each filter may allocate: the limit holds for them, too.
	filterMemory = 2 << 30
)

// clearFlags makes git look at every file of an index again: at files that are assumed to
// be unchanged, at files outside a sparse checkout that are there all the same, and at files
// whose time of modification was set, which may be that of an earlier content.
func (r *Repo) clearFlags(ctx context.Context, env []string, f flagged) error {
	for flag, paths := range f.flags() {
		if err := r.updateIndex(ctx, env, paths, flag, "--stdin"); err != nil {
			return err
		}
	}
	return r.updateIndex(ctx, env, f.set, "--index-info") // without a time
}

// flagged are the files of an index at which git does not look, as lines for git: those that are
// assumed to be unchanged, those that are skipped and are there, those that are skipped and are
// not there, and those whose time was set.
type flagged struct{ assumed, skipped, absent, set string }

// flags are the options that make git look at files again that are there.
func (f flagged) flags() map[string]string {
	return map[string]string{"--no-assume-unchanged": f.assumed, "--no-skip-worktree": f.skipped}
}

// flagged finds them among the entries of an index.
func (r *Repo) flagged(staged string) flagged {
	var assumed, skipped, absent, set strings.Builder
	for entry := range strings.SplitSeq(staged, "\x00") {
		tag, rest, _ := strings.Cut(entry, " ")
		what, path, ok := strings.Cut(rest, "\t")
		if !ok {
			continue
		}
		if tag == strings.ToLower(tag) {
			assumed.WriteString(path + "\x00")
		}
		info, err := os.Lstat(filepath.Join(r.Root, path))
		if strings.EqualFold(tag, "S") {
			to := &skipped
			if err != nil {
				to = &absent
			}
			to.WriteString(path + "\x00")
		}
		if err == nil && strings.HasSuffix(what, " 0") && !strings.HasPrefix(what, gitlink) && timeSet(info) {
			set.WriteString(rest + "\x00")
		}
	}
	return flagged{assumed.String(), skipped.String(), absent.String(), set.String()}
}

// Changed lists the paths that differ between two trees, at most limit, and says which are
// submodules.
func (r *Repo) Changed(ctx context.Context, old, new string, limit int) ([]string, error) {
	out, err := r.git(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none", "--no-ext-diff", "--no-textconv", old, new)
	if err != nil {
		return nil, err
	}
	var paths []string
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields) && len(paths) < limit; i += 2 { // modes, objects and status, then the path
		path := fields[i+1]
		if strings.HasPrefix(fields[i], ":"+gitlink) || strings.Contains(fields[i], " "+gitlink+" ") {
			path += " (submodule)"
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// ChangedTo returns the objects that a tree has under the paths at which it differs from another one, empty where it has none. An
// empty old one has no files.
func (r *Repo) ChangedTo(ctx context.Context, old, new string) (map[string]string, error) {
	changes, err := r.treeChanges(ctx, old, new)
	if err != nil {
		return nil, err
	}
	objects := make(map[string]string, len(changes))
	for _, c := range changes {
		objects[c.path] = c.new.object
	}
	return objects, nil
}

// maxIndex bounds the index: that of a million files has about 100 MB.
const maxIndex = 1 << 30

// copyFile copies a file with its time of modification.
func copyFile(to, from string) error {
	in, err := openPlain(from, maxIndex)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err := cmp.Or(err, out.Close()); err != nil {
		return err
	}
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// timeSet reports whether the time of modification of a file is not that of its last change, which
// nobody can set. Many builds of git compare both in seconds only.
func timeSet(info fs.FileInfo) bool {
	at, _ := changeOf(info)
	return at != 0 && at/1e9 != info.ModTime().Unix()
}
