package web

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

// addIncluded says what is not in the work, and whose other work is in it.
func (q *request) addIncluded(ctx context.Context, r *reviewed, p *reviewPage) error {
	res := r.Doc.Result
	if res == nil || !r.reported() {
		return nil
	}
	if text := res.Dropped(); text != "" {
		p.Strips = append(p.Strips, message{Class: "you", Shape: "you", Head: "Work of this task is dropped:", Text: line(text, 1000)})
	} else if res.NoChanges {
		p.Strips = append(p.Strips, message{Shape: "idle", Head: "It changed nothing in git."})
	}
	if text := res.NotCommitted(); text != "" {
		p.Strips = append(p.Strips, message{Class: "you", Shape: "you", Head: "Not committed:", Text: text + "."})
	}
	if n := len(res.Loose.Written) + res.Loose.MoreWritten; n > 0 {
		p.Strips = append(p.Strips, message{
			Class: "you", Shape: "you", Head: plural(n, "file was", "files were") + " left out.",
			Text: "Made by the check: " + line(strings.Join(res.Loose.Written, ", "), 400) + ". Commit what is part of the work, and ignore the rest.",
		})
	}
	if n := len(res.Loose.LeftOut) + res.Loose.More; n > 0 {
		why := "Uncommitted before this task began: "
		if res.Loose.Unknown {
			why = "Not committed, and it is not known what lay there before this task began: "
		}
		p.Strips = append(p.Strips, message{
			Class: "you", Shape: "you", Head: plural(n, "file was", "files were") + " left out.",
			Text: why + line(strings.Join(res.Loose.LeftOut, ", "), 400) + ". Commit what is part of it.",
		})
	}
	named := func(paths []string, more int) string {
		text := line(strings.Join(paths, ", "), 400)
		if more > 0 {
			text += fmt.Sprintf(", and %d more", more)
		}
		return text
	}
	if text := res.Loose.MixedText("this task began", named); text != "" {
		p.Strips = append(p.Strips, message{Class: "you", Shape: "you", Head: "Not only the worker's:", Text: text + "."})
	}
	var mine []board.Included
	for _, i := range res.Includes {
		if q.may(access.Get, i.Task.Project) {
			mine = append(mine, i)
		}
	}
	strange, err := board.Strange(ctx, r.Task, mine, q.site.board.Get)
	if err != nil {
		return err
	}
	for _, i := range mine {
		m := message{Class: "you", Shape: "you", Head: "The work of " + i.Task.String() + " is in it", Text: fmt.Sprintf("up to commit %.10s. It had not landed when this was reported.", i.Commit), Path: q.link(reviewPath(i.Task)), Word: i.Task.String()}
		if r.project.Land != "" && slices.ContainsFunc(strange, func(d board.Dossier) bool { return d.Task.ID == i.Task }) {
			m.Text += " It lands on its own: this waits for it, or goes back."
		}
		p.Strips = append(p.Strips, m)
	}
	if n := len(res.Includes) - len(mine); n > 0 {
		p.Strips = append(p.Strips, message{Class: "you", Shape: "you", Head: "Work of " + plural(n, "task of another project", "tasks of other projects") + " is in it."})
	}
	return nil
}
