package tools

import (
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// maxDiffText bounds what a model is shown of a diff at once.
const maxDiffText = 32 << 10

// diffText shows what the work of an attempt changed, or what it changed in one file.
func diffText(id board.ID, d board.AttemptDiff, file string) string {
	switch {
	case d.Attempt == 0:
		return fmt.Sprintf("It is not known what the work of %v changed: no report has told it.", id)
	case d.Diff.Withheld:
		return fmt.Sprintf("What attempt %d of %v changed is not on the board: where it worked, diffs are kept off it. Look at its branch.", d.Attempt, id)
	}
	added, removed := d.Diff.Lines()
	var b strings.Builder
	fmt.Fprintf(&b, "Attempt %d of %v changed %d files, %d lines added, %d removed.%s", d.Attempt, id, len(d.Diff.Files)+d.Diff.More, added, removed, quotedNote)
	var list []string
	found := false
	for _, f := range d.Diff.Files {
		found = found || f.Path == file
		if file == "" || f.Path == file {
			list = append(list, fileText(f))
		}
	}
	if file != "" && !found {
		return fmt.Sprintf("%s\n\nThere is no file %s among them.", b.String(), inline(file, 400))
	}
	if d.Diff.More > 0 {
		list = append(list, fmt.Sprintf("and %d more", d.Diff.More))
	}
	b.WriteString(section{title: "FILES", body: cutLines(strings.Join(list, "\n"), maxDiffText/4)}.text())
	for _, f := range d.Diff.Files {
		if f.Patch == "" || file != "" && f.Path != file {
			continue
		}
		s := section{title: "DIFF " + inline(f.Path, 400), body: block(f.Patch)}.text()
		if b.Len()+len(s) > maxDiffText && file == "" {
			fmt.Fprintf(&b, "\n\nThe rest is too long. A single file: %s.", call("get_task", "task", id.String(), "detail", "diff", "file", "…"))
			break
		}
		b.WriteString(s)
	}
	return b.String()
}

// fileText says in a line what was changed in a file.
func fileText(f board.FileDiff) string {
	s := map[string]string{"A": "added ", "D": "deleted ", "R": "renamed ", "T": "of another type "}[f.Kind] + inline(f.Path, 400)
	if f.From != "" {
		s += ", before " + inline(f.From, 400)
	}
	s += fmt.Sprintf(", +%d -%d", f.Added, f.Removed)
	if f.Mode != "" {
		s += ", mode " + inline(f.Mode, 10)
	}
	switch f.Left {
	case "binary":
		s += fmt.Sprintf(", binary, %d bytes", f.Size)
	case "large", "more":
		s += fmt.Sprintf(", too long to be shown, %d bytes", f.Size)
	}
	return s
}

// commentsText lists the comments on what was reported; full has all of each.
func commentsText(id board.ID, r *board.Result, full bool) string {
	if r == nil {
		return ""
	}
	lines := make([]string, 0, len(r.Comments))
	for _, c := range r.Comments {
		said := decided(id, c.Text)
		if full {
			said = inline(c.Text, textLimit(full, 0))
		}
		lines = append(lines, fmt.Sprintf("%s, by %s: %s", inline(c.Place(), 300), author(c.As, c.By), said))
	}
	return strings.Join(lines, "\n")
}

// changesText says how a reviewer is shown what was changed.
func changesText(h *board.Handout) string {
	if h.Doc.Result == nil || h.Doc.Result.Tip.IsZero() {
		return ""
	}
	return "What was changed: " + call("get_task", "task", h.Task.ID.String(), "detail", "diff") + "."
}
