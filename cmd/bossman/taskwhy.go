package main

import (
	"context"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) taskWhy() *cobra.Command {
	return a.oneTask("why TASK", "Why a task is not handed out", func(ctx context.Context, o *opened, id board.ID, _ []string) error {
		d, reasons, err := o.Why(ctx, id)
		if err != nil {
			return err
		}
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
			}{Task: id.String(), Status: string(d.Task.Status), State: state(d.Task)}
			for _, r := range reasons {
				out.Reasons = append(out.Reasons, reasonJSON{string(r.Code), withCommand(r)})
			}
			return a.PrintJSON(out)
		}
		a.Linef("%s  %s%s", a.Styled(console.Cyan, id.String()), console.OneLine(d.Task.Title), a.Styled(console.Dim, "  "+stateWord(d.Task)))
		for _, r := range reasons {
			a.Paragraph("  ", console.OneLine(withCommand(r)))
		}
		return nil
	})
}

// withCommand is a reason with the command that helps.
func withCommand(r board.Reason) string { return strings.TrimSpace(r.Text + " " + r.Do) }
