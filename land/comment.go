package land

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/internal/visible"
)

// A PullComment is what somebody wrote on a pull request. On one of a public repository, that may be anybody.
type PullComment struct {
	Author string    // empty if the account was deleted
	At     time.Time // zero if that is not known
	// Place is the file and the line that it is about, such as main.go:7; empty if it is about none.
	Place string
	Text  string
}

const (
	// maxSaid is how much of the comments on a pull request the next worker gets, in bytes, and maxComment how much of one.
	maxSaid, maxComment = 4000, 1000
	// maxPlace and maxAuthor are how much of a place and of an author's name it gets.
	maxPlace, maxAuthor = 200, 80
)

// String quotes the comment on one line behind its author, so that it cannot pass for a comment of somebody else.
func (c PullComment) String() string {
	who := "somebody"
	if name := visible.Line(c.Author); name != "" {
		who = fmt.Sprintf("%q", visible.Cut(name, maxAuthor))
	}
	if place := visible.Line(c.Place); place != "" {
		who += fmt.Sprintf(", on %q,", visible.Cut(place, maxPlace))
	}
	return fmt.Sprintf("%s wrote: %q", who, visible.Cut(visible.Line(c.Text), maxComment))
}

// commentLines quotes comments, each on a line of its own, the newest first. It leaves out the oldest ones that do not fit.
func commentLines(list []PullComment) string {
	list = slices.Clone(list)
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b PullComment) int { return b.At.Compare(a.At) })
	var s strings.Builder
	for i, c := range list {
		said := "\n" + c.String()
		if s.Len()+len(said) > maxSaid {
			fmt.Fprintf(&s, "\n%d older ones are left out", len(list)-i)
			break
		}
		s.WriteString(said)
	}
	return s.String()
}
