package tools

import (
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// endTurn ends every answer that hands out nothing.
const endTurn = "End your turn now; do not poll."

// nothingAnswer says why no task was handed out. It is an answer, not a refusal.
func nothingAnswer(n *board.Nothing, lead bool, waited int) *answer {
	w := wireHandout{Outcome: "none", RetryAfterSeconds: 60}
	var s string
	c := n.Counts
	left := c.Total() - c.Status[board.Done] - c.Status[board.Cancelled]
	switch {
	case n.Archived != "":
		w.Reason, w.RetryAfterSeconds = "archived", 300
		s = n.Archived + " is archived, and hands out no tasks. A person can bring it back: bossman project set " + n.Archived + " --archived=false."
	case n.PausedBy != "":
		w.Reason, w.RetryAfterSeconds = "paused", 300
		s = "Paused by " + inline(n.PausedBy, 40) + "."
	case n.Unexplained:
		w.Reason = "waiting"
		s = "Nothing is ready for you. Why is not known: the board could not be counted in time."
	case c.Total() == 0:
		w.Reason, w.RetryAfterSeconds = "empty", 300
		s = "There are no tasks yet."
		if lead {
			s += " If you were asked to plan, call " + mention("create_plan") + "."
		}
	case left == 0:
		w.Reason, w.RetryAfterSeconds = "done", 300
		s = fmt.Sprintf("All %d tasks are done.", c.Total())
		if c.Total() == 1 {
			s = "The only task is done."
		}
		if k := c.Status[board.Cancelled]; k > 0 {
			s = fmt.Sprintf("All tasks are done (%d) or cancelled (%d).", c.Status[board.Done], k)
		}
	case n.ReadyUnskilled > 0:
		w.Reason = "skills"
		s = fmt.Sprintf("%s skills you did not declare: %s.",
			count(n.ReadyUnskilled, "ready task needs", "ready tasks need"), inlineList(n.Unskilled, 400))
	default:
		w.Reason = "waiting"
		s = "Nothing ready: " + waitingText(n) + "."
		if next := comingText(n); next != "" {
			s += " " + next + "."
		}
		if len(n.Coming) > 0 {
			w.RetryAfterSeconds = min(w.RetryAfterSeconds, int(n.Coming[0].In/time.Second)+1)
		}
	}
	if waited > 0 {
		s += fmt.Sprintf(" Waited %d s.", waited)
	}
	return &answer{text: s + " " + endTurn, result: w}
}

// waitingText says what the open tasks are waiting for.
func waitingText(n *board.Nothing) string {
	var parts []string
	add := func(k int, one, many string) {
		if k > 0 {
			parts = append(parts, count(k, one, many))
		}
	}
	c := n.Counts
	add(c.Status[board.InProgress], "in progress", "in progress")
	add(c.Blocked, "blocked by other tasks", "blocked by other tasks")
	if k := c.Status[board.Waiting]; k > 0 {
		s := count(k, "waiting for people", "waiting for people")
		var ids []string
		for _, q := range n.Open {
			if q.Blocking && !q.Claim.IsZero() && len(ids) < 5 {
				ids = append(ids, q.ID.String())
			}
		}
		if ids != nil {
			s += " (" + strings.Join(ids, ", ") + ")"
		}
		parts = append(parts, s)
	}
	add(c.Status[board.InReview], "in review", "in review")
	add(c.Status[board.Landing], "waiting to be landed", "waiting to be landed")
	add(c.Status[board.Failed], "failed and needs a lead", "failed and need a lead")
	add(c.In(board.StateDraft), "draft that a lead must start", "drafts that a lead must start")
	add(c.In(board.StateReserved), "reserved", "reserved")
	add(c.In(board.StateCoolingDown), "cooling down", "cooling down")
	add(c.Ready, "ready, but not for you now", "ready, but not for you now")
	if parts == nil {
		return "nothing is waiting"
	}
	return strings.Join(parts, ", ")
}

// comingText says when the next tasks are free, or who has them. Names of workers are not in
// it: models use the names that they read.
func comingText(n *board.Nothing) string {
	var parts []string
	for _, c := range n.Coming {
		switch {
		case c.Declined:
			parts = append(parts, fmt.Sprintf("%v, which you gave back, is for other workers; you are offered it again in %s", c.Task, board.Span(c.In)))
		case c.Reserved:
			parts = append(parts, fmt.Sprintf("%v is kept for the worker that asked about it, for %s at most", c.Task, board.Span(c.In)))
		default:
			parts = append(parts, fmt.Sprintf("%v is ready in %s", c.Task, board.Span(c.In)))
		}
	}
	for _, t := range n.Taken {
		switch {
		case t.Free > 0:
			parts = append(parts, fmt.Sprintf("%v is free in %s, unless its worker comes back", t.Task, board.Span(t.Free)))
		case t.Silent > 0:
			parts = append(parts, fmt.Sprintf("another worker has had %v for %s, and has made no call for %s", t.Task, board.Span(t.For), board.Span(t.Silent)))
		default:
			parts = append(parts, fmt.Sprintf("another worker has had %v for %s", t.Task, board.Span(t.For)))
		}
	}
	text := strings.Join(parts, "; ")
	if strings.HasPrefix(text, "another") {
		text = "A" + text[1:]
	}
	return text
}
