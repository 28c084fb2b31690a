package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// maxHidden bounds the paths that Hidden lists.
const maxHidden = 5

// Hidden says what makes a snapshot differ from the files of the worktree without a trace
// in the repository's content: files that only .git/info/exclude or an excludes file of this
// clone or of the user leave out, line endings, encodings and $Id$ that are converted, filters that this clone
// configures, files that a sparse checkout keeps away, directories without a file, submodules that are not checked out, have
// changes, were not pushed or are repositories of their own, and repositories that .gitmodules does not name, whether somebody has added them or not.
// What .gitignore leaves out is the project's own decision, unless the file leaves out itself, and
// the user's own filters apply to all repositories. Worktrees that lie inside this one are left
// out, too, and submodules are looked at in the same way. Each entry is half a sentence,
// with the names of others in quotation marks.
func (r *Repo) Hidden(ctx context.Context) ([]string, error) { return r.hidden(ctx, 0) }

// hidden is Hidden for a repository that lies in depth others, as a submodule.
func (r *Repo) hidden(ctx context.Context, depth int) ([]string, error) {
	f, err := r.freeze(ctx)
	if err != nil {
		return nil, err
	}
	excludes := []string{filepath.Join(r.Common, "info", "exclude")}
	var hidden []string
	modes, links := false, false // executable bits are not looked at, and links are files
	user := userFiles()
	for _, l := range f.lines {
		switch {
		case l.key == "core.autocrlf":
			user.converts = l.value != "" && !isFalse(l.value) && !(!l.own && runtime.GOOS == "windows") // where it is the default
		case l.key == "core.symlinks":
			links = isFalse(l.value) && !(!l.own && runtime.GOOS == "windows")
		case !l.own && l.key == "core.excludesfile":
			user.excludes = resolve(r.Root, home(l.value))
		case !l.own && l.key == "core.attributesfile":
			user.attributes = resolve(r.Root, home(l.value))
		case !l.own:
		case l.key == "core.excludesfile":
			user.excludes = "" // git reads one of them
			excludes = append(excludes, resolve(r.Root, home(l.value)))
		case l.key == "core.filemode":
			modes = isFalse(l.value)
		case l.key == "core.attributesfile":
			hidden = append(hidden, "core.attributesFile of this clone sets attributes")
		case strings.HasPrefix(l.key, "filter.") && stores(l.key):
			hidden = append(hidden, fmt.Sprintf("filter %.200q of this clone's configuration rewrites files", strings.TrimPrefix(filterName(l.key), "filter.")))
		}
	}
	if hasRules(filepath.Join(r.Common, "info", "attributes")) {
		hidden = append(hidden, ".git/info/attributes sets attributes")
	}
	for _, file := range excludes {
		paths, err := r.excluded(ctx, file)
		if err != nil {
			return nil, err
		}
		name := "core.excludesFile of this clone"
		if file == excludes[0] {
			name = ".git/info/exclude"
		}
		if len(paths) > 0 {
			hidden = append(hidden, name+" leaves out "+quotedList(paths))
		}
	}
	by, err := r.hiddenByUser(ctx, user)
	if err != nil {
		return nil, err
	}
	hidden = append(hidden, by...)
	selves, err := r.selfIgnored(ctx)
	if err != nil {
		return nil, err
	}
	if len(selves) > 0 {
		hidden = append(hidden, "files are left out by a .gitignore that leaves out itself: "+quotedList(selves))
	}
	if modes {
		env, err := r.withoutFilters(ctx)
		if err != nil {
			return nil, err
		}
		limited, cancel := context.WithTimeout(ctx, maxRead)
		defer cancel()
		out, err := r.run(limited, call{args: []string{"-c", "core.fileMode=true", "diff-files", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--diff-filter=MT"}, env: env})
		if err != nil {
			return nil, err
		}
		if paths := split(out); len(paths) > 0 {
			hidden = append(hidden, "core.fileMode of this clone leaves out whether files are executable, such as "+quotedList(paths))
		}
	}
	if links {
		paths, err := r.fakeLinks(ctx)
		if err != nil {
			return nil, err
		}
		if len(paths) > 0 {
			hidden = append(hidden, "core.symlinks makes git store plain files as symbolic links, such as "+quotedList(paths))
		}
	}
	for attribute, files := range map[string][]string{
		"ident":                 {":(top,attr:ident)"},
		"working-tree-encoding": {":(top)", ":(top,exclude,attr:!working-tree-encoding)"}, // it has a value
	} {
		out, err := r.git(ctx, slices.Concat([]string{"ls-files", "--cached", "--others", "--exclude-standard", "-z", "--"}, files)...)
		if err != nil {
			return nil, err
		}
		if paths := split(out); len(paths) > 0 {
			hidden = append(hidden, "attribute "+attribute+" makes git store other text than is in "+quotedList(paths))
		}
	}
	absent, err := r.absent(ctx)
	if err != nil {
		return nil, err
	}
	if len(absent) > 0 {
		hidden = append(hidden, "a sparse checkout keeps files of the tree out of the worktree, such as "+quotedList(absent))
	}
	bare, err := r.emptyDirs(ctx)
	if err != nil {
		return nil, err
	}
	if len(bare) > 0 {
		hidden = append(hidden, "no commit has directories without a file, such as "+quotedList(bare))
	}
	inner, err := r.hiddenInside(ctx, depth)
	if err != nil {
		return nil, err
	}
	hidden = append(hidden, inner...)
	slices.Sort(hidden)
	return slices.Compact(hidden), nil
}

// absent lists files of the index that are not in the worktree because a sparse checkout, or a
// flag of the index, leaves them out.
func (r *Repo) absent(ctx context.Context) (paths []string, err error) {
	out, err := r.git(ctx, "ls-files", "-v", "-z")
	for entry := range strings.SplitSeq(out, "\x00") {
		tag, path, _ := strings.Cut(entry, " ")
		if !strings.EqualFold(tag, "S") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(r.Root, path)); errors.Is(err, fs.ErrNotExist) {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// maxEmptyLooks bounds at how many directories emptyDirs looks.
const maxEmptyLooks = 1000

// emptyDirs lists directories of the worktree in which there is no file.
func (r *Repo) emptyDirs(ctx context.Context) (paths []string, err error) {
	out, err := r.git(ctx, "ls-files", "--others", "--directory", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dirs := slices.DeleteFunc(split(out), func(p string) bool { return !strings.HasSuffix(p, "/") })
	for _, path := range dirs[:min(len(dirs), maxEmptyLooks)] {
		empty := true
		_ = fs.WalkDir(root.FS(), strings.TrimSuffix(path, "/"), func(_ string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				empty = false
				return fs.SkipAll
			}
			return nil
		})
		if empty {
			paths = append(paths, path)
		}
	}
	return paths, nil
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
			hidden = append(hidden, fmt.Sprintf("the worktree %.200q is left out", path))
		}
	}
	links, err := r.links(ctx, nil)
	if err != nil {
		return nil, err
	}
	var empty, unnamed, own []string
	named := map[string]bool{}
	for key, value := range configFile(filepath.Join(r.Root, ".gitmodules")) {
		if strings.HasPrefix(key, "submodule.") && strings.HasSuffix(key, ".path") {
			named[value] = true
		}
	}
	nested, err := r.nested(ctx)
	if err != nil {
		return nil, err
	}
	for _, path := range nested {
		if sub := r.inner(path); sub == nil || sub.Common != r.Common {
			unnamed = append(unnamed, path)
		}
	}
	embedded, err := r.embedded(ctx)
	if err != nil {
		return nil, err
	}
	if len(embedded) > 0 {
		hidden = append(hidden, "directories are repositories of their own, too, and no commit here has their history: "+quotedList(embedded))
	}
	for _, l := range links {
		if !l.sparse && r.missing(l.path) {
			empty = append(empty, l.path)
		}
		if !named[l.path] {
			unnamed = append(unnamed, l.path)
		} else if r.inner(l.path) != nil && r.submodule(l.path) == nil {
			own = append(own, l.path)
		}
	}
	if len(empty) > 0 {
		hidden = append(hidden, "submodules are not checked out, and the check saw none of their files: "+quotedList(empty))
	}
	if len(unnamed) > 0 {
		hidden = append(hidden, "repositories in the worktree are not in .gitmodules, and no clone has their files: "+quotedList(unnamed))
	}
	if len(own) > 0 {
		hidden = append(hidden, "repositories of their own are in the place of submodules, and nobody has looked into them: "+quotedList(own))
	}
	for _, l := range links {
		sub := r.submodule(l.path)
		if sub == nil || depth == maxNesting {
			continue
		}
		out, err := sub.porcelain(ctx)
		if err != nil {
			return nil, err
		}
		if out != "" && named[l.path] {
			hidden = append(hidden, fmt.Sprintf("changes in submodule %.200q are not committed there, and no commit here has them", l.path))
		}
		head, err := sub.Head()
		if err != nil {
			return nil, err
		}
		if own, err := sub.unpushed(ctx, head.Commit); err != nil {
			return nil, err
		} else if own && named[l.path] {
			hidden = append(hidden, fmt.Sprintf("commit %.12s of submodule %.200q was not pushed, and no other clone has it", head.Commit, l.path))
		}
		list, err := sub.hidden(ctx, depth+1)
		if err != nil {
			return nil, err
		}
		for _, h := range list {
			hidden = append(hidden, fmt.Sprintf("in submodule %.200q %s", l.path, h))
		}
	}
	return hidden, nil
}

// excluded lists what a file of patterns leaves out.
func (r *Repo) excluded(ctx context.Context, file string) ([]string, error) {
	if !hasRules(file) {
		return nil, nil
	}
	args := []string{"ls-files", "--others", "--ignored", "-z", "--exclude-from=" + file}
	out, err := r.git(ctx, append(args, "--directory", "--no-empty-directory")...)
	if err != nil {
		return nil, err
	}
	paths := split(out)
	// Git leaves out what is in a directory that has other new files, too, and names the files
	// of a whole directory one by one, which may be too many.
	if out, err = r.git(ctx, args...); err != nil {
		return paths, ctx.Err()
	}
	named := map[string]bool{}
	for _, p := range paths {
		named[p] = true
	}
	for _, p := range split(out) {
		known := named[p]
		for dir := path.Dir(p); dir != "." && !known; dir = path.Dir(dir) {
			known = named[dir+"/"]
		}
		if !known {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// hasRules reports whether there is a file of patterns with more than comments.
func hasRules(path string) bool {
	text, err := readSmall(path)
	if err != nil {
		return path != "" && !errors.Is(err, fs.ErrNotExist) // it is long
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}
