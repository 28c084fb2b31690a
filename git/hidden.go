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
// is the project's own decision, and what the user's own configuration does applies to
// all repositories. Worktrees that lie inside this one are left out, too, and submodules are
// looked at in the same way. Each entry is half a sentence.
func (r *Repo) Hidden(ctx context.Context) ([]string, error) { return r.hidden(ctx, 0) }

// hidden is Hidden for a repository that lies in depth others, as a submodule.
func (r *Repo) hidden(ctx context.Context, depth int) ([]string, error) {
	out, err := r.git(ctx, "config", "--show-scope", "--null", "--get-regexp", `^(core\.excludesfile|core\.attributesfile|filter\..*\.(clean|process))$`)
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 {
		out, err = "", nil // there are none
	}
	if err != nil {
		return nil, err
	}
	excludes := []string{filepath.Join(r.Common, "info", "exclude")}
	var hidden []string
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
		paths := slices.DeleteFunc(strings.Split(out, "\x00"), func(p string) bool { return p == "" })
		if len(paths) == 0 {
			continue
		}
		name := "core.excludesFile of this clone"
		if file == excludes[0] {
			name = ".git/info/exclude"
		}
		more := ""
		if len(paths) > maxHidden {
			paths, more = paths[:maxHidden], ", …"
		}
		hidden = append(hidden, name+" leaves out "+strings.Join(paths, ", ")+more)
	}
	inner, err := r.hiddenInside(ctx, depth)
	if err != nil {
		return nil, err
	}
	hidden = append(hidden, inner...)
	slices.Sort(hidden)
	return slices.Compact(hidden), nil
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
		for path := range strings.SplitSeq(strings.TrimRight(out, "\x00"), "\x00") {
			if path != "" {
				hidden = append(hidden, "the worktree "+path+" is left out")
			}
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
