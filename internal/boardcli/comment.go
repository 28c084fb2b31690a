package boardcli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// checkPlaces returns an error if a comment is on something that the diff of a task does not have: most likely it was
// mistyped. What cannot be looked up is no error.
func (o ReviewDesk) checkPlaces(ctx context.Context, id board.ID, list []board.Comment) error {
	if len(list) == 0 {
		return nil
	}
	d, _, _, err := Diffing{Differ: o, Task: id, Here: o.Here}.read(ctx, 0)
	if err != nil {
		return nil
	}
	for _, c := range list {
		if why := lacks(d.Diff, c); why != "" {
			return console.Errorf(console.NotFound, fmt.Sprintf("bossman task diff %v", id), "%s", why)
		}
	}
	return nil
}

// maxPlaces is how many files, or parts of a file, a refused comment is told about.
const maxPlaces = 10

// lacks says that a diff does not have what a comment is on, and what it has; empty if it has it, or may have it.
func lacks(d board.Diff, c board.Comment) string {
	n := slices.IndexFunc(d.Files, func(f board.FileDiff) bool { return f.Path == c.File })
	if n < 0 {
		if d.More > 0 || len(d.Files) == 0 {
			return ""
		}
		var names []string
		for _, f := range d.Files {
			names = append(names, fmt.Sprintf("%.200q", console.OneLine(f.Path)))
		}
		return fmt.Sprintf("the work has not changed %.200q; it has changed %s", console.OneLine(c.File), some(names))
	}
	f := d.Files[n]
	switch {
	case c.Line == 0 || f.Left != "":
		return ""
	case f.Kind == "D":
		return fmt.Sprintf("%.200q was deleted, and has no line %d; comment on the file as a whole", console.OneLine(c.File), c.Line)
	}
	parts := hunks(f.Patch)
	if len(parts) == 0 {
		return fmt.Sprintf("no line of %.200q was changed; comment on the file as a whole", console.OneLine(c.File))
	}
	var spans []string
	for _, p := range parts {
		if c.Line >= p.first && c.Line <= p.last {
			return ""
		}
		spans = append(spans, p.String())
	}
	return fmt.Sprintf("line %d of %.200q is not in the diff; of that file it has %s", c.Line, console.OneLine(c.File), some(spans))
}

// some lists the first of some texts.
func some(list []string) string {
	if n := len(list) - maxPlaces; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxPlaces], ", "), n)
	}
	return strings.Join(list, ", ")
}

// A hunk is a part of a file that a diff has, by the lines that it has after the change.
type hunk struct{ first, last int }

func (h hunk) String() string {
	switch {
	case h.last < h.first:
		return fmt.Sprintf("what was deleted after line %d", h.last)
	case h.first == h.last:
		return fmt.Sprintf("line %d", h.first)
	}
	return fmt.Sprintf("lines %d–%d", h.first, h.last)
}

var hunkHead = regexp.MustCompile(`(?m)^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@`)

// hunks lists the parts of a patch.
func hunks(patch string) (list []hunk) {
	for _, m := range hunkHead.FindAllStringSubmatch(patch, -1) {
		first, _ := strconv.Atoi(m[1])
		count := 1
		if m[2] != "" {
			count, _ = strconv.Atoi(m[2])
		}
		if count == 0 { // git names the line before
			first++
		}
		list = append(list, hunk{first, first + count - 1})
	}
	return list
}
