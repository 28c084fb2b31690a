package boardtext

import (
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
)

// NextStep is what a person should do next.
func NextStep(p board.Project, s board.Summary, in []boardjson.InboxEntry) string {
	c := s.Counts
	lost, isLost := gone(s.Claims)
	switch {
	case p.Archived:
		return p.Slug + " is archived; bring it back: bossman project set " + p.Slug + " --archived=false"
	case c.Total() == 0:
		return `put work on the board: bossman task add "What to do"`
	case len(in) > 0 && in[0].Kind != "follow_up" && in[0].Kind != "draft":
		return in[0].Command
	case p.PausedBy != "":
		return "hand out work again: bossman resume"
	case isLost:
		return fmt.Sprintf("free %v, whose worker's directory is gone: bossman task release %v", lost.Task, lost.Task)
	case slices.ContainsFunc(s.Claims, func(c board.Claim) bool { return c.Alive(s.Now) }):
		return "nothing; agents are working" + Silence(s)
	case c.Ready > 0 || len(s.Claims) > 0:
		return startAgent
	case c.Later > 0:
		if len(s.Resting) == 0 { // a server that does not say which
			return startAgent
		}
		if next := s.Resting[0]; !next.ReservedFor.IsZero() {
			return fmt.Sprintf("tell the agent that asked about %v to continue, or %s", next.ID, startAgent)
		}
		return fmt.Sprintf("%v is ready in %s; then %s", s.Resting[0].ID, Span(s.Resting[0].NotBefore.Sub(s.Now)), startAgent)
	case len(in) > 0:
		return in[0].Command + ", or: " + in[0].Cancel
	case c.Held > 0:
		return "start the drafts: bossman task list --state draft, then bossman task start ID"
	case c.Status[board.Landing] > 0:
		return "see what waits to be landed: bossman land status"
	case c.Blocked > 0:
		return "see what blocks them: bossman task list, then bossman task why ID"
	}
	if n := c.Status[board.Cancelled]; n > 0 {
		return fmt.Sprintf("nothing; no task is open: done %d, cancelled %d", c.Status[board.Done], n)
	}
	return "nothing; all tasks are done"
}

const startAgent = "start an agent: bossman install claude, then tell it \"work on the board\""
