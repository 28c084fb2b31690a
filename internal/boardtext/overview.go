package boardtext

import (
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// Claims shows the tasks in progress and those that are being reviewed, how their workers
// are doing, and where they work.
func Claims(a *console.Console, s board.Summary, titles map[board.ID]string) {
	for _, part := range []struct {
		head   string
		claims []board.Claim
		status board.Status
	}{{"In progress", s.Claims, board.InProgress}, {"Being reviewed", s.Reviews, board.InReview}} {
		if len(part.claims) == 0 {
			continue
		}
		a.Linef("\n%s", a.Styled(console.Bold, part.head))
		var rows []console.Row
		for _, c := range part.claims {
			rows = append(rows, console.Row{
				console.Cyan.Cell(c.Task.String()), console.Text(titles[c.Task]), console.Text(c.Worker.Name), console.Dim.Cell(Span(s.Now.Sub(c.GrantedAt))), claimCell(c, s.Now),
			})
		}
		a.Table("  ", []console.Column{{}, {Flex: true}, {}, {Right: true, Drop: 2}, {Drop: 1}}, rows)
		if len(part.claims) == board.MaxSummed && s.Counts.Status[part.status] > len(part.claims) {
			a.Linef("  %s", a.Styled(console.Dim, fmt.Sprintf("these are the oldest %d; for all: bossman task list --state %s", len(part.claims), part.status)))
		}
	}
	Workers(a, s.Claims)
}

// claimCell says how the worker of a claim is doing.
func claimCell(c board.Claim, now time.Time) console.Cell {
	left := c.LeaseUntil.Sub(now)
	switch silent := c.Silent(now); {
	case c.Killed:
		return console.Red.Cell("killed")
	case Gone(c):
		return console.Red.Cell("directory gone, lease " + Span(left))
	case left <= 0:
		return console.Red.Cell("lease expired")
	case c.Left:
		return console.Yellow.Cell("disconnected, free in " + Span(left))
	case silent > 0:
		return console.Yellow.Cell("silent for " + Span(silent) + ", lease " + Span(left))
	case left < c.Lease/3:
		return console.Yellow.Cell("lease " + Span(left))
	}
	return console.Dim.Cell("lease " + Span(left))
}

// Counts is the number of tasks in each state that has any, within the terminal's
// width.
func Counts(a *console.Console, c board.Counts, spent board.Spending) []string {
	if c.Total() == 0 {
		return []string{"no tasks yet"}
	}
	lines := []string{""}
	width := 0
	add := func(n int, word string, style console.Style) {
		if n == 0 {
			return
		}
		text := fmt.Sprintf("%d %s", n, word)
		last := &lines[len(lines)-1]
		switch next := width + 3 + console.TextWidth(text); {
		case width == 0:
			width = console.TextWidth(text)
		case a.Width() > 0 && next > a.Width():
			lines = append(lines, "")
			last = &lines[len(lines)-1]
			width = console.TextWidth(text)
		default:
			*last += " · "
			width = next
		}
		*last += a.Styled(style, text)
	}
	for _, s := range board.States {
		add(c.In(s), s.String(), StateStyle(s))
	}
	if spent.Cost > 0 {
		text := board.Dollars(spent.Cost) + " spent today (UTC)"
		if spent.Attempt > 0 && spent.Most > 0 { // an older server does not say
			text += fmt.Sprintf(", %s of it at %v, attempt %d", board.Dollars(spent.Most), spent.Task, spent.Attempt)
		}
		lines = append(lines, a.Styled(console.Dim, text))
	}
	return lines
}

// Silence says for how long no agent has called, if all that are alive are silent.
func Silence(s board.Summary) string {
	var shortest time.Duration
	for _, c := range s.Claims {
		if !c.Alive(s.Now) {
			continue
		}
		d := c.Silent(s.Now)
		if d == 0 {
			return ""
		}
		if shortest == 0 || d < shortest {
			shortest = d
		}
	}
	return ", without a call for " + Span(shortest)
}
