package boardtext

import (
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// A view prints to a terminal.
type view struct{ *console.Console }

// Show prints a task with all that is known about it, the runs of its attempts, and the newest
// events of its history, for a principal.
func Show(c *console.Console, d board.Dossier, principal string, runs []board.Run, events int) {
	v := view{c}
	t := d.Task
	v.Field("", console.Cyan.Cell(t.ID.String()+" "), console.Bold.Cell(t.Title))
	facts := []console.Cell{StateStyle(t.State()).Cell(t.State().String())}
	add := func(format string, args ...any) { facts = append(facts, console.Text(fmt.Sprintf(format, args...))) }
	if t.Priority != board.Normal {
		facts = append(facts, PriorityStyle(t.Priority).Cell(t.Priority.String()))
	}
	switch {
	case d.Claim != nil && d.Claim.Killed:
		add("%s had it; its process was killed", d.Claim.Worker.Name)
	case d.Review != nil && d.Review.Killed:
		add("%s reviewed it; its process was killed", d.Review.Worker.Name)
	case d.Claim != nil:
		left := d.Claim.LeaseUntil.Sub(d.Now)
		if left > 0 {
			add("%s since %s, lease %s", d.Claim.Worker.Name, Span(d.Now.Sub(d.Claim.GrantedAt)), Span(left))
		} else {
			add("%s, lease expired %s", d.Claim.Worker.Name, Ago(d.Now, d.Claim.LeaseUntil))
		}
	case d.Review != nil:
		add("%s reviews it since %s, lease %s", d.Review.Worker.Name, Span(d.Now.Sub(d.Review.GrantedAt)), Span(d.Review.LeaseUntil.Sub(d.Now)))
	case !t.ReservedFor.IsZero():
		add("reserved for %s for another %s", t.ReservedFor.Name, Span(t.NotBefore.Sub(d.Now)))
	case !t.NotBefore.IsZero():
		add("for another %s", Span(t.NotBefore.Sub(d.Now)))
	}
	switch {
	case t.Failures > 0 && t.Status.Terminal(): // how many more might have failed is of no interest
		add("%s failed", console.Count(t.Failures, "attempt"))
	case t.Failures > 0:
		add("%d of %d attempts failed", t.Failures, t.MaxFailures)
	}
	add("created %s by %s", Ago(d.Now, t.CreatedAt), word(t.CreatedBy))
	if !t.EndedAt.IsZero() {
		add("ended %s", Ago(d.Now, t.EndedAt))
	}
	v.Facts(console.Cell{}, facts...)
	v.pairs([][2]string{
		{"part of", t.Parent.String()},
		{"skills", strings.Join(t.Skills, ", ")},
		{"areas", strings.Join(t.Areas, ", ")},
		{"evidence", joinKinds(t.Wants)},
		{"lease", spanOrNone(t.Lease)},
	})
	// A title that was made from the description is not repeated.
	if text := d.Doc.Description; text != "" && strings.TrimSpace(text) != t.Title {
		v.section("Description", text)
	}
	v.section("Done when", d.Doc.Acceptance)
	v.tasksSection("Depends on", d.Blockers, d.Results)
	v.tasksSection("Dependents", d.Dependents, nil)
	v.tasksSection("Parts", d.Children, nil)
	for _, q := range d.Questions {
		v.Linef("")
		v.Facts(console.Bold.Cell("Question "+q.ID.String()), console.Dim.Cell(q.Asker.Name+", "+Ago(d.Now, q.AskedAt)))
		v.Quoted("  ", q.Text)
		switch q.State {
		case board.QuestionOpen:
			v.Linef("  %s", v.Styled(console.Yellow, "open: bossman answer "+q.ID.String()))
		case board.QuestionAnswered:
			answered(v.Console, q)
		default:
			v.Linef("  %s", v.Styled(console.Dim, string(q.State)))
		}
	}
	if r := d.Doc.Result; r != nil {
		v.section("Result", r.Summary)
		if r.Import != "" {
			v.Field("  ", console.Dim.Cell("from:"), console.Yellow.Cell("the "+r.Import))
		}
		for _, e := range r.Evidence {
			style, seen := console.Yellow, "claimed"
			switch {
			case e.Observed:
				style, seen = console.Green, "observed"
			case r.Import != "":
				seen = "claimed by the import"
			}
			v.Field("  ", style.Cell(fmt.Sprintf("%s, %s:", e.Kind, seen)), console.Text(e.Ref+"  "+e.Detail))
		}
		if r.ObservedBy != "" || r.ObservedOn != "" {
			by := "on " + console.OneLine(r.ObservedOn)
			if r.ObservedBy != "" {
				by += ", with the key of " + console.OneLine(r.ObservedBy)
			}
			v.Field("  ", console.Dim.Cell("observed:"), console.Text(by))
		}
		for _, i := range r.Includes {
			v.Field("  ", console.Dim.Cell("includes:"), console.Yellow.Cell(included(i)))
		}
		if r.Check != "" {
			v.Field("  ", console.Dim.Cell("check:"), console.Yellow.Cell(r.Check))
		}
		for _, file := range r.Artifacts {
			v.Field("  ", console.Dim.Cell("artifact:"), console.Text(file))
		}
		if r.Branch != "" {
			v.Field("  ", console.Dim.Cell("branch:"), console.Text(word(r.Branch)))
		}
		if text := r.NotCommitted(); text != "" {
			v.Field("  ", console.Yellow.Cell("not committed:"), console.Text(text))
		}
		for _, l := range looseLines(r.Loose) {
			v.Field("  ", console.Yellow.Cell(l[0]), console.Text(l[1]))
		}
	}
	v.attempts(d, principal, runs)
	v.calls(d)
	v.history(d, events)
}

// pairs prints names and values, without those whose value is empty.
func (v view) pairs(pairs [][2]string) {
	var rows []console.Row
	for _, kv := range pairs {
		if kv[1] != "" {
			rows = append(rows, console.Row{console.Dim.Cell(kv[0]), console.Text(kv[1])})
		}
	}
	v.Table("", []console.Column{{}, {Flex: true}}, rows)
}

func (v view) section(head, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	v.Linef("\n%s", v.Styled(console.Bold, head))
	v.Quoted("  ", text)
}

func (v view) tasksSection(head string, ts []board.Task, results map[board.ID]board.Result) {
	if len(ts) == 0 {
		return
	}
	v.Linef("\n%s", v.Styled(console.Bold, head))
	var rows []console.Row
	for _, t := range ts {
		text := console.OneLine(t.Title)
		if r, ok := results[t.ID]; ok && r.Summary != "" {
			text += ": " + console.OneLine(r.Summary)
		}
		rows = append(rows, console.Row{console.Cyan.Cell(t.ID.String()), StateCell(t.State()), console.Text(text)})
	}
	v.Table("  ", []console.Column{{}, {}, {Flex: true}}, rows)
}

// attempts prints how each attempt went and where its work is.
func (v view) attempts(d board.Dossier, principal string, runs []board.Run) {
	if len(d.Attempts) == 0 {
		return
	}
	v.Linef("\n%s", v.Styled(console.Bold, "Attempts"))
	for _, at := range d.Attempts {
		how := "in progress"
		if d.Claim != nil && d.Claim.Killed && d.Claim.Handle == at.Handle {
			how = board.Killed
		}
		if !at.EndedAt.IsZero() {
			how = string(at.Cause) + " after " + Span(at.EndedAt.Sub(at.GrantedAt))
		}
		if at.CameBack() {
			how = "reported " + how + ", and came back"
		}
		v.Linef("  %d  %s  %s", at.Attempt, console.OneLine(at.Worker.Name), how)
		if at.Imported() {
			v.Field("     ", console.Dim.Cell("from:"), console.Yellow.Cell("the "+at.Worker.Principal))
		}
		if at.Reason != "" {
			v.Quoted("     ", at.Reason)
		}
		if where := whereText(at.Where); where != "" {
			v.Field("     ", console.Cell{}, console.Dim.Cell(where))
		}
		for _, r := range runs {
			if r.Claim != at.Handle {
				continue
			}
			v.Field("     ", console.Dim.Cell("agent:"), console.Dim.Cell(runText(r)+"; bossman task log "+d.Task.ID.String()+" --attempt "+fmt.Sprint(at.Attempt)))
			if command := resume(r, at, principal); command != "" && at.Attempt == d.Attempts[len(d.Attempts)-1].Attempt {
				label := "     " + v.Styled(console.Dim, "go on by hand:")
				if !v.Fits("     go on by hand: " + command) {
					v.Linef("%s", label)
					label = "    "
				}
				v.Linef("%s %s", label, command)
			}
		}
		if at.DoNotRepeat != "" {
			v.Linef("     do not repeat:")
			v.Quoted("     ", at.DoNotRepeat)
		}
	}
}

func whereText(w board.Where) string {
	var parts []string
	if w.Branch != "" {
		text := "branch " + word(w.Branch)
		if w.Head != "" {
			text += " at " + console.OneLine(w.Head[:min(len(w.Head), 8)])
		}
		parts = append(parts, text)
	}
	if w.Uncommitted > 0 {
		parts = append(parts, console.Count(w.Uncommitted, "uncommitted file"))
	}
	if w.Dir != "" {
		parts = append(parts, word(w.Host)+":"+word(w.Dir))
	}
	if w.Away() {
		parts = append(parts, "told to work on branch "+word(w.Ordered))
	}
	return strings.Join(parts, ", ")
}

func (v view) history(d board.Dossier, events int) {
	if len(d.Events) == 0 || events == 0 {
		return
	}
	v.Linef("\n%s", v.Styled(console.Bold, "History"))
	if first := d.Events[0].Seq; first > 1 {
		v.Linef("  %s", v.Styled(console.Dim, fmt.Sprintf("%s earlier: --events %d", console.Count(int(first-1), "event"), d.Task.Seq)))
	}
	var rows []console.Row
	for _, e := range d.Events {
		rows = append(rows, console.Row{
			console.Dim.Cell(e.When().Local().Format(stampLayout(d.Now, e.When()))),
			console.Text(e.Detail.By.Named(e.Actor)),
			console.Text(strings.TrimSpace(string(e.Kind) + " " + eventState(e))),
			console.Text(eventText(e)),
		})
	}
	v.Table("  ", []console.Column{{}, {}, {}, {Flex: true, Wrap: true}}, rows)
}

// eventState is the status that an event led to, if its kind does not imply it.
func eventState(e board.Event) string {
	if e.From == e.To || e.From == "" || string(e.To) == string(e.Kind) {
		return ""
	}
	switch e.Kind {
	case board.EventClaimed:
		return ""
	case board.EventAccepted, board.EventLanded:
		if e.To == board.Done {
			return ""
		}
	}
	return "→ " + strings.ReplaceAll(string(e.To), "_", " ")
}

// maxWas is how much of a replaced text the history shows; all of it is in JSON and exports.
const maxWas = 500

func eventText(e board.Event) string {
	var parts []string
	if e.Kind == board.EventClaimed {
		parts = append(parts, fmt.Sprintf("attempt %d", e.Detail.Attempt))
		if where := e.Detail.Where.Branch; where != "" {
			parts = append(parts, "on "+word(where))
		}
	}
	if e.Kind == board.EventClosed {
		parts = append(parts, "by hand, without check, review or landing")
	}
	if e.Detail.Why != "" {
		parts = append(parts, console.OneLine(e.Detail.Why))
	}
	if e.Redoes() {
		parts = append(parts, fmt.Sprintf("earlier: %q", console.OneLine(e.Detail.Prior)))
	} else if e.Detail.Prior != "" {
		parts = append(parts, console.OneLine(e.Detail.Prior))
	}
	if e.Detail.Question != 0 {
		parts = append(parts, e.Detail.Question.String())
	}
	if len(e.Detail.Fields) > 0 {
		parts = append(parts, strings.Join(e.Detail.Fields, ", "))
	}
	if w := e.Detail.Was; w != nil {
		for _, old := range [][2]string{{"title", w.Title}, {"description", w.Description}, {"acceptance", w.Acceptance}, {"evidence", joinKinds(w.Wants)}} {
			if old[1] != "" {
				parts = append(parts, fmt.Sprintf("%s was: %s", old[0], console.Truncate(console.OneLine(old[1]), maxWas)))
			}
		}
	}
	if e.Detail.Commit != "" {
		parts = append(parts, "with "+word(e.Detail.Commit))
	}
	if r := e.Detail.Returned; r != nil {
		parts = append(parts, string(r.Kind))
		if len(r.Files) > 0 {
			parts = append(parts, "in "+console.Truncate(console.OneLine(strings.Join(r.Files, ", ")), maxWas))
		}
		if !r.Other.IsZero() {
			parts = append(parts, "with "+r.Other.String())
		}
	}
	if e.Detail.Percent > 0 {
		parts = append(parts, fmt.Sprintf("%d%%", e.Detail.Percent))
	}
	if e.Detail.Text != "" && e.Kind != board.EventCreated {
		parts = append(parts, console.OneLine(e.Detail.Text))
	}
	for _, c := range e.Detail.Comments {
		parts = append(parts, console.OneLine(c.Place()+": "+c.Text))
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
