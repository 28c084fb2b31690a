package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

func (a *app) inboxCommand() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use: "inbox", Short: "Show what waits for you: questions, reviews, failures, proposals", Args: cobra.NoArgs,
		Long: `Inbox shows what waits for a person: open questions, tasks to review, failed tasks, and
tasks that depend on a failed or cancelled one. Last come follow-ups that workers
proposed: start or cancel them.

With --watch it keeps running and shows new entries, each once; with --json one entry
per line.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, slug, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			if watch {
				return a.watchInbox(cmd.Context(), o, slug)
			}
			in, err := o.inbox(cmd.Context(), slug)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(struct {
					Inbox []inboxEntry `json:"inbox"`
				}{in})
			}
			if len(in) == 0 {
				a.Linef("Nothing waits for you.")
				return nil
			}
			for i, e := range in {
				if i > 0 {
					a.Linef("")
				}
				a.showEntry(e)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "keep running and show new entries")
	return cmd
}

// An inboxEntry is one thing that waits for a person.
type inboxEntry struct {
	Kind    string              `json:"kind"` // question, review, failed, stuck, check, follow_up
	ID      string              `json:"id"`
	Title   string              `json:"title"`
	Task    string              `json:"task,omitzero"`
	Detail  string              `json:"detail,omitzero"`
	Since   time.Time           `json:"since,omitzero"`
	Command string              `json:"command"`
	Cancel  string              `json:"cancel,omitzero"` // the command that declines it
	Asked   *boardjson.Question `json:"question,omitzero"`

	age  string
	said string // what a worker said, which Detail ends with
}

// maxDetailed is for how many tasks of a status the last attempt is read.
const maxDetailed = 20

// checkEntry returns an entry if the check in the project's file is not the one that a
// person accepted.
func (o *openBoard) checkEntry() []inboxEntry {
	state, err := o.settings.Check()
	switch err = cmp.Or(err, state.Unseen); {
	case err != nil:
		return []inboxEntry{{Kind: "check", ID: "check", Title: "The check cannot run: " + err.Error() + ".", Detail: console.NextOf(err), Command: "bossman trust"}}
	case state.Broken != nil:
		return []inboxEntry{{Kind: "check", ID: "check", Title: state.Broken.Error() + ".", Detail: "the accepted check stays in force", Command: "bossman config show"}}
	case state.Proposed == nil && !state.Withdrawn:
		return []inboxEntry{}
	}
	e := inboxEntry{Kind: "check", ID: "check", Title: "The check in " + state.File + " has not been accepted, so it does not run.", Command: "bossman trust"}
	switch {
	case state.Moved != nil:
		e.Title = "A check was accepted when this repository was " + state.Moved.Repository + "; reports are refused until it is accepted again."
	case state.Withdrawn:
		e.Title = "The check was removed from " + state.File + "."
		e.Detail = "the accepted one stays in force"
	case state.Trust.Check != nil:
		e.Title = "The check in " + state.File + " differs from the accepted one."
		e.Detail = "the accepted one stays in force"
	}
	return []inboxEntry{e}
}

// inbox returns what waits for a person, most urgent first.
func (o *openBoard) inbox(ctx context.Context, slug string) ([]inboxEntry, error) {
	s, err := o.Summary(ctx, slug)
	if err != nil {
		return nil, err
	}
	in := o.checkEntry()
	for _, blocking := range []bool{true, false} {
		for _, q := range s.Open {
			if q.Blocking != blocking {
				continue
			}
			e := inboxEntry{
				Kind: "question", ID: q.ID.String(), Title: q.Text, Task: q.Claim.Task.String(), Since: q.AskedAt.UTC(),
				Command: "bossman answer " + q.ID.String(), Asked: new(boardjson.FromQuestion(q, s.Now)), age: boardtext.Ago(s.Now, q.AskedAt),
			}
			if e.Asked.Earlier, err = o.chat(ctx, q); err != nil {
				return nil, err
			}
			switch {
			case boardjson.Overdue(q, s.Now):
				e.Detail = "overdue"
			case q.Blocking:
				e.Detail = "blocks work"
			case q.Default != "":
				e.Detail = "default: " + q.Default
			}
			in = append(in, e)
		}
	}
	some := s.Counts.Status
	for _, status := range []board.Status{board.InReview, board.Failed} {
		if some[status] == 0 {
			continue
		}
		ts, err := o.List(ctx, board.TaskFilter{Projects: []string{slug}, Statuses: []board.Status{status}, Limit: 100})
		if err != nil {
			return nil, err
		}
		for i, t := range ts {
			e := taskEntry(t)
			if i < maxDetailed {
				d, err := o.Get(ctx, t.ID, 0)
				if err != nil {
					return nil, err
				}
				e.addOutcome(d, s.Now)
			}
			in = append(in, e)
		}
	}
	if s.Counts.Blocked > 0 && (some[board.Cancelled] > 0 || some[board.Failed] > 0) {
		stuck, err := o.stuck(ctx, slug)
		if err != nil {
			return nil, err
		}
		in = append(in, stuck...)
	}
	if s.Counts.Held > 0 {
		proposed, err := o.followUps(ctx, slug, s.Now)
		if err != nil {
			return nil, err
		}
		in = append(in, proposed...)
	}
	return in, nil
}

// followUps returns the drafts that workers proposed.
func (o *openBoard) followUps(ctx context.Context, slug string, now time.Time) ([]inboxEntry, error) {
	held, err := o.List(ctx, board.TaskFilter{Projects: []string{slug}, Statuses: []board.Status{board.Pending}, Hold: true, Limit: 200})
	if err != nil {
		return nil, err
	}
	var in []inboxEntry
	for _, t := range held {
		// An imported task has another event first.
		first, err := o.Events(ctx, t.ID, 0, 2)
		if err != nil {
			return nil, err
		}
		for _, e := range first {
			if e.Kind == board.EventCreated && e.Detail.Worker != "" {
				in = append(in, inboxEntry{
					Kind: "follow_up", ID: t.ID.String(), Title: t.Title, Task: t.ID.String(), Detail: e.Detail.Prior, said: e.Detail.Prior, Since: e.When().UTC(), age: boardtext.Ago(now, e.When()),
					Command: fmt.Sprintf("bossman task start %v", t.ID), Cancel: fmt.Sprintf("bossman task cancel %v", t.ID),
				})
			}
		}
	}
	return in, nil
}

// chat returns what was asked before in the conversation of a question.
func (o *openBoard) chat(ctx context.Context, q board.Question) ([]boardjson.Question, error) {
	earlier, err := board.Chat(ctx, o, q, 5)
	return boardjson.FromQuestions(earlier, time.Time{}), err
}

func taskEntry(t board.Task) inboxEntry {
	e := inboxEntry{Kind: "review", ID: t.ID.String(), Title: t.Title, Task: t.ID.String(), Command: fmt.Sprintf("bossman task review %v", t.ID)}
	e.Detail = "reported done"
	if t.Status == board.Failed {
		e.Kind = "failed"
		e.Detail = fmt.Sprintf("%d of %d attempts failed", t.Failures, t.MaxFailures)
		e.Command = fmt.Sprintf("bossman task why %v", t.ID)
	}
	return e
}

// addOutcome adds how the last attempt ended.
func (e *inboxEntry) addOutcome(d board.Dossier, now time.Time) {
	if len(d.Attempts) == 0 {
		return
	}
	last := d.Attempts[len(d.Attempts)-1]
	e.Since = last.EndedAt.UTC()
	e.age = boardtext.Ago(now, last.EndedAt)
	switch {
	case d.Task.Status == board.Failed && last.Reason != "":
		e.said = last.Reason
		e.Detail += ", the last: " + e.said
	case d.Doc.Result != nil:
		e.said = d.Doc.Result.Summary
		e.Detail += ": " + e.said
	}
	if d.Review != nil {
		e.Detail = d.Review.Worker.Name + " reviews it; " + e.Detail
	}
}

// stuck returns tasks that depend on one that has failed or was cancelled.
func (o *openBoard) stuck(ctx context.Context, slug string) ([]inboxEntry, error) {
	ts, err := o.List(ctx, board.TaskFilter{Projects: []string{slug}, Statuses: []board.Status{board.Pending}, Stuck: true, Limit: 100})
	if err != nil {
		return nil, err
	}
	var in []inboxEntry
	for i, t := range ts {
		e := inboxEntry{
			Kind: "stuck", ID: t.ID.String(), Title: t.Title, Task: t.ID.String(),
			Detail: "depends on a task that failed or was cancelled", Command: fmt.Sprintf("bossman task why %v", t.ID),
		}
		if i < maxDetailed {
			d, err := o.Get(ctx, t.ID, 0)
			if err != nil {
				return nil, err
			}
			dead := slices.IndexFunc(d.Blockers, func(b board.Task) bool { return b.Status == board.Failed || b.Status == board.Cancelled })
			if dead < 0 {
				continue // it has just been freed
			}
			e.Detail = fmt.Sprintf("depends on %v, which is %s", d.Blockers[dead].ID, d.Blockers[dead].State())
		}
		if i >= maxDetailed && len(in) == 0 {
			break // the server is older than this filter
		}
		in = append(in, e)
	}
	return in, nil
}

// inboxTable prints entries, one per line.
func (a *app) inboxTable(in []inboxEntry) {
	var rows []console.Row
	for _, e := range in {
		kind := e.Kind
		switch {
		case e.Kind == "question" && e.Task != "":
			kind = e.Task
		case e.Kind == e.ID:
			kind = ""
		}
		rows = append(rows, console.Row{console.Cyan.Cell(e.ID), entryStyle(e.Kind).Cell(strings.ReplaceAll(kind, "_", "-")), console.Text(e.Title), console.Dim.Cell(e.age)})
	}
	a.Table("  ", []console.Column{{}, {}, {Flex: true}, {Right: true, Drop: 1}}, rows)
}

func entryStyle(kind string) console.Style {
	switch kind {
	case "failed", "stuck":
		return console.Red
	case "review":
		return console.Yellow
	}
	return ""
}

// showEntry prints one entry in full.
func (a *app) showEntry(e inboxEntry) {
	head := a.Styled(console.Cyan, e.ID)
	var facts []string
	if e.Kind != "question" && e.Kind != e.ID {
		facts = append(facts, strings.ReplaceAll(e.Kind, "_", "-"))
	} else if e.Task != "" {
		facts = append(facts, "about "+e.Task)
	}
	if q := e.Asked; q != nil && q.Worker != "" {
		facts = append(facts, "from "+console.OneLine(q.Worker))
	}
	if e.age != "" {
		facts = append(facts, e.age)
	}
	if e.Detail != "" && e.Kind == "question" {
		facts = append(facts, console.OneLine(e.Detail))
	}
	if q := e.Asked; q != nil && q.HumanOnly {
		facts = append(facts, "for people only")
	}
	if q := e.Asked; q != nil && q.AskerLeft {
		left := "its asker has left: nobody waits for the answer"
		if e.Task != "" {
			left = "its asker has left: the next worker of " + e.Task + " gets the answer"
		}
		facts = append(facts, left)
	}
	a.Linef("%s  %s", head, a.Styled(console.Dim, strings.Join(facts, " · ")))
	if e.Asked != nil {
		for _, q := range e.Asked.Earlier {
			a.Field("  ", console.Dim.Cell("earlier, "+q.ID+":"), console.Text(q.Text))
			if q.Answer == "" {
				a.Linef("  %s", a.Styled(console.Dim, "("+q.State+")"))
			} else {
				a.Field("  ", console.Dim.Cell("the answer:"), console.Text(q.Answer))
			}
		}
	}
	if e.Kind == "check" {
		a.Paragraph("  ", e.Title)
	} else {
		a.Quoted("  ", e.Title)
	}
	if e.Detail != "" && e.Kind != "question" {
		if ours := strings.TrimSuffix(e.Detail, e.said); ours != "" {
			a.Paragraph("  ", console.OneLine(ours))
		}
		if e.said != "" {
			a.Quoted("  ", e.said)
		}
	}
	if q := e.Asked; q != nil {
		for i, option := range q.Options {
			mark := ""
			if option == q.Default {
				mark = a.Styled(console.Dim, "  (default)")
			}
			a.Linef("    %d. %s%s", i+1, console.OneLine(option), mark)
		}
	}
	command := e.Command
	if e.Cancel != "" {
		command += ", or: " + e.Cancel
	}
	a.Linef("  %s", a.Styled(console.Dim, command))
}

// watchInbox prints new entries until ctx ends.
func (a *app) watchInbox(ctx context.Context, o *openBoard, slug string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := o.Run(ctx); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		defer cancel()
		if !a.JSON {
			a.Infof("Watching %s; stop with Ctrl-C.", slug)
		}
		shown := map[string]bool{}
		for ctx.Err() == nil {
			in, err := o.inbox(ctx, slug)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil && !errors.Is(err, board.ErrUnavailable) {
				return err
			}
			now := map[string]bool{}
			for _, e := range in {
				key := e.Kind + " " + e.ID
				now[key] = true
				if shown[key] {
					continue
				}
				if a.JSON {
					if err := a.PrintJSONLine(e); err != nil {
						return err
					}
					continue
				}
				a.showEntry(e)
				a.Linef("")
			}
			if err == nil {
				shown = now
			}
			if err := a.Out.Flush(); err != nil {
				return err
			}
			o.Wait(ctx, 2*time.Second)
		}
		return nil
	})
	return g.Wait()
}
