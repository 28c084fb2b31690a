package git

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A DiffLimit bounds a Diff. What does not fit is named, and not shown.
type DiffLimit struct {
	// Files is how many files are named.
	Files int
	// Patch is how long the patch of a file may be, and All those of all files.
	Patch, All int
}

// maxDiffed is how large a file may be to be compared line by line.
const maxDiffed = 1 << 20

// A FileDiff is what was changed in a file. Path, From and Patch are the repository's text, made valid
// as UTF-8.
type FileDiff struct {
	// Path is that of the file, and From the one that it had before it was renamed.
	Path, From string
	// Kind is A for a file that was added, M modified, D deleted, R renamed, T of another type.
	Kind string
	// Mode is the new mode, such as 100755, if the file had another one, or is new and no plain file.
	Mode string
	// Added and Removed are how many lines were.
	Added, Removed int
	// Size is that of the new file, in bytes.
	Size int64
	// Patch has the lines that differ, with the lines around them, as in a unified diff. It begins
	// with @@, and is empty if only the name or the mode has changed.
	Patch string
	// Left says why Patch is left out: binary, large or more, which means that the diff as a whole
	// is too long.
	Left string
}

// Diff lists what differs between two commits, by path, and how many further files do. An empty base
// has no files. Attributes do not hide anything: they may be part of what is looked at.
func (r *Repo) Diff(ctx context.Context, base, tip string, limit DiffLimit) (list []FileDiff, more int, err error) {
	if base == "" {
		if base, err = r.emptyTree(ctx); err != nil {
			return nil, 0, err
		}
	}
	changes, err := r.treeChanges(ctx, base, tip)
	if err != nil {
		return nil, 0, err
	}
	if len(changes) > limit.Files {
		changes, more = changes[:limit.Files], len(changes)-limit.Files
	}
	sizes, err := r.sizes(ctx, changes)
	if err != nil {
		return nil, 0, err
	}
	var paths []string
	length := 0
	for _, c := range changes {
		switch length += len(c.path); {
		case max(sizes[c.old.object], sizes[c.new.object]) > maxDiffed:
			list = append(list, c.left("large", sizes))
		case length > maxPaths:
			list = append(list, c.left("more", sizes))
		default:
			paths = append(paths, c.path)
		}
	}
	shown, err := r.patches(ctx, base, tip, paths, sizes)
	if err != nil {
		return nil, 0, err
	}
	list = append(list, shown...)
	slices.SortFunc(list, func(a, b FileDiff) int { return strings.Compare(a.Path, b.Path) })
	all := 0
	for i := range list {
		d := &list[i]
		switch n := len(d.Patch); {
		case n > limit.Patch:
			d.Patch, d.Left = "", "large"
		case all+n > limit.All:
			d.Patch, d.Left = "", "more"
		default:
			all += n
		}
	}
	return list, more, nil
}

// maxPaths bounds the paths of one call of git.
const maxPaths = 512 << 10

// left is the FileDiff of a file that is not compared.
func (c treeChange) left(why string, sizes map[string]int64) FileDiff {
	d := FileDiff{Path: valid(c.path), Kind: "M", Size: sizes[c.new.object], Left: why}
	switch {
	case c.old == treeEntry{}:
		d.Kind = "A"
	case c.new == treeEntry{}:
		d.Kind = "D"
	}
	return d
}

// sizes returns the sizes of the files before and after changes, by their objects.
func (r *Repo) sizes(ctx context.Context, changes []treeChange) (map[string]int64, error) {
	var names strings.Builder
	for _, c := range changes {
		for _, e := range []treeEntry{c.old, c.new} {
			if e.object != "" && e.mode != gitlink { // whose commit is not here
				names.WriteString(e.object + "\n")
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	out, err := r.run(ctx, call{args: []string{"cat-file", "--batch-check=%(objectname) %(objectsize)"}, stdin: names.String()})
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for line := range strings.Lines(out) {
		name, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		if sizes[name], err = strconv.ParseInt(size, 10, 64); err != nil {
			return nil, fmt.Errorf("git cat-file: unexpected output %.100q", line)
		}
	}
	return sizes, nil
}

// patches compares some files.
func (r *Repo) patches(ctx context.Context, base, tip string, paths []string, sizes map[string]int64) (list []FileDiff, err error) {
	if len(paths) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxRead)
	defer cancel()
	args := []string{
		"--literal-pathspecs", "diff-tree", "-r", "-M", "-l400", "--raw", "--no-abbrev", "-p", "--text", "-U3", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/",
		"--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--submodule=short", "--no-color", "--no-relative", base, tip, "--",
	}
	out, err := r.run(ctx, call{args: append(args, paths...), memory: r.readMemory() + addMemory, first: maxDiffOutput, config: []string{"diff.suppressBlankEmpty=false"}})
	if err != nil {
		return nil, err
	}
	// Lines with modes, objects, status and paths come first.
	raw, patch, _ := strings.Cut(out, "\n\n")
	sections := strings.Split("\n"+patch, "\ndiff --git ")[1:]
	if len(out) == maxDiffOutput && len(sections) > 0 { // the last one may not be whole
		sections = sections[:len(sections)-1]
	}
	for line := range strings.Lines(raw) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		f := strings.Fields(fields[0])
		if len(f) != 5 || len(fields) < 2 {
			return nil, fmt.Errorf("git diff-tree: unexpected output %.100q", line)
		}
		d := FileDiff{Path: unquoted(fields[len(fields)-1]), Kind: f[4][:1], Size: sizes[f[3]]}
		old := f[0][1:]
		if d.Kind == "A" {
			old = "100644"
		}
		if d.Kind != "D" && f[1] != old {
			d.Mode = f[1]
		}
		if len(fields) == 3 {
			d.From = unquoted(fields[1])
		}
		n := 1
		if d.Kind == "T" { // one that is deleted, and one that is added
			n = 2
		}
		if len(sections) < n {
			d.Left, n = "more", len(sections)
		}
		for _, s := range sections[:n] {
			d.take(s)
		}
		sections = sections[n:]
		list = append(list, d)
	}
	return list, nil
}

// maxDiffOutput bounds what is read of a diff.
const maxDiffOutput = maxOutput / 2

// unquoted returns a path as it is, which git prints in quotation marks if it has special characters.
func unquoted(path string) string {
	if plain, err := strconv.Unquote(path); err == nil && path[0] == '"' {
		path = plain
	}
	return valid(path)
}

// take adds what git has printed about a file, after the words diff --git.
func (d *FileDiff) take(section string) {
	_, hunks, ok := strings.Cut(section, "\n@@ ")
	if !ok {
		return // an empty file, or only the mode or the name has changed
	}
	if strings.ContainsRune(hunks, 0) {
		d.Patch, d.Left = "", "binary"
		return
	}
	hunks = "@@ " + valid(strings.TrimSuffix(hunks, "\n")) + "\n"
	for line := range strings.Lines(hunks) {
		switch line[0] {
		case '+':
			d.Added++
		case '-':
			d.Removed++
		}
	}
	if d.Left == "" {
		d.Patch += hunks
	}
}

// valid makes a text valid UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
