package tools

import (
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// A section is a titled part of a long text. A section without a body is not shown.
type section struct{ title, body string }

// headings are the titles of all sections of hand-outs and tasks.
var headings = []string{
	"TITLE", "DESCRIPTION", "DONE WHEN", "EVIDENCE REQUIRED", "SKILLS", "AREAS", "PART OF", "BUILDS ON", "PRIOR WORK", "UNBLOCKS", "PARTS", "BESIDE YOU",
	"LAST ATTEMPT", "YOUR NOTES", "QUESTIONS", "ANSWERS", "RESULT", "HISTORY", "END WITH",
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// escapeHeadings marks every line of a user's text that looks like one of our headings as
// quoted. Otherwise a description could fake answers from people or the closing calls.
func escapeHeadings(s string) string {
	lines := strings.Split(lineEnds.Replace(s), "\n")
	for i, l := range lines {
		if slices.Contains(headings, strings.Trim(l, " \t:")) {
			lines[i] = "> " + l
		}
	}
	return strings.Join(lines, "\n")
}

func join(sections []section) string {
	var b strings.Builder
	for _, s := range sections {
		if s.body != "" {
			b.WriteString("\n\n" + s.title + "\n" + s.body)
		}
	}
	return b.String()
}

// fit shortens the sections of a hand-out to room bytes in all: first the description,
// but not below 1200 bytes, then repeatedly the longest section.
func fit(sections []section, room int, id board.ID) {
	const enough = 1200
	description := &sections[1]
	over := func() int { return len(join(sections)) - room }
	if n := over(); n > 0 && len(description.body) > enough {
		description.body = cutWithPointer(description.body, max(len(description.body)-n, enough), id)
	}
	for over() > 0 {
		longest := &sections[2]
		for i := range sections[2 : len(sections)-1] {
			if s := &sections[2+i]; len(s.body) > len(longest.body) {
				longest = s
			}
		}
		if len(longest.body) < 100 { // nothing left to cut
			return
		}
		longest.body = cut(longest.body, len(longest.body)*3/4)
	}
}

// cutWithPointer cuts s to room bytes and adds the call that returns the full text.
func cutWithPointer(s string, room int, id board.ID) string {
	if len(s) <= room {
		return s
	}
	pointer := "\n[truncated; full text: " + call("get_task", "task", id.String(), "detail", "full") + "]"
	return cut(s, max(room-len(pointer), 200)) + pointer
}
