package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/internal/plaindir"
)

// A treeEntry is what a tree or an index has under a path. The zero value is nothing.
type treeEntry struct{ mode, object string }

// A treeChange is a path with different entries in two trees.
type treeChange struct {
	path     string
	old, new treeEntry
}

// treeChanges lists the differences between two commits. An empty one has no files.
func (r *Repo) treeChanges(ctx context.Context, old, new string) (list []treeChange, err error) {
	if old == "" {
		if old, err = r.emptyTree(ctx); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	out, err := r.run(ctx, call{args: []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none", "--no-ext-diff", "--no-textconv", old, new}, memory: r.readMemory() + addMemory})
	if err != nil {
		return nil, err
	}
	entry := func(mode, object string) treeEntry {
		if mode == "000000" {
			return treeEntry{}
		}
		return treeEntry{mode, object}
	}
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 { // modes, objects and status, then the path
		f := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(f) != 5 {
			return nil, fmt.Errorf("git diff-tree: unexpected output %.100q", fields[i])
		}
		list = append(list, treeChange{fields[i+1], entry(f[0], f[2]), entry(f[1], f[3])})
	}
	return list, nil
}

// emptyTree returns the name of a tree without files.
func (r *Repo) emptyTree(ctx context.Context) (string, error) {
	out, err := r.write(ctx, call{args: []string{"mktree"}})
	return strings.TrimSpace(out), err
}

// land moves the branch, and updates the files. After a *HeldError nothing has changed.
func (l *landing) land(ctx context.Context) (Advanced, error) {
	if !l.moved {
		if what := l.UnderWay(); what != "" {
			return Advanced{}, &HeldError{Dir: l.Root, Why: what + " is under way"}
		}
	}
	if err := cmp.Or(l.foldable(), l.hasObjects(ctx)); err != nil {
		return Advanced{}, err
	}
	// The branch must not name objects that a power cut takes away. That may take a while, in which the
	// user can still work.
	if err := l.do("sync", l.Sync); err != nil {
		return Advanced{}, err
	}
	if err := l.do("journal", l.note); err != nil {
		return Advanced{}, err
	}
	done := Advanced{Dir: l.Root}
	err := l.prepare(ctx)
	if err == nil {
		// From here on everything is done, or Recover does it.
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), landTime)
		defer cancel()
		if err = l.moveAll(limited); err == nil {
			if done.Left, err = l.update(limited); err != nil {
				return done, errors.Join(err, l.unlockGit()) // the journal stays
			}
		}
	}
	return done, errors.Join(err, l.unlockGit(), l.do("end", l.forgetNote))
}

// inTheWay is said of files.
const inTheWay = "these files have changes of their own, or are in the way"

// wouldLose is how git read-tree names a file that it would lose changes of.
var wouldLose = regexp.MustCompile(`(?s)^error: (?:Entry|Updating|Untracked working tree file) '(.*)' (?:not uptodate|would )`)

// prepare locks the index and HEAD, and finds out whether the files can be updated.
func (l *landing) prepare(ctx context.Context) error {
	for _, name := range gitLocks {
		if err := l.do("lock "+name, func() error { return l.lockGit(ctx, name) }); err != nil {
			return err
		}
	}
	head, err := l.Head()
	if err != nil {
		return err
	}
	if head.Branch != l.a.Branch {
		return &HeldError{Dir: l.Root, Why: fmt.Sprintf("another branch than %.80q was checked out in this moment", l.a.Branch)}
	}
	if now := l.Branch(l.a.Branch); !l.moved && now != l.a.Old {
		return &MovedError{l.a.Branch, now}
	}
	if err := l.do("copy the index", l.copyIndex); err != nil {
		return err
	}
	if err := l.do("refresh", func() error { return l.refresh(ctx, "index") }); err != nil {
		return err
	}
	files, err := l.inTheWay(ctx)
	if err == nil && len(files) > 0 {
		if err = l.takeOver(ctx, files); err == nil {
			files, err = l.inTheWay(ctx)
		}
	}
	if err != nil {
		return err
	}
	if len(files) > 0 {
		return &HeldError{Dir: l.Root, Why: inTheWay, Files: files}
	}
	old, err := l.oldTree(ctx)
	if err != nil {
		return err
	}
	if err := l.do("try", func() error { return l.readTree(ctx, old, "-n", "-m", "-u") }); err != nil {
		if e, ok := errors.AsType[*Error](err); ok && ctx.Err() == nil && e.Exit > 0 {
			if m := wouldLose.FindStringSubmatch(e.Output); m != nil { // such as a file that is assumed to be unchanged
				return &HeldError{Dir: l.Root, Why: inTheWay, Files: m[1:]}
			}
			return &HeldError{Dir: l.Root, Why: fmt.Sprintf("git would not update the files: %.300q", strings.TrimSpace(e.Output))}
		}
		return err
	}
	return l.do("try filters", func() error { return l.tryFilters(ctx) })
}

// moveAll moves the branch, as seen from a git directory with another HEAD: git would lock that of
// the worktree, which is locked already.
func (l *landing) moveAll(ctx context.Context) error {
	if l.moved {
		return nil
	}
	apart := &Repo{Root: l.Root, Dir: l.dir, Common: l.Common, Bare: true}
	if err := l.do("move the branch", func() error { return apart.move(ctx, l.a) }); err != nil {
		return err
	}
	return l.do("log", func() error { l.logHead(ctx); return nil })
}

// logHead adds the move to the log of HEAD, as git would, if there is one.
func (l *landing) logHead(ctx context.Context) {
	env, err := l.identity(ctx)
	if err != nil {
		return
	}
	who, err := l.Repo.run(ctx, call{args: []string{"var", "GIT_COMMITTER_IDENT"}, env: env})
	if err != nil {
		return
	}
	logs, err := l.OpenDir("logs")
	if err != nil {
		return
	}
	defer logs.Close()
	old := l.a.Old
	if old == "" {
		old = strings.Repeat("0", len(l.a.New))
	}
	_ = plaindir.Append(logs, "HEAD", old+" "+l.a.New+" "+strings.TrimSpace(who)+"\t"+strings.Join(strings.Fields(l.a.Why), " ")+"\n")
}

// update updates the files and the index. Files that could not be written are left.
func (l *landing) update(ctx context.Context) (left []string, err error) {
	old, err := l.oldTree(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.do("update", func() error { return l.readTree(ctx, old, "-m", "-u") }); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return l.complete(ctx)
	}
	return nil, l.do("put the index", l.putIndex)
}

// oldTree returns the old commit, or a tree without files if there is none.
func (l *landing) oldTree(ctx context.Context) (string, error) {
	if l.a.Old == "" {
		return l.emptyTree(ctx)
	}
	return l.a.Old, nil
}

// readTree runs git read-tree on the journal's index, from a tree to the new commit.
func (l *landing) readTree(ctx context.Context, from string, options ...string) error {
	_, err := l.gitIndex(ctx, "index", "", append(append([]string{"read-tree"}, options...), from, l.a.New)...)
	return err
}

// gitIndex runs git on an index of the journal.
func (l *landing) gitIndex(ctx context.Context, index, stdin string, args ...string) (string, error) {
	out, err := l.write(ctx, call{args: args, env: []string{"GIT_INDEX_FILE=" + l.file(index)}, set: l.set, stdin: stdin, memory: l.memory})
	if err != nil && ctx.Err() == nil {
		err = refusal(err, l.refused)
	}
	return out, err
}

// copyIndex makes the journal's index a copy of the worktree's.
func (l *landing) copyIndex() error {
	for _, name := range []string{"index", "index.lock"} {
		if err := os.Remove(l.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	err := copyFile(l.file("index"), filepath.Join(l.Dir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // before the first commit
	}
	return err
}

// putIndex makes the journal's index that of the worktree.
func (l *landing) putIndex() error {
	f, err := os.Open(l.file("index"))
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(l.file("index"), filepath.Join(l.Dir, "index"))
}

// refresh makes an index of the journal know which files are unchanged.
func (l *landing) refresh(ctx context.Context, index string) error {
	changed := false
	_, err := l.write(ctx, call{args: []string{"update-index", "-q", "--refresh"}, env: []string{"GIT_INDEX_FILE=" + l.file(index)}, set: l.set, memory: l.memory, one: &changed})
	if err != nil && ctx.Err() == nil {
		err = refusal(err, l.refused)
	}
	return err
}

// An indexEntry is what an index has under a path.
type indexEntry struct {
	treeEntry
	skipped  bool // it need not be in the worktree
	unmerged bool
}

// named returns options that make git look at the changed files alone; none if there are many.
func (l *landing) named() []string {
	args := []string{"--"}
	for _, c := range l.changes {
		args = append(args, ":(top,literal)"+c.path)
	}
	if len(args) > maxNamed {
		return nil
	}
	return args
}

// entries reads the entries of the changed files in the journal's index.
func (l *landing) entries(ctx context.Context) (map[string]indexEntry, error) {
	out, err := l.gitIndex(ctx, "index", "", append([]string{"ls-files", "--stage", "-v", "-z"}, l.named()...)...)
	if err != nil {
		return nil, err
	}
	all := map[string]indexEntry{}
	for line := range strings.SplitSeq(out, "\x00") {
		facts, path, _ := strings.Cut(line, "\t")
		if f := strings.Fields(facts); len(f) == 4 { // a tag, the mode, the object and the stage
			all[path] = indexEntry{treeEntry{f[1], f[2]}, strings.EqualFold(f[0], "S"), f[3] != "0"}
		}
	}
	return all, nil
}

// differing lists the changed files that are not as an index of the journal has them.
func (l *landing) differing(ctx context.Context, index string) (map[string]bool, error) {
	out, err := l.gitIndex(ctx, index, "", append([]string{"diff-files", "-z", "--name-only", "--ignore-submodules=all", "--no-ext-diff", "--no-textconv"}, l.named()...)...)
	set := map[string]bool{}
	for _, path := range split(out) {
		set[path] = true
	}
	return set, err
}

// inTheWay lists the files with changes that the update would overwrite, and what is in the place of
// new files. Unlike git, it does not overwrite files that git ignores, nor bring back deleted ones.
func (l *landing) inTheWay(ctx context.Context) (files []string, err error) {
	entries, err := l.entries(ctx)
	if err != nil {
		return nil, err
	}
	changed, err := l.differing(ctx, "index")
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, c := range l.changes {
		if e := entries[c.path]; c.new == (treeEntry{}) && e.treeEntry == c.old {
			gone[c.path] = true
		}
	}
	if files, err = l.Unmerged(ctx); err != nil {
		return nil, err
	}
	for _, c := range l.changes {
		switch e := entries[c.path]; {
		case e.unmerged:
		case e.treeEntry == c.new:
		case e.treeEntry != c.old, changed[c.path] && !e.skipped:
			files = append(files, c.path)
		case c.old == (treeEntry{}) && l.standing(c.path, gone), c.old.mode == gitlink && c.new.mode != gitlink && c.new != (treeEntry{}) && l.standing(c.path, gone):
			files = append(files, c.path)
		case !l.mayWrite(c.path):
			files = append(files, c.path)
		}
	}
	slices.Sort(files)
	return files, nil
}

// takeOver makes the journal's index have the new entries of those of some files, which are sorted, that are as the new commit has them already,
// though not committed: nothing is lost with them. What is staged stays.
func (l *landing) takeOver(ctx context.Context, files []string) error {
	entries, err := l.entries(ctx)
	if err != nil {
		return err
	}
	isNew, err := l.as(ctx, func(c treeChange) treeEntry { return c.new })
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, c := range l.changes {
		e := entries[c.path]
		if _, held := slices.BinarySearch(files, c.path); held && isNew[c.path] && e.treeEntry == c.old && !e.unmerged && !e.skipped && c.old.mode != gitlink && c.new.mode != gitlink {
			lines.WriteString(c.line())
		}
	}
	return l.setEntries(ctx, lines.String())
}

// standing reports whether something is in the place of a new file: a file there, one in place of a
// directory on the way, or one in a directory of that name. What goes away with the update, gone, is not.
func (l *landing) standing(path string, gone map[string]bool) bool {
	parts := strings.Split(path, "/")
	for n := range parts {
		at := strings.Join(parts[:n+1], "/")
		full := filepath.Join(l.Root, filepath.FromSlash(at))
		info, err := os.Lstat(full)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false
		case err != nil:
			return true
		case !info.IsDir():
			return !gone[at]
		}
	}
	found := false
	_ = filepath.WalkDir(filepath.Join(l.Root, filepath.FromSlash(path)), func(file string, e fs.DirEntry, err error) error {
		rel, failed := filepath.Rel(l.Root, file)
		if err != nil || failed != nil || !e.IsDir() && !gone[filepath.ToSlash(rel)] {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// mayWrite reports whether a file can be made or removed: its directory, or the first above it that
// is there, may be written.
func (l *landing) mayWrite(file string) bool {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		full := filepath.Join(l.Root, filepath.FromSlash(dir))
		if info, err := os.Lstat(full); err == nil {
			return !info.IsDir() || canWrite(full)
		}
		if dir == "." {
			return true
		}
	}
}

// foldable returns an error if the file system takes two of the changed paths for one.
func (l *landing) foldable() error {
	if !same(l.Dir, filepath.Join(filepath.Dir(l.Dir), strings.ToUpper(filepath.Base(l.Dir)))) {
		return nil
	}
	seen := map[string]string{}
	for _, c := range l.changes {
		folded := strings.ToLower(c.path)
		if other, ok := seen[folded]; ok {
			return &HeldError{Dir: l.Root, Why: "the file system does not tell upper from lower case, and the update has names that differ only in that: check out another branch", Files: []string{other, c.path}}
		}
		seen[folded] = c.path
	}
	return nil
}

// hasObjects returns a *HistoryError if a partial clone does not have the new files: git fetches nothing.
func (l *landing) hasObjects(ctx context.Context) error {
	if !l.partial() {
		return nil
	}
	var objects strings.Builder
	for _, c := range l.changes {
		if c.new.mode != "" && c.new.mode != gitlink {
			objects.WriteString(c.new.object + "\n")
		}
	}
	out, err := l.run(ctx, call{args: []string{"cat-file", "--batch-check"}, stdin: objects.String()})
	if ctx.Err() == nil && (err != nil || strings.Contains(out, " missing\n")) {
		return &HistoryError{"this clone is partial, and does not have all files of the new commit: " + refetch, err}
	}
	return err
}

// tryFilters checks out the changed files that have a filter into a directory of the journal. A
// filter that fails, or is not accepted, so fails before anything has changed.
func (l *landing) tryFilters(ctx context.Context) error {
	var paths []string
	for _, c := range l.changes {
		if c.new.mode != "" && c.new.mode != gitlink {
			paths = append(paths, c.path)
		}
	}
	if len(paths) == 0 || !l.filtering {
		return nil
	}
	// The attributes are those of the index as it will be.
	if _, err := l.gitIndex(ctx, "next", "", "read-tree", l.a.New); err != nil {
		return err
	}
	defer os.Remove(l.file("next"))
	out, err := l.gitIndex(ctx, "next", strings.Join(paths, "\x00")+"\x00", "check-attr", "--cached", "-z", "--stdin", "filter")
	if err != nil {
		return err
	}
	if paths = withFilter(out); len(paths) == 0 {
		return nil
	}
	defer os.RemoveAll(l.file("try"))
	_, err = l.gitIndex(ctx, "next", strings.Join(paths, "\x00")+"\x00", "checkout-index", "--force", "-z", "--stdin", "--prefix="+l.file("try")+"/")
	if _, refused := errors.AsType[*FilterError](err); err == nil || refused || ctx.Err() != nil {
		return err
	}
	return &HeldError{Dir: l.Root, Why: fmt.Sprintf("git cannot check out a file of the new commit: %v", err)}
}
