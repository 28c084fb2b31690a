package boardtext

import (
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// Why is the text of a reason why a task is not handed out, and the command that helps if there
// is one.
func Why(id board.ID, r board.Reason) string {
	return strings.TrimSpace(r.Text + " " + commandFor(id, r))
}

// ShowWhy prints a task and why it is not handed out. A reason that the terminal would break is quoted,
// because others wrote parts of it, and its command stands below.
func ShowWhy(c *console.Console, t board.Task, reasons []board.Reason) {
	c.Field("", console.Cyan.Cell(t.ID.String()+" "), console.Text(t.Title))
	c.Linef("  %s", c.Styled(console.Dim, t.State().String()))
	for _, r := range reasons {
		whole, command := console.OneLine(Why(t.ID, r)), commandFor(t.ID, r)
		if command == "" || c.Fits("  "+whole) {
			c.Field("  ", console.Cell{}, console.Text(whole))
			continue
		}
		c.Field("  ", console.Cell{}, console.Text(r.Text))
		c.Paragraph("  ", command)
	}
}

// commandFor names the command that helps against the reason why a task is not handed
// out, or is empty.
func commandFor(id board.ID, r board.Reason) string {
	switch r.Code {
	case board.WhyPolicy:
		return fmt.Sprintf("See: bossman task review %v", id)
	case board.WhyWrongSpec:
		return fmt.Sprintf("Fix it with: bossman task edit %v, then: bossman task retry %v", id, id)
	case board.WhyBudget:
		return fmt.Sprintf("Retry it with: bossman task retry %v", id)
	case board.WhyQuestion:
		if r.Question == 0 { // a server that does not say which
			return "See: bossman inbox"
		}
		return fmt.Sprintf("See: bossman answer %v", r.Question)
	case board.WhyDraft:
		return fmt.Sprintf("Start it with: bossman task start %v", id)
	case board.WhyPaused:
		return "Resume it with: bossman resume"
	case board.WhyArchived:
		return fmt.Sprintf("Bring it back with: bossman project set %s --archived=false", id.Project)
	}
	return ""
}
