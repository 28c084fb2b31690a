package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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

// hiddenByUser says which files the user's own configuration leaves out or rewrites.
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
	if !user.converts && !hasRules(user.attributes) {
		return hidden, nil
	}
	out, err := r.git(ctx, "ls-files", "--eol", "--cached", "--others", "--exclude-standard", "-z")
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil { // it reads all files, which may be too many
		return append(hidden, "git's configuration may convert line endings"), nil
	}
	var converted []string
	for _, line := range split(out) {
		facts, path, _ := strings.Cut(line, "\t")
		stored := strings.HasPrefix(facts, "i/lf ") || strings.HasPrefix(facts, "i/ ") && !strings.Contains(facts, "attr/-text") // not added yet
		if stored && (strings.Contains(facts, " w/crlf ") || strings.Contains(facts, " w/mixed ")) {
			converted = append(converted, path)
		}
	}
	if len(converted) > 0 {
		hidden = append(hidden, "git's configuration converts the line endings of "+quotedList(converted))
	}
	return hidden, nil
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
