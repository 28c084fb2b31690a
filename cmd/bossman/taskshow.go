package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/spf13/cobra"
)

func (a *app) taskShow() *cobra.Command {
	events := 20
	cmd := a.oneTask("show TASK", "All that is known of a task, with its history", func(ctx context.Context, o *opened, id board.ID, _ []string) error {
		d, err := o.Get(ctx, id, events)
		if err != nil {
			return err
		}
		if a.flags.json {
			return a.printJSON(toDossier(d))
		}
		a.showDossier(d, events)
		return nil
	})
	cmd.Flags().IntVar(&events, "events", 20, "how many events of its history")
	return cmd
}

func (a *app) showDossier(d board.Dossier, events int) {
	p, t := a.paint, d.Task
	a.say("%s  %s", p.in(cyan, t.ID.String()), p.in(bold, line(t.Title)))
	facts := []string{p.in(stateStyle(t), stateWord(t))}
	add := func(format string, args ...any) { facts = append(facts, fmt.Sprintf(format, args...)) }
	if t.Priority != board.Normal {
		facts = append(facts, p.in(priorityStyle(t.Priority), t.Priority.String()))
	}
	switch {
	case d.Claim != nil:
		left := d.Claim.LeaseUntil.Sub(d.Now)
		if left > 0 {
			add("%s since %s, lease %s", line(d.Claim.Worker.Name), span(d.Now.Sub(d.Claim.GrantedAt)), span(left))
		} else {
			add("%s, lease ran out %s", line(d.Claim.Worker.Name), ago(d.Now, d.Claim.LeaseUntil))
		}
	case !t.ReservedFor.IsZero():
		add("kept for %s for another %s", line(t.ReservedFor.Name), span(t.NotBefore.Sub(d.Now)))
	case !t.NotBefore.IsZero():
		add("for another %s", span(t.NotBefore.Sub(d.Now)))
	}
	if t.Failures > 0 {
		add("%d of %d attempts failed", t.Failures, t.MaxFailures)
	}
	add("created %s by %s", ago(d.Now, t.CreatedAt), line(t.CreatedBy))
	if !t.EndedAt.IsZero() {
		add("ended %s", ago(d.Now, t.EndedAt))
	}
	a.say("%s", strings.Join(facts, " · "))
	a.pairs([][2]string{
		{"part of", t.Parent.String()},
		{"skills", strings.Join(t.Skills, ", ")},
		{"areas", strings.Join(t.Areas, ", ")},
		{"evidence", joinKinds(t.Wants)},
		{"lease", spanOrNone(t.Lease)},
	})
	// A title that was made of the description need not be said twice.
	if text := d.Doc.Description; text != "" && strings.TrimSpace(text) != t.Title {
		a.section("Description", text)
	}
	a.section("Done when", d.Doc.Acceptance)
	a.tasksSection("Comes after", d.Blockers, d.Results)
	a.tasksSection("Comes before", d.Dependents, nil)
	a.tasksSection("Parts", d.Children, nil)
	for _, q := range d.Questions {
		a.say("\n%s", p.in(bold, "Question "+q.ID.String())+p.in(dim, "  "+line(q.Asker.Name)+", "+ago(d.Now, q.AskedAt)))
		fmt.Fprint(a.out, p.wrap(plain(q.Text), "  "))
		switch q.State {
		case board.QuestionOpen:
			a.say("  %s", p.in(yellow, "open: bossman answer "+q.ID.String()))
		case board.QuestionAnswered:
			a.say("  %s %s", p.in(dim, line(q.AnsweredBy)+":"), line(q.Answer))
		default:
			a.say("  %s", p.in(dim, string(q.State)))
		}
	}
	if r := d.Doc.Result; r != nil {
		a.section("Result", r.Summary)
		for _, e := range r.Evidence {
			a.say("  %s %s", p.in(dim, string(e.Kind)+":"), strings.TrimSpace(line(e.Ref)+"  "+line(e.Detail)))
		}
		for _, file := range r.Artifacts {
			a.say("  %s %s", p.in(dim, "artifact:"), line(file))
		}
		if r.Branch != "" {
			a.say("  %s %s", p.in(dim, "branch:"), line(r.Branch))
		}
	}
	a.attempts(d)
	a.history(d, events)
}

// pairs shows what is not empty.
func (a *app) pairs(pairs [][2]string) {
	var rows [][]cell
	for _, kv := range pairs {
		if kv[1] != "" {
			rows = append(rows, []cell{{kv[0], dim}, {line(kv[1]), ""}})
		}
	}
	a.paint.table(a.out, "", []column{{}, {flex: true}}, rows)
}

func (a *app) section(head, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	a.say("\n%s", a.paint.in(bold, head))
	fmt.Fprint(a.out, a.paint.wrap(plain(strings.TrimSpace(text)), "  "))
}

func (a *app) tasksSection(head string, ts []board.Task, results map[board.ID]board.Result) {
	if len(ts) == 0 {
		return
	}
	a.say("\n%s", a.paint.in(bold, head))
	var rows [][]cell
	for _, t := range ts {
		text := line(t.Title)
		if r, ok := results[t.ID]; ok && r.Summary != "" {
			text += ": " + line(r.Summary)
		}
		rows = append(rows, []cell{{t.ID.String(), cyan}, {stateWord(t), stateStyle(t)}, {text, ""}})
	}
	a.paint.table(a.out, "  ", []column{{}, {}, {flex: true}}, rows)
}

// attempts shows those that have ended, and where the work is.
func (a *app) attempts(d board.Dossier) {
	if len(d.Attempts) == 0 {
		return
	}
	a.say("\n%s", a.paint.in(bold, "Attempts"))
	for _, at := range d.Attempts {
		how := "at work"
		if !at.EndedAt.IsZero() {
			how = string(at.Cause) + " after " + span(at.EndedAt.Sub(at.GrantedAt))
		}
		text := fmt.Sprintf("%d  %s  %s", at.Attempt, line(at.Worker.Name), how)
		if at.Reason != "" && at.Cause != board.CauseDone {
			text += ": " + line(at.Reason)
		}
		fmt.Fprint(a.out, a.paint.wrap(text, "  "))
		if where := whereText(at.Where); where != "" {
			a.say("     %s", a.paint.in(dim, where))
		}
		if at.DoNotRepeat != "" {
			fmt.Fprint(a.out, a.paint.wrap("do not repeat: "+line(at.DoNotRepeat), "     "))
		}
	}
}

func whereText(w board.Where) string {
	var parts []string
	if w.Branch != "" {
		text := "branch " + line(w.Branch)
		if w.Head != "" {
			text += " at " + line(w.Head[:min(len(w.Head), 8)])
		}
		parts = append(parts, text)
	}
	if w.Uncommitted > 0 {
		parts = append(parts, count(w.Uncommitted, "file")+" uncommitted")
	}
	if w.Dir != "" {
		parts = append(parts, line(w.Host)+":"+line(w.Dir))
	}
	return strings.Join(parts, ", ")
}

func (a *app) history(d board.Dossier, events int) {
	if len(d.Events) == 0 || events == 0 {
		return
	}
	a.say("\n%s", a.paint.in(bold, "History"))
	if first := d.Events[0].Seq; first > 1 {
		a.say("  %s", a.paint.in(dim, fmt.Sprintf("%s before: --events %d", count(int(first-1), "event"), d.Task.Seq)))
	}
	var rows [][]cell
	for _, e := range d.Events {
		rows = append(rows, []cell{
			{e.When().Local().Format(stamp(d.Now, e.When())), dim},
			{line(e.Actor), ""},
			{strings.TrimSpace(string(e.Kind) + " " + eventState(e)), ""},
			{eventText(e), ""},
		})
	}
	a.paint.table(a.out, "  ", []column{{}, {}, {}, {flex: true, wrap: true}}, rows)
}

// stamp is how a moment is written: the hour on the same day, the day before.
func stamp(now, at time.Time) string {
	if now.Sub(at) < 20*time.Hour {
		return "15:04:05"
	}
	if now.Sub(at) < 300*24*time.Hour {
		return "Jan 02 15:04"
	}
	return "2006-01-02"
}

// eventState says where an event led, if its kind does not say it.
func eventState(e board.Event) string {
	if e.From == e.To || e.From == "" || string(e.To) == string(e.Kind) {
		return ""
	}
	switch e.Kind {
	case board.EventClaimed, board.EventAccepted:
		return ""
	}
	return "→ " + strings.ReplaceAll(string(e.To), "_", " ")
}

func eventText(e board.Event) string {
	var parts []string
	if e.Kind == board.EventClaimed {
		parts = append(parts, fmt.Sprintf("attempt %d", e.Detail.Attempt))
		if where := e.Detail.Where.Branch; where != "" {
			parts = append(parts, "on "+line(where))
		}
	}
	if e.Detail.Question != 0 {
		parts = append(parts, e.Detail.Question.String())
	}
	if len(e.Detail.Fields) > 0 {
		parts = append(parts, strings.Join(e.Detail.Fields, ", "))
	}
	if e.Detail.Percent > 0 {
		parts = append(parts, fmt.Sprintf("%d%%", e.Detail.Percent))
	}
	if e.Detail.Text != "" && e.Kind != board.EventCreated {
		parts = append(parts, line(e.Detail.Text))
	}
	if e.Detail.Late {
		parts = append(parts, "(after its claim had ended)")
	}
	return strings.Join(parts, "  ")
}

func joinKinds(ks []board.EvidenceKind) string {
	var out []string
	for _, k := range ks {
		out = append(out, string(k))
	}
	return strings.Join(out, ", ")
}

func spanOrNone(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
