package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxNamed bounds how many files are named to git one by one; for more, all are listed.
const maxNamed = 200

// written returns the lines of git status --porcelain=v2, except those of files that have a filter and
// that have not been written since git added them or checked them out. If such a file is as new as the
// index, git compares its content with the blob, and without the filter the two differ.
func (r *Repo) written(ctx context.Context, out string) (string, error) {
	lines := split(out)
	var paths []string
	for _, line := range lines {
		if modified(line) {
			paths = append(paths, looseFile(line))
		}
	}
	paths, err := r.filtered(ctx, paths)
	if err != nil || len(paths) == 0 {
		return out, err
	}
	args := []string{"ls-files", "--debug", "-z", "--"}
	if len(paths) <= maxNamed {
		for _, path := range paths {
			args = append(args, ":(top,literal)"+path)
		}
	}
	entries, err := r.git(ctx, args...)
	if err != nil {
		return "", err
	}
	as := map[string]bool{} // the files that are as the index has them
	for _, path := range paths {
		as[path] = false
	}
	const facts = 5 // lines that follow a path
	for entries != "" {
		path, rest, _ := strings.Cut(entries, "\x00")
		fields := strings.SplitN(rest, "\n", facts+1)
		if len(fields) <= facts {
			break
		}
		entries = fields[facts]
		if _, ok := as[path]; ok {
			as[path] = r.untouched(path, strings.Join(fields[:facts], "\n"))
		}
	}
	var left strings.Builder
	for _, line := range lines {
		if !modified(line) || !as[looseFile(line)] {
			left.WriteString(line + "\x00")
		}
	}
	return left.String(), nil
}

// modified reports whether a line of git status is one of a file that differs from the index alone.
func modified(line string) bool { return strings.HasPrefix(line, "1 .M ") }

// filtered returns those of the paths to which a filter applies.
func (r *Repo) filtered(ctx context.Context, paths []string) (with []string, err error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := r.run(ctx, call{args: []string{"check-attr", "-z", "--stdin", "filter"}, stdin: strings.Join(paths, "\x00") + "\x00"})
	if err != nil {
		return nil, err
	}
	return withFilter(out), nil
}

// withFilter returns the paths with a filter in what git check-attr -z writes.
func withFilter(out string) (with []string) {
	fields := strings.Split(out, "\x00")
	for i := 0; i+2 < len(fields); i += 3 { // the path, the attribute, and its value
		if value := fields[i+2]; value != "unspecified" && value != "unset" {
			with = append(with, fields[i])
		}
	}
	return with
}

// untouched reports whether a file is the one that the index describes, by its times to the
// nanosecond, number and size.
func (r *Repo) untouched(path, entry string) bool {
	info, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(path)))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	var ctime, cnano, mtime, mnano, dev, uid, gid int64
	var ino, size uint32
	if _, err := fmt.Sscanf(entry, "  ctime: %d:%d\n  mtime: %d:%d\n  dev: %d\tino: %d\n  uid: %d\tgid: %d\n  size: %d", &ctime, &cnano, &mtime, &mnano, &dev, &ino, &uid, &gid, &size); err != nil {
		return false
	}
	at, number := changeOf(info)
	return at == ctime*1e9+cnano && info.ModTime().UnixNano() == mtime*1e9+mnano && number == ino && uint32(info.Size()) == size
}
