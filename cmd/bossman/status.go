package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
	"github.com/spf13/cobra"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "The board at a glance, and what to do next", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.status(cmd.Context()) },
	}
}

type statusJSON struct {
	Project projectJSON  `json:"project"`
	Board   string       `json:"board"`
	Counts  countsJSON   `json:"counts"`
	Claims  []claimJSON  `json:"claims"`
	Inbox   []inboxEntry `json:"inbox"`
	Next    string       `json:"next"`
}

func (a *app) status(ctx context.Context) error {
	o, slug, err := a.begin(ctx)
	if err != nil {
		return err
	}
	p, err := o.Project(ctx, slug)
	if err != nil {
		return missing(err, "project "+slug)
	}
	sum, err := o.Summary(ctx, slug)
	if err != nil {
		return err
	}
	in, err := o.inbox(ctx, slug)
	if err != nil {
		return err
	}
	next := nextStep(p, sum, in)
	if a.flags.json {
		out := statusJSON{Project: toProject(p), Board: o.path, Counts: toCounts(sum.Counts), Claims: []claimJSON{}, Inbox: in, Next: next}
		for _, c := range sum.Claims {
			out.Claims = append(out.Claims, toClaim(c, sum.Now))
		}
		return a.printJSON(out)
	}
	pt := a.paint
	head := pt.in(bold, p.Slug)
	if p.Policy != board.PolicyEvidence {
		head += pt.in(dim, "  policy "+string(p.Policy))
	}
	if p.PausedBy != "" {
		head += pt.in(yellow, "  paused by "+line(p.PausedBy))
	}
	a.say("%s%s", head, pt.in(dim, "  "+o.path))
	for _, l := range a.countsLines(sum.Counts) {
		a.say("%s", l)
	}
	if len(sum.Claims) > 0 {
		titles, err := o.titles(ctx, sum.Claims)
		if err != nil {
			return err
		}
		a.say("\n%s", pt.in(bold, "In progress"))
		var rows [][]cell
		for _, c := range sum.Claims {
			left := c.LeaseUntil.Sub(sum.Now)
			lease := cell{"lease " + span(left), dim}
			if left <= 0 {
				lease = cell{"lease ran out", red}
			} else if left < c.Lease/3 {
				lease.style = yellow
			}
			rows = append(rows, []cell{
				{c.Task.String(), cyan}, {line(titles[c.Task]), ""}, {line(c.Worker.Name), ""}, {span(sum.Now.Sub(c.GrantedAt)), dim}, lease,
			})
		}
		pt.table(a.out, "  ", []column{{}, {flex: true}, {}, {right: true, drop: 2}, {drop: 1}}, rows)
	}
	if len(in) > 0 {
		const most = 10
		a.say("\n%s%s", pt.in(bold, "Waits for you"), pt.in(dim, "  bossman inbox"))
		a.inboxTable(in[:min(len(in), most)])
		if len(in) > most {
			a.say("  %s", pt.in(dim, fmt.Sprintf("and %d more", len(in)-most)))
		}
	}
	a.say("\n%s %s", pt.in(dim, "next:"), next)
	return nil
}

// countsLines says how many tasks are where, and nothing of what there is none of.
func (a *app) countsLines(c board.Counts) []string {
	if c.Total() == 0 {
		return []string{"no tasks yet"}
	}
	lines := []string{""}
	width := 0
	add := func(n int, word, style string) {
		if n == 0 {
			return
		}
		text := fmt.Sprintf("%d %s", n, word)
		last := &lines[len(lines)-1]
		switch next := width + 3 + textWidth(text); {
		case width == 0:
			width = textWidth(text)
		case a.paint.width > 0 && next > a.paint.width:
			lines = append(lines, "")
			last = &lines[len(lines)-1]
			width = textWidth(text)
		default:
			*last += " · "
			width = next
		}
		*last += a.paint.in(style, text)
	}
	add(c.Status[board.InProgress], "in progress", cyan)
	add(c.Ready, "ready", green)
	add(c.Blocked, "blocked", "")
	add(c.Held, "held", "")
	add(c.Later, "resting", "")
	add(c.Status[board.Waiting], "waiting", yellow)
	add(c.Status[board.InReview], "in review", yellow)
	add(c.Status[board.Failed], "failed", red)
	add(c.Status[board.Done], "done", dim)
	add(c.Status[board.Cancelled], "cancelled", dim)
	return lines
}

// nextStep is the one thing that is worth doing now.
func nextStep(p board.Project, s board.Summary, in []inboxEntry) string {
	c := s.Counts
	switch {
	case c.Total() == 0:
		return `put work on the board: bossman task add "What is to be done"`
	case len(in) > 0:
		return in[0].Command
	case p.PausedBy != "":
		return "hand out work again: bossman resume"
	case c.Ready > 0 && len(s.Claims) == 0, len(s.Claims) > 0 && !alive(s):
		return "start an agent: claude mcp add bossman -- bossman mcp, then tell it \"work on the board\""
	case c.Status[board.InProgress] > 0 || c.Ready > 0 || c.Later > 0:
		return "nothing; agents are at it"
	case c.Held > 0:
		return "start what is on hold: bossman task list --state held, then bossman task edit ID --hold=false"
	case c.Blocked > 0:
		return "see what they wait for: bossman task list, then bossman task why ID"
	}
	return "nothing; all is done"
}

// alive reports whether somebody who works has time left. What has run out goes back
// to the board when the next agent asks.
func alive(s board.Summary) bool {
	return slices.ContainsFunc(s.Claims, func(c board.Claim) bool { return c.LeaseUntil.After(s.Now) })
}

// titles gives the titles of claimed tasks.
func (o *opened) titles(ctx context.Context, claims []board.Claim) (map[board.ID]string, error) {
	out := map[board.ID]string{}
	if len(claims) == 0 {
		return out, nil
	}
	f := board.TaskFilter{Statuses: []board.Status{board.InProgress}, Limit: 1000}
	for _, c := range claims {
		if !slices.Contains(f.Projects, c.Task.Project) {
			f.Projects = append(f.Projects, c.Task.Project)
		}
	}
	ts, err := o.List(ctx, f)
	for _, t := range ts {
		out[t.ID] = t.Title
	}
	return out, err
}
