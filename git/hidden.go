package git

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// maxHidden bounds the paths that Hidden lists.
const maxHidden = 5

// Hidden says what makes a snapshot differ from the files of the worktree without a trace
// in the repository's content: files that only .git/info/exclude or core.excludesFile of
// this clone leave out, and filters that this clone configures. What .gitignore leaves out
// is the project's own decision, unless the file leaves out itself, and what the user's own
// configuration does applies to all repositories. Worktrees that lie inside this one are left
// out, too, and submodules are looked at in the same way. Each entry is half a sentence.
func (r *Repo) Hidden(ctx context.Context) ([]string, error) { return r.hidden(ctx, 0) }

// hidden is Hidden for a repository that lies in depth others, as a submodule.
func (r *Repo) hidden(ctx context.Context, depth int) ([]string, error) {
	out, err := r.git(ctx, "config", "--show-scope", "--null", "--type=path", "--get-regexp", `^(core\.(excludesfile|attributesfile|filemode)|filter\..*\.(clean|process))$`)
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 {
		out, err = "", nil // there are none
	}
	if err != nil {
		return nil, err
	}
	excludes := []string{filepath.Join(r.Common, "info", "exclude")}
	var hidden []string
	modes := false // executable bits are not looked at
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 { // scope, then key and value
		if fields[i] != "local" && fields[i] != "worktree" {
			continue
		}
		key, value, _ := strings.Cut(fields[i+1], "\n")
		switch {
		case key == "core.excludesfile":
			if !filepath.IsAbs(value) {
				value = filepath.Join(r.Root, value)
			}
			excludes = append(excludes, value)
		case key == "core.filemode":
			modes = isFalse(value)
		case key == "core.attributesfile":
			hidden = append(hidden, "core.attributesFile of this clone sets attributes")
		default:
			parts := strings.Split(key, ".")
			hidden = append(hidden, "filter "+strings.Join(parts[1:len(parts)-1], ".")+" of this clone's configuration rewrites files")
		}
	}
	if text, err := readSmall(filepath.Join(r.Common, "info", "attributes")); err == nil && hasRules(text) {
		hidden = append(hidden, ".git/info/attributes sets attributes")
	}
	for _, file := range excludes {
		if text, err := readSmall(file); err != nil || !hasRules(text) {
			continue
		}
		out, err := r.git(ctx, "ls-files", "--others", "--ignored", "--directory", "--no-empty-directory", "-z", "--exclude-from="+file)
		if err != nil {
			return nil, err
		}
		name := "core.excludesFile of this clone"
		if file == excludes[0] {
			name = ".git/info/exclude"
		}
		if paths := split(out); len(paths) > 0 {
			hidden = append(hidden, name+" leaves out "+some(paths))
		}
	}
	selves, err := r.selfIgnored(ctx)
	if err != nil {
		return nil, err
	}
	if len(selves) > 0 {
		hidden = append(hidden, "files are left out by a .gitignore that leaves out itself: "+some(selves))
	}
	if modes {
		out, err := r.git(ctx, "-c", "core.fileMode=true", "diff-files", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--diff-filter=MT")
		if err != nil {
			return nil, err
		}
		if paths := split(out); len(paths) > 0 {
			hidden = append(hidden, "core.fileMode of this clone leaves out whether files are executable, such as "+some(paths))
		}
	}
	inner, err := r.hiddenInside(ctx, depth)
	if err != nil {
		return nil, err
	}
	hidden = append(hidden, inner...)
	slices.Sort(hidden)
	return slices.Compact(hidden), nil
}

// selfIgnored lists the files .gitignore that leave out themselves, as tools write them into
// their caches.
func (r *Repo) selfIgnored(ctx context.Context) ([]string, error) {
	out, err := r.git(ctx, "ls-files", "--others", "--ignored", "--exclude-per-directory=.gitignore", "-z", "--", ":(top,glob)**/.gitignore")
	if err != nil || out == "" {
		return nil, err
	}
	verbose, err := r.run(ctx, call{args: []string{"check-ignore", "--verbose", "--no-index", "-z", "--stdin"}, stdin: out})
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 {
		return nil, nil
	}
	var selves []string
	fields := strings.Split(verbose, "\x00")
	for i := 0; i+3 < len(fields); i += 4 { // the source, its line, the pattern, and the path
		if fields[i] == fields[i+3] {
			selves = append(selves, fields[i])
		}
	}
	return selves, err
}

// split divides a list of paths that git wrote with -z.
func split(out string) []string {
	return slices.DeleteFunc(strings.Split(out, "\x00"), func(p string) bool { return p == "" })
}

// some lists the first paths.
func some(paths []string) string {
	more := ""
	if len(paths) > maxHidden {
		paths, more = paths[:maxHidden], ", …"
	}
	return strings.Join(paths, ", ") + more
}

func isFalse(value string) bool {
	return slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(value))
}

// hiddenInside is what is hidden by or in the repositories that lie in the worktree.
func (r *Repo) hiddenInside(ctx context.Context, depth int) (hidden []string, err error) {
	args := []string{"ls-files", "--others", "--directory", "--exclude-standard", "-z", "--"}
	n := len(args)
	for _, w := range r.Worktrees() {
		if rel, err := filepath.Rel(r.Root, w.Root); err == nil && filepath.IsLocal(rel) && rel != "." {
			args = append(args, ":(top,literal)"+filepath.ToSlash(rel))
		}
	}
	if len(args) > n {
		out, err := r.git(ctx, args...)
		if err != nil {
			return nil, err
		}
		for _, path := range split(out) {
			hidden = append(hidden, "the worktree "+path+" is left out")
		}
	}
	paths, err := r.links(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		sub, ok := At(filepath.Join(r.Root, path))
		if !ok || sub.Bare || sub.Common == r.Common || sub.Foreign != "" || depth == maxNesting {
			continue
		}
		list, err := sub.hidden(ctx, depth+1)
		if err != nil {
			return nil, err
		}
		for _, h := range list {
			hidden = append(hidden, "in submodule "+path+" "+h)
		}
	}
	return hidden, nil
}

// hasRules reports whether a file of patterns has more than comments.
func hasRules(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}
