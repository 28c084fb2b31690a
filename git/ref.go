package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxPacked bounds the file of packed refs: 600,000 refs have about 48 MB.
const maxPacked = 48 << 20

// maxDepth bounds how many symbolic refs are followed.
const maxDepth = 5

// A Head is what a worktree has checked out.
type Head struct {
	// Branch is the short name, such as main; empty if HEAD is detached.
	Branch string
	// Commit is the full object name; empty before the first commit.
	Commit string
}

// Head reads what is checked out, from files.
func (r *Repo) Head() (Head, error) {
	text, err := r.readRef(r.Dir, "HEAD")
	if err != nil {
		return Head{}, err
	}
	text = strings.TrimSpace(text)
	ref, symbolic := strings.CutPrefix(text, "ref:")
	if !symbolic {
		if !IsObject(text) {
			return Head{}, nil
		}
		return Head{Commit: text}, nil
	}
	ref = strings.TrimSpace(ref)
	branch, _ := strings.CutPrefix(ref, "refs/heads/")
	return Head{Branch: branch, Commit: r.ref(ref, 0)}, nil
}

// Branch returns the commit that a branch points to, empty if there is none.
func (r *Repo) Branch(name string) string { return r.ref("refs/heads/"+name, 0) }

// Locked reports whether a ref is locked: git writes it just now, or was killed while it did.
func (r *Repo) Locked(ref string) bool {
	_, err := os.Lstat(filepath.Join(r.Common, filepath.FromSlash(ref)+".lock"))
	return err == nil
}

// NameOf returns what to call a commit in a command of git: the first of some branches that has it and
// nothing more, or else the whole commit, since a branch can have the name of an abbreviated one.
func (r *Repo) NameOf(commit string, branches ...string) string {
	for _, branch := range branches {
		if branch != "" && r.Branch(branch) == commit && !r.Shadowed(branch) {
			return branch
		}
	}
	return commit
}

// Shadowed reports whether git takes the name of a branch for something else: a tag or another ref
// of that name comes first.
func (r *Repo) Shadowed(branch string) bool {
	for _, dir := range []string{r.Common, r.Dir} {
		if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(branch))); err == nil && !info.IsDir() {
			return true
		}
	}
	for _, ref := range []string{"refs/" + branch, "refs/tags/" + branch} {
		if r.ref(ref, 0) != "" {
			return true
		}
	}
	return IsObject(branch)
}

// Branches returns the commits that the branches point to.
func (r *Repo) Branches() map[string]string { return r.refsIn("refs/heads/") }

// States returns the commits that the refs below refs/bossman name, by the rest of their names, such
// as web-1/1.
func (r *Repo) States() map[string]string { return r.refsIn("refs/bossman/") }

// refsIn returns the commits that the refs of a directory name, by the rest of their names.
func (r *Repo) refsIn(prefix string) map[string]string {
	refs := map[string]string{}
	for line := range r.packed() {
		object, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name, ok := strings.CutPrefix(ref, prefix); ok && IsObject(object) && validRef(ref) {
			refs[name] = object
		}
	}
	dir := filepath.Join(r.Common, filepath.FromSlash(prefix))
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if name = filepath.ToSlash(name); err == nil {
			if commit := r.ref(prefix+name, 0); commit != "" {
				refs[name] = commit
			}
		}
		return nil
	})
	return refs
}

// Tracking returns the remote-tracking branch of a branch, such as origin/main, and its commit; empty
// if there is none. Of those of several remotes, that of origin comes first.
func (r *Repo) Tracking(branch string) (name, commit string) {
	const prefix = "refs/remotes/"
	remotes := []string{"origin"}
	if entries, err := os.ReadDir(filepath.Join(r.Common, filepath.FromSlash(prefix))); err == nil {
		for _, e := range entries {
			remotes = append(remotes, e.Name())
		}
	}
	for line := range r.packed() {
		if _, ref, ok := strings.Cut(strings.TrimSpace(line), " "+prefix); ok {
			remote, _, _ := strings.Cut(ref, "/")
			if !slices.Contains(remotes, remote) {
				remotes = append(remotes, remote)
			}
		}
	}
	for _, remote := range remotes {
		if commit := r.ref(prefix+remote+"/"+branch, 0); commit != "" {
			return remote + "/" + branch, commit
		}
	}
	return "", ""
}

// CanMake reports whether a branch of this name can be made: there is none, nor one whose
// name begins with it and a slash, or is the beginning of it before a slash.
func (r *Repo) CanMake(branch string) bool {
	name := "refs/heads/" + branch
	if !validRef(name) {
		return false
	}
	for up := name; up != "refs/heads"; up = path.Dir(up) {
		if r.ref(up, 0) != "" {
			return false
		}
	}
	for line := range r.packed() {
		if _, ref, ok := strings.Cut(line, " "); ok && strings.HasPrefix(ref, name+"/") {
			return false
		}
	}
	below := false
	_ = filepath.WalkDir(filepath.Join(r.Common, filepath.FromSlash(name)), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			below = true
			return fs.SkipAll
		}
		return nil
	})
	return !below
}

// ref reads a ref; empty if there is none.
func (r *Repo) ref(name string, depth int) string {
	if !validRef(name) || depth > maxDepth {
		return ""
	}
	for _, dir := range []string{r.Dir, r.Common} {
		text, err := r.readRef(dir, name)
		if err != nil {
			continue
		}
		text = strings.TrimSpace(text)
		if to, ok := strings.CutPrefix(text, "ref:"); ok {
			return r.ref(strings.TrimSpace(to), depth+1)
		}
		if IsObject(text) {
			return text
		}
	}
	for line := range r.packed() {
		object, ref, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && ref == name && IsObject(object) {
			return object
		}
	}
	return ""
}

// Leads returns the ref that is written if one is written: itself, unless it is a symbolic one.
func (r *Repo) Leads(ctx context.Context, ref string) (string, error) {
	tables, err := r.extended()
	if err != nil {
		return "", err
	}
	at := ref
	for range maxDepth {
		if !validRef(at) {
			return at, nil // git does not write it
		}
		var to string
		if tables {
			to, err = r.git(ctx, "symbolic-ref", "--quiet", at)
			if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 {
				return at, nil
			}
		} else {
			if info, err := os.Lstat(filepath.Join(r.Common, filepath.FromSlash(at))); err != nil || info.IsDir() {
				return at, nil // it is packed, or new
			}
			to, err = r.readRef(r.Common, at)
			var symbolic bool
			if to, symbolic = strings.CutPrefix(to, "ref:"); err == nil && !symbolic {
				return at, nil
			}
		}
		if err != nil {
			return "", err
		}
		at = strings.TrimSpace(to)
	}
	return "", fmt.Errorf("too many symbolic refs lead on from %q", ref)
}

// readRef reads the file of HEAD or of a ref in a git directory. A symbolic link to a name such as
// refs/heads/main is a symbolic ref, as for git. One that leads out of the repository is refused:
// digits in a file elsewhere would pass for a commit, and be shown.
func (r *Repo) readRef(dir, name string) (string, error) {
	name = filepath.FromSlash(name)
	path := filepath.Join(dir, name)
	if to, err := os.Readlink(path); err == nil && validRef(to) {
		return "ref: " + to, nil
	}
	if err := inside(r.resolved(), dir, name); err != nil {
		return "", err
	}
	return readSmall(path)
}

// packed yields the lines of the file of packed refs, up to one that is too long for a ref.
func (r *Repo) packed() iter.Seq[string] {
	return func(yield func(line string) bool) {
		if inside(r.resolved(), r.Common, "packed-refs") != nil {
			return
		}
		f, err := openPlain(filepath.Join(r.Common, "packed-refs"), maxPacked)
		if err != nil {
			return
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if !yield(lines.Text()) {
				return
			}
		}
	}
}

// Tips lists the commits and tags that refs and the HEADs of all worktrees point to,
// without repetition.
func (r *Repo) Tips() []string {
	seen := map[string]bool{}
	add := func(text string) {
		if text = strings.TrimSpace(text); IsObject(text) {
			seen[text] = true
		}
	}
	for line := range r.packed() {
		object, _, _ := strings.Cut(strings.TrimPrefix(line, "^"), " ")
		add(object)
	}
	_ = filepath.WalkDir(filepath.Join(r.Common, "refs"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if text, err := readSmall(path); err == nil {
				add(text)
			}
		}
		return nil
	})
	heads, _ := filepath.Glob(filepath.Join(globQuote(r.Common), "worktrees", "*", "HEAD"))
	for _, head := range append(heads, filepath.Join(r.Common, "HEAD"), filepath.Join(r.Dir, "HEAD")) {
		if text, err := r.readRef(filepath.Dir(head), "HEAD"); err == nil {
			add(text) // a branch's tip is among the refs
		}
	}
	tips := make([]string, 0, len(seen))
	for tip := range seen {
		tips = append(tips, tip)
	}
	slices.Sort(tips)
	return tips
}

// globQuote quotes a path for filepath.Glob.
func globQuote(path string) string {
	if os.PathSeparator == '\\' {
		return path // there is no quoting there
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// IsObject reports whether a text is a full object name, of SHA-1 or SHA-256.
func IsObject(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// validRef keeps a ref's name inside the repository and away from git's options.
func validRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || len(name) > 1024 || strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.HasSuffix(name, ".lock") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.Contains(part, "..") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' })
}
