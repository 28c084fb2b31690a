package git

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Unshown compares a list of changes that somebody else has told, and how many further files they told of, with what
// differs between two commits. It returns a file of which something else was told; it is empty if there is none, and
// "…" if only the number of further files is another one. Another version of git, or other attributes in a checkout,
// may tell the same with other lines: a patch has to make the new file of the old one.
func (r *Repo) Unshown(ctx context.Context, base, tip string, shown []FileDiff, more int, limit DiffLimit) (file string, err error) {
	// What did not fit there is compared all the same.
	ours, others, err := r.Diff(ctx, base, tip, DiffLimit{Files: limit.Files, Patch: max(limit.Patch, maxDiffed), All: max(limit.All, 16*maxDiffed)})
	if err != nil {
		return "", err
	}
	all := 0
	for _, d := range ours {
		if len(d.Patch) <= limit.Patch {
			all += len(d.Patch)
		}
	}
	for n, d := range ours {
		if n == len(shown) {
			return d.Path, nil
		}
		same, err := r.shows(ctx, base, tip, shown[n], d, len(d.Patch) > limit.Patch*9/10, all > limit.All*9/10)
		if err != nil || !same {
			return d.Path, err
		}
	}
	switch {
	case len(shown) > len(ours):
		return shown[len(ours)].Path, nil
	case more != others:
		return "…", nil
	}
	return "", nil
}

// shows reports whether a change that was told is one that is there. large and more say whether its patch may have been
// too long there.
func (r *Repo) shows(ctx context.Context, base, tip string, told, is FileDiff, large, more bool) (bool, error) {
	if told == is {
		return true, nil
	}
	if told.Left == "large" && large || told.Left == "more" && more {
		is.Patch, is.Left = "", told.Left
	}
	patch := told.Patch
	if told.Left == "" && is.Left == "" && patch != "" && is.Patch != "" && is.Kind != "T" {
		is.Patch, told.Patch = "", ""
		is.Added, is.Removed = told.Added, told.Removed
	} else {
		patch = ""
	}
	if told != is || patch == "" {
		return told == is, nil
	}
	var old, new string
	var err error
	if is.Kind != "A" && base != "" {
		from := is.Path
		if is.From != "" {
			from = is.From
		}
		if old, err = r.text(ctx, base, from); err != nil {
			return false, err
		}
	}
	if is.Kind != "D" {
		if new, err = r.text(ctx, tip, is.Path); err != nil {
			return false, err
		}
	}
	made, added, removed, ok := applied(old, patch)
	return ok && made == new && added == told.Added && removed == told.Removed, nil
}

// text returns a file of a commit, made valid as UTF-8. It is empty if there is no such file.
func (r *Repo) text(ctx context.Context, commit, path string) (string, error) {
	out, err := r.run(ctx, call{args: []string{"cat-file", "blob", commit + ":" + path}})
	if err != nil && ctx.Err() == nil {
		return "", nil // a submodule, or a name that is not valid
	}
	return valid(out), err
}

// hunkHead is the first line of a hunk: lines of the old file, of the new one, and a line above them.
var hunkHead = regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: (.*))?\n$`)

// noNewline is what git says below the last line of a file, if that has no newline.
const noNewline = "\\ No newline at end of file\n"

// applied applies a patch to a text. ok is false if the patch does not fit, or has anything else than hunks. It takes a
// patch by its letters, as somebody who reads it: each line that it shows is a line of the file.
func applied(old, patch string) (made string, added, removed int, ok bool) {
	lines, rest := slices.Collect(strings.Lines(old)), slices.Collect(strings.Lines(patch))
	var out []string
	at := 0
	if patch != "" && !strings.HasSuffix(patch, "\n") {
		return "", 0, 0, false
	}
	for len(rest) > 0 {
		head := hunkHead.FindStringSubmatch(rest[0])
		if head == nil || !strings.Contains(old, strings.TrimRight(head[5], "\uFFFD ")) { // a character may be cut off
			return "", 0, 0, false
		}
		rest = rest[1:]
		before, olds := span(head[1], head[2])
		after, news := span(head[3], head[4])
		if before < at || before > len(lines) || after != len(out)+before-at {
			return "", 0, 0, false
		}
		out, at = append(out, lines[at:before]...), before
		for olds > 0 || news > 0 {
			if len(rest) == 0 {
				return "", 0, 0, false
			}
			kind, line := rest[0][0], rest[0][1:]
			if rest = rest[1:]; len(rest) > 0 && rest[0] == noNewline {
				line, rest = strings.TrimSuffix(line, "\n"), rest[1:]
			}
			if kind == ' ' || kind == '-' {
				if olds--; olds < 0 || at == len(lines) || lines[at] != line {
					return "", 0, 0, false
				}
				at++
			}
			if kind == ' ' || kind == '+' {
				if news--; news < 0 {
					return "", 0, 0, false
				}
				out = append(out, line)
			}
			switch kind {
			case ' ':
			case '-':
				removed++
			case '+':
				added++
			default:
				return "", 0, 0, false
			}
		}
	}
	out = append(out, lines[at:]...)
	for n, line := range out {
		if n < len(out)-1 && !strings.HasSuffix(line, "\n") { // only the last one may have none
			return "", 0, 0, false
		}
	}
	return strings.Join(out, ""), added, removed, true
}

// span returns how many lines are before a hunk, and how many it has.
func span(from, count string) (before, n int) {
	before, _ = strconv.Atoi(from)
	n = 1
	if count != "" {
		n, _ = strconv.Atoi(count)
	}
	if n > 0 {
		before--
	}
	return before, n
}
