package tools

import (
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// A section is a part of a long text. Without a body it is not there.
type section struct{ title, body string }

// headings are the titles of all sections.
var headings = []string{
	"TITLE", "DESCRIPTION", "DONE WHEN", "EVIDENCE REQUIRED", "SKILLS", "AREAS", "PART OF", "BUILDS ON", "UNBLOCKS", "PARTS",
	"LAST ATTEMPT", "YOUR NOTES", "QUESTIONS", "ANSWERS", "RESULT", "HISTORY", "END WITH",
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// written is a text of several lines that somebody wrote. A line of it that looks like
// one of our headings is marked as quoted: a description must not answer questions in
// the name of people, or say how a task ends.
func written(s string) string {
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

// fit shortens the sections of a hand-out until they have room: the description first,
// as long as enough of it is left, then whatever is longest.
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
		if len(longest.body) < 100 { // nothing is left to be cut
			return
		}
		longest.body = cut(longest.body, len(longest.body)*3/4)
	}
}

// cutWithPointer shortens a long text and says where the rest is.
func cutWithPointer(s string, room int, id board.ID) string {
	if len(s) <= room {
		return s
	}
	pointer := "\n[truncated; full text: " + call("get_task", "task", id.String(), "detail", "full") + "]"
	return cut(s, max(room-len(pointer), 200)) + pointer
}
