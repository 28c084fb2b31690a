package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

func (a *app) taskWhy() *cobra.Command {
	return a.eachTask("why TASK…", "Why a task is not handed out", func(ctx context.Context, o *openBoard, id board.ID) error {
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
			}{Task: id.String(), Status: string(d.Task.Status), State: string(d.Task.State())}
			for _, r := range reasons {
				out.Reasons = append(out.Reasons, reasonJSON{string(r.Code), withCommand(id, r)})
			}
			return a.PrintJSON(out)
		}
		a.Field("", console.Cyan.Cell(id.String()+" "), console.Text(d.Task.Title))
		a.Linef("  %s", a.Styled(console.Dim, d.Task.State().String()))
		for _, r := range reasons {
			a.Paragraph("  ", console.OneLine(withCommand(id, r)))
		}
		return nil
	})
}

// withCommand returns the text of a reason, and the command that helps if there is one.
func withCommand(id board.ID, r board.Reason) string {
	return strings.TrimSpace(r.Text + " " + commandFor(id, r))
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
	}
	return ""
}
