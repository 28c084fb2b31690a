package main

import (
	"context"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/spf13/cobra"
)

func (a *app) taskWhy() *cobra.Command {
	return a.eachTask("why TASK…", "Why a task is not handed out", func(ctx context.Context, o *openBoard, id board.ID) error {
		d, reasons, err := o.Why(ctx, id)
		if err != nil {
			return err
		}
		reasons = boardtext.WhyGone(reasons, d.Claim)
		if a.JSON {
			type reasonJSON struct {
				Code string `json:"code"`
				Text string `json:"text"`
			}
			out := struct {
				Task    string       `json:"task"`
				Status  string       `json:"status"`
				State   string       `json:"state"`
				Reasons []reasonJSON `json:"reasons"`
			}{Task: id.String(), Status: string(d.Task.Status), State: string(d.Task.State())}
			for _, r := range reasons {
				out.Reasons = append(out.Reasons, reasonJSON{string(r.Code), boardtext.Why(id, r)})
			}
			return a.PrintJSON(out)
		}
		boardtext.ShowWhy(a.Console, d.Task, reasons)
		return nil
	})
}
