package boardtext

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// Diff prints what the work of an attempt changed. With stat it prints the names of the files only.
// A comment stands below the line that it is about.
func Diff(c *console.Console, id board.ID, d board.AttemptDiff, result board.Result, comments []board.Comment, stat bool) {
	v := view{c}
	added, removed := d.Diff.Lines()
	files := len(d.Diff.Files) + d.Diff.More
	head := fmt.Sprintf("attempt %d changed %s, %s, %s", d.Attempt, console.Count(files, "file"), v.Styled(console.Green, fmt.Sprintf("+%d", added)), v.Styled(console.Red, fmt.Sprintf("-%d", removed)))
	if d.Diff.Base != "" {
		head += fmt.Sprintf(", from %.10s to %.10s", d.Diff.Base, d.Diff.Tip)
	}
	c.Linef("%s %s", v.Styled(console.Cyan, id.String()), head)
	if result.NoChanges && result.Tip.Commit != d.Diff.Tip {
		c.Linef("%s", v.Styled(console.Yellow, "This was not reported again: the last report says that no change is needed."))
	}
	for _, i := range result.Includes {
		text := fmt.Sprintf("The work of %v is in it, up to commit %.12s; %v had not landed when this was reported.", i.Task, i.Commit, i.Task)
		if len(i.Files) > 0 {
			text = fmt.Sprintf("It includes %s.", included(i))
		}
		c.Linef("%s", v.Styled(console.Yellow, text))
	}
	for _, l := range looseLines(result.Loose) {
		c.Linef("%s", v.Styled(console.Yellow, l[0]+" "+l[1]))
	}
	width := 0
	for _, f := range d.Diff.Files {
		width = min(max(width, console.TextWidth(console.OneLine(f.Path))), 40)
	}
	for _, f := range d.Diff.Files {
		v.file(f, width)
	}
	if d.Diff.More > 0 {
		c.Linef("  and %s more", console.Count(d.Diff.More, "file"))
	}
	if stat {
		return
	}
	for _, f := range d.Diff.Files {
		v.patch(f, comments)
	}
}

// included says which work of another task is in some work.
func included(i board.Included) string {
	if len(i.Files) == 0 {
		return fmt.Sprintf("work of %v, which had not landed, up to commit %.12s", i.Task, i.Commit)
	}
	return fmt.Sprintf("files of %v as in its commit %.12s, which the target did not have: %s", i.Task, i.Commit, files(i.Files, 0))
}

// looseLines says which files lay about where some work was, each line with its heading.
func looseLines(l board.Loose) (lines [][2]string) {
	if n := len(l.LeftOut) + l.More; n > 0 {
		were := "files that were"
		if n == 1 {
			were = "file that was"
		}
		what := "%d %s there, uncommitted, before this task began: %s; commit what is part of it"
		if l.Unknown {
			what = "%d %s not committed, because it is not known what lay there before this task began: %s; commit what is part of it"
		}
		lines = append(lines, [2]string{"left out:", fmt.Sprintf(what, n, were, files(l.LeftOut, l.More))})
	}
	if len(l.Written) > 0 {
		lines = append(lines, [2]string{"left out:", "made by the check: " + files(l.Written, l.MoreWritten) + "; commit what is part of it, and ignore the rest"})
	}
	if text := l.MixedText("this task began", files); text != "" {
		lines = append(lines, [2]string{"mixed:", text})
	}
	return lines
}

// files lists names of files, and how many more there are.
func files(paths []string, more int) string {
	var list []string
	for _, path := range paths {
		list = append(list, quoted(path))
	}
	if more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

// file prints a line about a changed file, whose name takes at least width columns.
func (v view) file(f board.FileDiff, width int) {
	facts := map[string]string{"A": "new", "D": "deleted", "R": "renamed from " + quoted(f.From), "T": "of another type"}[f.Kind]
	add := func(format string, args ...any) {
		if facts != "" {
			facts += ", "
		}
		facts += fmt.Sprintf(format, args...)
	}
	if f.Added+f.Removed > 0 {
		add("+%d -%d", f.Added, f.Removed)
	}
	if f.Mode != "" {
		add("mode %s", console.OneLine(f.Mode))
	}
	switch f.Left {
	case "binary":
		add("binary, %s", size(f.Size))
	case "large", "more":
		add("too long to be shown, %s", size(f.Size))
	}
	name := console.OneLine(f.Path)
	name += strings.Repeat(" ", max(0, width-console.TextWidth(name)))
	v.Field("  ", console.Text(name+" "), console.Dim.Cell(facts))
}

// quoted is a name of others within a line of ours.
func quoted(name string) string { return fmt.Sprintf("%q", console.OneLine(name)) }

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.0f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// hunk is the line before lines that differ. It has the number of the first one in the new file.
var hunk = regexp.MustCompile(`^@@ -[0-9,]+ \+([0-9]{1,9})[ ,]`)

// patch prints the lines that differ in a file, with the numbers that they have in the new one, and
// comments on the file.
func (v view) patch(f board.FileDiff, comments []board.Comment) {
	on := map[int][]board.Comment{}
	for _, c := range comments {
		if c.File == f.Path {
			on[c.Line] = append(on[c.Line], c)
		}
	}
	if f.Patch == "" && len(on) == 0 {
		return
	}
	v.Linef("")
	v.Field("", console.Cell{}, console.Bold.Cell(f.Path))
	v.comments(on, 0)
	line := 0
	for text := range strings.Lines(f.Patch) {
		text = strings.TrimRight(text, "\r\n")
		label, style := "", console.Style("")
		switch {
		case strings.HasPrefix(text, "@@ "):
			style = console.Cyan
			if m := hunk.FindStringSubmatch(text); m != nil {
				line, _ = strconv.Atoi(m[1])
			}
		case strings.HasPrefix(text, "+"):
			label, style = fmt.Sprint(line), console.Green
		case strings.HasPrefix(text, "-"):
			style = console.Red
		case strings.HasPrefix(text, " "):
			label = fmt.Sprint(line)
		}
		v.Gutter(fmt.Sprintf("%6s", label), style, text)
		if label != "" {
			v.comments(on, line)
			line++
		}
	}
	for _, at := range slices.Sorted(maps.Keys(on)) { // on lines that are not shown
		v.comments(on, at)
	}
}

// comments prints the comments on a line, once.
func (v view) comments(on map[int][]board.Comment, line int) {
	for _, c := range on[line] {
		v.Linef("       %s", v.Styled(console.Yellow, fmt.Sprintf("%s on %s:", c.As.Named(console.OneLine(c.By)), console.OneLine(c.Place()))))
		v.Quoted("       ", c.Text)
	}
	delete(on, line)
}
