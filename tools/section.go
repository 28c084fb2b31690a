package tools

import (
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A section is a titled part of a long text. A section without a body is not shown.
type section struct {
	title string
	by    string // who wrote the quoted body, see author; empty if the lines say so
	body  string
}

func (s section) text() string {
	if s.body == "" {
		return ""
	}
	if s.by == "" {
		return "\n\n" + s.title + "\n" + s.body
	}
	return "\n\n" + s.title + ", by " + s.by + "\n" + s.body
}

func join(sections []section) string {
	var b strings.Builder
	for _, s := range sections {
		b.WriteString(s.text())
	}
	return b.String()
}

// specSections are what the task asks for, in the words of those who wrote it.
func specSections(d board.Dossier, long int) []section {
	t := &d.Task
	description := d.Doc.Description
	if strings.TrimSpace(description) == t.Title {
		description = ""
	}
	return []section{
		{"TITLE", specAuthor(d, "title"), inline(t.Title, 500)},
		{"DESCRIPTION", specAuthor(d, "description"), cutWithPointer(block(description), long, t.ID)},
		{"DONE WHEN", specAuthor(d, "acceptance"), cutWithPointer(block(d.Doc.Acceptance), long, t.ID)},
	}
}

// roomFor is how long a hand-out of sections may be.
func roomFor(sections []section) int {
	n := 0
	for _, s := range sections {
		switch s.title {
		case "LAST ATTEMPT", "REJECTED BEFORE", "COMMENTS", "ANSWERS":
			n += len(s.body)
		}
	}
	return maxHandout + min(n, maxDecisions)
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
		if len(longest.body) < 500 { // nothing left to cut
			return
		}
		longest.body = cutWithPointer(longest.body, len(longest.body)*3/4, id)
	}
}

// cutWithPointer cuts a quoted text to room bytes and adds the call that returns all of it.
func cutWithPointer(s string, room int, id board.ID) string {
	if len(s) <= room {
		return s
	}
	pointer := "\n[truncated; full text: " + call("get_task", "task", id.String(), "detail", "full") + "]"
	s = strings.TrimSuffix(s, pointer)
	return cutLines(s, max(room-len(pointer), 200)) + pointer
}

// cutLines cuts a text to at most n bytes. A line that is not a quotation is dropped as a
// whole, so that no quotation mark stays open.
func cutLines(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = visible.Cut(s, n)
	head, last, ok := cutLast(s, "\n")
	switch {
	case strings.HasPrefix(last, "> ") || last == ">" || last == "…":
		return s
	case !ok:
		return "…"
	}
	return head + "\n…"
}

// cutLast divides s at the last separator; without one, all of s is the tail.
func cutLast(s, sep string) (head, tail string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}
