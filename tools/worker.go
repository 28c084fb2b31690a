package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var listWorkers = &definition{
	name:  "list_workers",
	about: "List the workers seen in the last day, and what they hold.",
	props: []prop{
		{name: "project", kind: text, about: "only workers that hold a task of this project"},
	},
	run: run(findWorkers),
}

func findWorkers(ctx context.Context, t *Tools, k *caller, in struct {
	Project string `json:"project"`
},
) (*answer, error) {
	e := action{what: "Not listed."}
	projects, err := k.among(in.Project)
	if err != nil {
		return nil, err
	}
	workers, now, err := t.b.Workers(ctx, 24*time.Hour)
	if err != nil {
		return nil, k.refuse(e, err)
	}
	held := map[board.WorkerID]board.Claim{}
	for _, p := range projects {
		claims, err := t.b.Claims(ctx, board.ClaimFilter{Project: p})
		if err != nil {
			return nil, k.refuse(e, err)
		}
		for _, c := range claims {
			held[c.Worker] = c
		}
	}
	w := wireList[wireWorker]{Items: []wireWorker{}}
	var lines []string
	for _, x := range workers {
		c, holds := held[x.WorkerID]
		// Workers of other keys are shown only if they hold a task here.
		if !holds && (in.Project != "" || x.Principal != k.Principal) {
			continue
		}
		row := wireWorker{Name: x.Name, LastSeenAgo: int(now.Sub(x.LastSeen).Seconds()), StoppedBy: x.StoppedBy}
		line := inline(x.Name, 80) + " is idle"
		if holds {
			row.Task, row.Claim, row.LeaseLeft = c.Task.String(), c.Handle.String(), int(c.LeaseUntil.Sub(now).Seconds())
			what := "has held"
			if c.IsReview() {
				what = "has reviewed"
			}
			line = fmt.Sprintf("%s %s %v for %s; the lease has %s left", inline(x.Name, 80), what, c.Task, board.Span(now.Sub(c.GrantedAt)), board.Span(c.LeaseUntil.Sub(now)))
		} else {
			line += ", seen " + since(now, x.LastSeen)
		}
		if x.Owner == k.Owner && k.Owner != "" {
			line += ", on this connection"
		}
		if x.StoppedBy != "" {
			line += ", stopped by " + inline(x.StoppedBy, 40)
		}
		w.Items = append(w.Items, row)
		if len(lines) < maxRows {
			lines = append(lines, line+".")
		}
	}
	if lines == nil {
		lines = append(lines, "No matching workers in the last day.")
	}
	if n := len(w.Items) - len(lines); n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return &answer{text: strings.Join(lines, "\n"), result: w}, nil
}
