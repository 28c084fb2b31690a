package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "The board at a glance, and what to do next", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.status(cmd.Context()) },
	}
}

type statusJSON struct {
	Project boardjson.Project      `json:"project"`
	Board   string                 `json:"board"`
	Counts  boardjson.Counts       `json:"counts"`
	Claims  []boardjson.Claim      `json:"claims"`
	Reviews []boardjson.Claim      `json:"reviews,omitzero"`
	Inbox   []boardjson.InboxEntry `json:"inbox"`
	Next    string                 `json:"next"`
	Spent   float64                `json:"spent_today_usd,omitzero"`
}

func (a *app) status(ctx context.Context) error {
	o, slug, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	p, err := o.Project(ctx, slug)
	if err != nil {
		return notFound(err, "project "+slug)
	}
	sum, err := o.Summary(ctx, slug)
	if err != nil {
		return err
	}
	in, now, err := o.inbox(ctx, slug)
	if err != nil {
		return err
	}
	next := boardtext.NextStep(p, sum, in)
	spent, _ := o.Spent(ctx, slug) // a server that is older does not say
	if a.JSON {
		out := statusJSON{Project: boardjson.FromProject(p), Board: o.label, Counts: boardjson.FromCounts(sum.Counts), Claims: []boardjson.Claim{}, Inbox: in, Next: next, Spent: float64(spent.Cost) / 1e6}
		for _, c := range sum.Claims {
			out.Claims = append(out.Claims, boardjson.FromClaim(c, sum.Now))
		}
		for _, c := range sum.Reviews {
			out.Reviews = append(out.Reviews, boardjson.FromClaim(c, sum.Now))
		}
		return a.PrintJSON(out)
	}
	head := a.Styled(console.Bold, p.Slug)
	if p.Policy != board.PolicyEvidence {
		head += a.Styled(console.Dim, "  policy "+string(p.Policy))
	}
	a.Linef("%s%s", head, a.Styled(console.Dim, "  "+o.label))
	if p.Archived {
		a.Field("", console.Yellow.Cell("archived"), console.Yellow.Cell("hands out no tasks"))
	}
	if p.PausedBy != "" {
		a.Field("", console.Yellow.Cell("paused by"), console.Yellow.Cell(p.PausedBy))
	}
	for _, l := range boardtext.Counts(a.Console, sum.Counts, spent) {
		a.Linef("%s", l)
	}
	if held := slices.Concat(sum.Claims, sum.Reviews); len(held) > 0 {
		titles, err := o.titles(ctx, held)
		if err != nil {
			return err
		}
		boardtext.Claims(a.Console, sum, titles)
	}
	if len(in) > 0 {
		const most = 10
		a.Linef("\n%s%s", a.Styled(console.Bold, "Waiting for you"), a.Styled(console.Dim, "  bossman inbox"))
		boardtext.InboxTable(a.Console, in[:min(len(in), most)], now)
		if len(in) > most {
			a.Linef("  %s", a.Styled(console.Dim, fmt.Sprintf("and %d more", len(in)-most)))
		}
	}
	a.Linef("\n%s %s", a.Styled(console.Dim, "next:"), next)
	return nil
}

// titles returns the titles of claimed tasks, in progress or in review.
func (o *openBoard) titles(ctx context.Context, claims []board.Claim) (map[board.ID]string, error) {
	out := map[board.ID]string{}
	if len(claims) == 0 {
		return out, nil
	}
	f := board.TaskFilter{Statuses: []board.Status{board.InProgress, board.InReview}, Limit: 1000}
	for _, c := range claims {
		f.IDs = append(f.IDs, c.Task)
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
