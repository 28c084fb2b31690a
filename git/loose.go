package git

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Loose are the files of a worktree that differ from its commit, untracked ones included, by
// path. Files of submodules are among them.
type Loose map[string]LooseFile

// A LooseFile is what a loose file is.
type LooseFile struct {
	// Untracked is set if the index does not have it.
	Untracked bool
	// Kind is one of file, exec, link, other and gone.
	Kind string
	// Blob is the object that git would make of it without converting it; of a submodule it is the commit
	// that is checked out. It is empty if the file is too large to be read.
	Blob string
	// Stamp is its size and the time of its last change.
	Stamp string
}

// Same reports whether two files have the same content.
func (f LooseFile) Same(other LooseFile) bool {
	if f.Kind != other.Kind {
		return false
	}
	if f.Blob == "" || other.Blob == "" {
		return f.Stamp == other.Stamp
	}
	return f.Blob == other.Blob
}

const (
	// maxLooseRead is how large a loose file may be of which the content is compared.
	maxLooseRead = 8 << 20
	// maxLooseReads is how many of them are read.
	maxLooseReads = 5000
)

// Loose returns the loose files of a worktree. It runs no filter.
func (r *Repo) Loose(ctx context.Context) (Loose, error) {
	files, _, err := r.loose(ctx)
	return files, err
}

// Lying returns the loose files of a worktree, and what git ignores there. A directory that is ignored as a whole is one
// path of that. It runs no filter.
func (r *Repo) Lying(ctx context.Context) (files Loose, ignored []string, err error) {
	return r.loose(ctx, "--ignored=matching")
}

func (r *Repo) loose(ctx context.Context, options ...string) (files Loose, ignored []string, err error) {
	out, err := r.porcelain(ctx, append(options, "--untracked-files=all")...)
	if err != nil {
		return nil, nil, err
	}
	head, err := r.Head()
	if err != nil {
		return nil, nil, err
	}
	files = Loose{}
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		switch path := looseFile(line); {
		case path == "":
		case line[0] == '!':
			ignored = append(ignored, strings.TrimSuffix(path, "/"))
		default:
			files[path] = LooseFile{Untracked: line[0] == '?'}
		}
	}
	for n, path := range slices.Sorted(maps.Keys(files)) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		f := files[path]
		r.describe(&f, path, len(head.Commit) == 2*sha256.Size, n < maxLooseReads)
		files[path] = f
	}
	return files, ignored, nil
}

// Unwatched lists the files that differ from the index and at which git does not look, because they are assumed to be unchanged or
// skipped. A snapshot has them all the same.
func (r *Repo) Unwatched(ctx context.Context) (paths []string, err error) {
	staged, err := r.staged(ctx, nil)
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(staged, "\x00") {
		facts, path, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(facts) // a tag, the mode, the object and the stage
		if len(fields) != 4 || fields[1] == gitlink || fields[0] == strings.ToUpper(fields[0]) && fields[0] != "S" {
			continue
		}
		var f LooseFile
		r.describe(&f, path, len(fields[2]) == 2*sha256.Size, true)
		if f.Blob != fields[2] && !(f.Kind == "gone" && strings.EqualFold(fields[0], "S")) {
			paths = append(paths, path)
		}
	}
	return paths, ctx.Err()
}

// describe fills in what a file of the worktree is.
func (r *Repo) describe(f *LooseFile, path string, long, read bool) {
	name := filepath.Join(r.Root, filepath.FromSlash(path))
	info, err := os.Lstat(name)
	if err != nil {
		f.Kind = "gone"
		return
	}
	f.Stamp = fmt.Sprintf("%d.%d", info.Size(), info.ModTime().UnixNano())
	switch mode := info.Mode(); {
	case mode.IsDir():
		f.Kind, f.Stamp = "other", ""
		if sub := r.submodule(path); sub != nil {
			if head, err := sub.Head(); err == nil {
				f.Blob = head.Commit
			}
		}
	case mode&fs.ModeSymlink != 0:
		f.Kind = "link"
		if to, err := os.Readlink(name); err == nil {
			f.Blob = blob(strings.NewReader(to), int64(len(to)), long)
		}
	case mode.IsRegular():
		f.Kind = "file"
		if mode&0o100 != 0 {
			f.Kind = "exec"
		}
		if !read || info.Size() > maxLooseRead {
			return
		}
		file, err := openPlain(name, maxLooseRead)
		if err != nil {
			return
		}
		defer file.Close()
		f.Blob = blob(file, info.Size(), long)
	default:
		f.Kind = "other"
	}
}

// blob is the name of the object with a content of some size; empty if it has another size. long is set in a
// repository with long names.
func blob(content io.Reader, size int64, long bool) string {
	var sum hash.Hash = sha1.New()
	if long {
		sum = sha256.New()
	}
	fmt.Fprintf(sum, "blob %d\x00", size)
	if n, err := io.Copy(sum, io.LimitReader(content, size+1)); err != nil || n != size {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Sum is a fingerprint: another one as soon as a loose file gets another content, comes or goes.
func (l Loose) Sum() string {
	sum := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(l)) {
		f := l[path]
		if f.Blob != "" {
			f.Stamp = ""
		}
		fmt.Fprintf(sum, "%q %s %s %s\n", path, f.Kind, f.Blob, f.Stamp)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Without returns a snapshot without changes of some files: they are in it as in its commit, or are not in it. It
// returns which of the files it concerns.
func (r *Repo) Without(ctx context.Context, s Snapshot, paths []string) (Snapshot, []string, error) {
	if len(paths) == 0 {
		return s, nil, nil
	}
	not := set(paths)
	return r.without(ctx, s, func(c treeChange) bool { return not[c.path] })
}

// WithoutNew returns a snapshot without the files that its commit does not have and that are one of some paths, or below one.
// It returns these files.
func (r *Repo) WithoutNew(ctx context.Context, s Snapshot, paths []string) (Snapshot, []string, error) {
	if len(paths) == 0 {
		return s, nil, nil
	}
	not := set(paths)
	return r.without(ctx, s, func(c treeChange) bool {
		for p := c.path; c.old == (treeEntry{}) && p != "." && p != "/"; p = path.Dir(p) {
			if not[p] {
				return true
			}
		}
		return false
	})
}

func set(words []string) map[string]bool {
	is := make(map[string]bool, len(words))
	for _, word := range words {
		is[word] = true
	}
	return is
}

// without returns a snapshot without some changes, and the files that these are of.
func (r *Repo) without(ctx context.Context, s Snapshot, not func(treeChange) bool) (Snapshot, []string, error) {
	if s.Tree == "" {
		return s, nil, nil
	}
	changes, err := r.treeChanges(ctx, s.Base, s.Tree)
	if err != nil {
		return s, nil, err
	}
	var lines strings.Builder
	var left []string
	for _, c := range changes {
		if !not(c) {
			continue
		}
		left = append(left, c.path)
		if (c.old == treeEntry{}) {
			fmt.Fprintf(&lines, "0 %s\t%s\x00", strings.Repeat("0", len(s.Tree)), c.path)
		} else {
			fmt.Fprintf(&lines, "%s %s\t%s\x00", c.old.mode, c.old.object, c.path)
		}
	}
	if len(left) == 0 {
		return s, nil, nil
	}
	s.Tree, err = r.edited(ctx, s.Tree, lines.String())
	return s, left, err
}

// Objects returns the objects that commits have under paths, empty where one has none: of each pair of a
// commit and a path the one at the same place.
func (r *Repo) Objects(ctx context.Context, pairs [][2]string) ([]string, error) {
	var names strings.Builder
	for _, p := range pairs {
		if strings.Contains(p[1], "\n") { // which git cannot be asked about in this way
			p[1] = ""
		}
		fmt.Fprintf(&names, "%s:%s\n", p[0], p[1])
	}
	if len(pairs) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	out, err := r.run(ctx, call{args: []string{"cat-file", "--batch-check=%(objectname)"}, stdin: names.String()})
	if err != nil {
		return nil, err
	}
	objects := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(objects) != len(pairs) {
		return nil, fmt.Errorf("git cat-file: %d answers to %d questions", len(objects), len(pairs))
	}
	for n, object := range objects {
		if !IsObject(object) || strings.Contains(pairs[n][1], "\n") {
			objects[n] = ""
		}
	}
	return objects, nil
}

// SameFiles reports whether two commits have the same files under some paths.
func (r *Repo) SameFiles(ctx context.Context, one, two string, paths []string) (bool, error) {
	var pairs [][2]string
	for _, path := range paths {
		pairs = append(pairs, [2]string{one, path}, [2]string{two, path})
	}
	objects, err := r.Objects(ctx, pairs)
	for pair := range slices.Chunk(objects, 2) {
		if pair[0] != pair[1] {
			return false, err
		}
	}
	return err == nil, err
}

// looseFile returns the path in a line of git status --porcelain=v2, which is its last field.
func looseFile(line string) string {
	fields := map[byte]int{'1': 9, 'u': 11, '?': 2, '!': 2}
	if line == "" {
		return ""
	}
	n := fields[line[0]]
	if parts := strings.SplitN(line, " ", max(n, 1)); len(parts) == n {
		return parts[n-1]
	}
	return ""
}
