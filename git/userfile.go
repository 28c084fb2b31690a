package git

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A userFile is what the user's own configuration does to the files of all repositories.
type userFile struct {
	// excludes and attributes are the files of patterns, empty if there are none.
	excludes, attributes string
	// converts is set if line endings are converted, which this clone may have configured as
	// well.
	converts bool
}

// userFiles returns the files that git reads without any configuration.
func userFiles() userFile {
	dir := userDir()
	if dir == "" {
		return userFile{}
	}
	return userFile{excludes: filepath.Join(dir, "ignore"), attributes: filepath.Join(dir, "attributes")}
}

// userDir is the directory with the user's own files for git, empty if there is none.
func userDir() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if home, err := os.UserHomeDir(); dir == "" && err == nil {
		dir = filepath.Join(home, ".config")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "git")
}

// hiddenByUser says which files the user's own configuration leaves out, and which ones have other
// line endings than git stores, or would check out.
func (r *Repo) hiddenByUser(ctx context.Context, user userFile) (hidden []string, err error) {
	paths, err := r.excluded(ctx, user.excludes)
	if err != nil {
		return nil, err
	}
	if paths, err = r.notIgnored(ctx, paths); err != nil {
		return nil, err
	}
	if len(paths) > 0 {
		hidden = append(hidden, "the user's own excludes file leaves out "+quotedList(paths))
	}
	converts := user.converts || hasRules(user.attributes)
	if !converts {
		if converts, err = r.hasTextRules(ctx); err != nil || !converts {
			return hidden, err
		}
	}
	out, err := r.git(ctx, "ls-files", "--eol", "--cached", "--others", "--exclude-standard", "-z")
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil { // it reads all files, which may be too many
		return append(hidden, "git may convert line endings"), nil
	}
	var converted []string
	for _, line := range split(out) {
		facts, path, _ := strings.Cut(line, "\t")
		stored := strings.HasPrefix(facts, "i/lf ") || strings.HasPrefix(facts, "i/ ") && !strings.Contains(facts, "attr/-text") // not added yet
		crlf, mixed := strings.Contains(facts, " w/crlf "), strings.Contains(facts, " w/mixed ")
		if strings.Contains(facts, "eol=crlf") { // which is how git checks it out
			crlf = strings.Contains(facts, " w/lf ")
		}
		if stored && (crlf || mixed) {
			converted = append(converted, path)
		}
	}
	if len(converted) > 0 {
		hidden = append(hidden, "git converts the line endings of "+quotedList(converted))
	}
	return hidden, nil
}

// hasTextRules reports whether files .gitattributes of the worktree have rules about line endings.
func (r *Repo) hasTextRules(ctx context.Context) (bool, error) {
	out, err := r.git(ctx, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", ":(top,glob)**/.gitattributes")
	if err != nil {
		return false, err
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return false, err
	}
	defer root.Close()
	return slices.ContainsFunc(split(out), func(path string) bool {
		f, err := openPlainWith(root.OpenFile, path, maxConfig)
		if err != nil {
			return !errors.Is(err, fs.ErrNotExist)
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		return err != nil || textRule.Match(text)
	}), nil
}

// textRule finds an attribute that makes git convert line endings.
var textRule = regexp.MustCompile(`(?m)^[^#\n]*\s(text|eol|crlf)\b`)

// fakeLinks lists the symbolic links of the index that are plain files in the worktree.
func (r *Repo) fakeLinks(ctx context.Context) (paths []string, err error) {
	out, err := r.git(ctx, "ls-files", "--stage", "-z")
	for _, entry := range split(out) {
		facts, path, _ := strings.Cut(entry, "\t")
		if !strings.HasPrefix(facts, symlink+" ") {
			continue
		}
		if info, err := os.Lstat(filepath.Join(r.Root, filepath.FromSlash(path))); err == nil && info.Mode().IsRegular() {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// notIgnored returns the paths that no .gitignore of the repository leaves out.
func (r *Repo) notIgnored(ctx context.Context, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := r.run(ctx, call{args: []string{"check-ignore", "--verbose", "--non-matching", "--no-index", "-z", "--stdin"}, stdin: strings.Join(paths, "\x00") + "\x00"})
	if e, ok := errors.AsType[*Error](err); err != nil && !(ok && e.Exit == 1) {
		return nil, err
	} else if ok {
		return paths, nil
	}
	var rest []string
	fields := strings.Split(out, "\x00")
	for i := 0; i+3 < len(fields); i += 4 { // the source, its line, the pattern, and the path
		if source := fields[i]; filepath.IsAbs(source) || filepath.Base(source) != ".gitignore" {
			rest = append(rest, fields[i+3])
		}
	}
	return rest, nil
}
