package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Converted returns the files of a tree that the worktree has in another form, each with a
// fingerprint of that form. The tree is the one of a snapshot that was just made. Git converts line
// endings, encodings and keywords, runs filters, can store a file as a symbolic link and ignore
// whether it is executable, and leaves out files in a sparse checkout: worktrees with the same tree
// and the same result of Converted have the same files, byte for byte.
func (r *Repo) Converted(ctx context.Context, tree string) (map[string]string, error) {
	forms := map[string]string{}
	return forms, r.converted(ctx, tree, "", forms, 0)
}

// converted adds to forms what is converted in a repository that lies in depth others, as a
// submodule with the path prefix.
func (r *Repo) converted(ctx context.Context, tree, prefix string, forms map[string]string, depth int) error {
	entries, err := r.run(ctx, call{args: []string{"ls-tree", "-r", "-z", "--full-tree", "--end-of-options", tree}})
	if err != nil {
		return err
	}
	var paths, objects []string
	infos := map[string]fs.FileInfo{}
	for _, entry := range split(entries) {
		facts, path, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(facts) // the mode, the type and the object
		if len(fields) != 3 {
			continue
		}
		mode, object := fields[0], fields[2]
		info, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(path)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			forms[prefix+path] = "absent"
		case err != nil:
			return err
		case mode == gitlink:
			if sub := r.submodule(path); sub != nil && depth < maxNesting {
				if err := sub.converted(ctx, object, prefix+path+"/", forms, depth+1); err != nil {
					return err
				}
			}
		case !info.Mode().IsRegular():
		case mode == symlink:
			forms[prefix+path] = "a file"
		default:
			if runtime.GOOS != "windows" && mode == "100755" != (info.Mode()&0o100 != 0) {
				forms[prefix+path] = info.Mode().String()
			}
			paths, objects, infos[path] = append(paths, path), append(objects, object), info
		}
	}
	if len(paths) == 0 {
		return nil
	}
	sizes, err := r.run(ctx, call{args: []string{"cat-file", "--batch-check=%(objectsize)"}, stdin: strings.Join(objects, "\n") + "\n"})
	if err != nil {
		return err
	}
	attributes, err := r.run(ctx, call{args: []string{"check-attr", "-z", "--stdin", "filter", "working-tree-encoding"}, stdin: strings.Join(paths, "\x00") + "\x00"})
	if err != nil {
		return err
	}
	// Other conversions only take bytes away: what has the size of the object is the object.
	read := map[string]bool{}
	for _, path := range withFilter(attributes) {
		read[path] = true
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	lines := strings.Split(sizes, "\n")
	for n, path := range paths {
		if size, err := strconv.ParseInt(lines[min(n, len(lines)-1)], 10, 64); err == nil && size == infos[path].Size() && !read[path] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		sum, err := fingerprint(root, path)
		if err != nil {
			return err
		}
		forms[prefix+path] += sum
	}
	return nil
}

// fingerprint is a hash of the content of a file.
func fingerprint(root *os.Root, path string) (string, error) {
	f, err := openPlainWith(root.OpenFile, path, math.MaxInt64)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}
