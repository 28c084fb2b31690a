package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

var getTask = &definition{
	name:  "get_task",
	about: "Read a task: its text, state, links, questions and history.",
	props: []prop{
		{name: "task", kind: text, about: "task id; default: the task you hold", aliases: append([]string{"claim"}, taskNames...)},
		{name: "detail", kind: text, enum: []string{"brief", "full", "diff"}, about: "default brief; full adds the whole text and more history; diff is what its work changed"},
		{name: "file", kind: text, about: "with diff: one file", aliases: []string{"path"}},
	},
	run: run(get),
}

func get(ctx context.Context, t *Tools, k *caller, in struct {
	Task   string `json:"task"`
	Detail string `json:"detail"`
	File   string `json:"file"`
},
) (*answer, error) {
	id, err := k.task(ctx, in.Task)
	if err != nil {
		return nil, err
	}
	if in.Detail == "diff" || in.File != "" {
		d, err := t.b.Diff(ctx, id, 0)
		if err != nil {
			return nil, k.refuse(action{what: "Not found.", task: id}, err)
		}
		text := diffText(id, d, in.File)
		if now, err := t.b.Get(ctx, id, 0); err != nil {
			return nil, k.refuse(action{what: "Not found.", task: id}, err)
		} else if r := now.Doc.Result; r != nil && r.NoChanges && r.Tip.Commit != d.Diff.Tip && d.Attempt != 0 {
			text = "This was not reported again: the last report says that no change is needed.\n" + text
		}
		return &answer{text: text, result: wireDiff{Task: id.String(), Attempt: d.Attempt, Files: len(d.Diff.Files) + d.Diff.More}}, nil
	}
	d, reasons, err := t.b.Why(ctx, id)
	if err != nil {
		return nil, k.refuse(action{what: "Not found.", task: id}, err)
	}
	held, err := k.held(ctx)
	if err != nil {
		return nil, k.refuse(action{what: "Not read.", task: id}, err)
	}
	if in.Detail == "full" {
		if whole, err := t.b.Get(ctx, id, maxHistory); err == nil { // the decisions among them are shown
			d.Events = whole.Events
		}
	}
	w := wireOf(d.Task, d.Doc)
	for _, b := range d.Blockers {
		w.DependsOn = append(w.DependsOn, b.ID.String())
	}
	return &answer{text: taskText(d, reasons, held, in.Detail == "full"), result: w}, nil
}

// maxHistory is how many events of a task are looked at for decisions about it.
const maxHistory = 500

// taskText is the text of a task; full has no limits on length.
func taskText(d board.Dossier, reasons []board.Reason, held []board.Claim, full bool) string {
	t := &d.Task
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s\n%s, priority %s, created %s", t.ID, inline(t.Title, 500), t.State(), t.Priority, since(d.Now, t.CreatedAt))
	if t.Attempt > 0 {
		fmt.Fprintf(&b, ", attempt %d", t.Attempt)
	}
	if t.Failures > 0 {
		fmt.Fprintf(&b, ", %d of %d attempts failed", t.Failures, t.MaxFailures)
	}
	b.WriteString(".")
	switch {
	case isOwn(held, d.Claim):
		fmt.Fprintf(&b, "\nYours: claim %v, worker %s; the lease has %s left.", d.Claim.Handle, inline(d.Claim.Worker.Name, 80), board.Span(d.Claim.LeaseUntil.Sub(d.Now)))
	case isOwn(held, d.Review):
		fmt.Fprintf(&b, "\nYours to review: claim %v, worker %s; the lease has %s left.", d.Review.Handle, inline(d.Review.Worker.Name, 80), board.Span(d.Review.LeaseUntil.Sub(d.Now)))
	case d.Claim != nil && d.Claim.Killed:
		b.WriteString("\nIts worker's process was killed.")
	case d.Claim != nil:
		fmt.Fprintf(&b, "\nHeld by another worker for %s.", board.Span(d.Now.Sub(d.Claim.GrantedAt)))
	default:
		for _, r := range reasons {
			if r.Code == board.WhyReserved {
				r.Text = "It is reserved for up to 10 minutes for the worker that asked about it."
			}
			if r.Code == board.WhyReviewing {
				r.Text = "It was reported done, and another worker reviews it."
			}
			if r.Code == board.WhyQuestion {
				r.Text = "It is waiting for an answer from people."
			}
			b.WriteString("\n" + visible.Line(r.Text))
		}
	}
	long, lines, events := 2500, 6, 5
	if full {
		long, lines, events = textLimit(true, 0), 1000, 20
	}
	b.WriteString(join(append(specSections(d, long)[1:],
		section{title: "EVIDENCE REQUIRED", body: joined(t.Wants)},
		section{title: "SKILLS", body: inlineList(t.Skills, long)},
		section{title: "AREAS", body: inlineList(t.Areas, long)},
		section{title: "PART OF", body: t.Parent.String()},
		section{title: "BUILDS ON", body: taskLines(d.Blockers, d.Results, lines)},
		section{title: "UNBLOCKS", body: taskLines(d.Dependents, nil, lines)},
		section{title: "PARTS", body: taskLines(d.Children, nil, lines)},
		section{title: "QUESTIONS", body: questionLines(d.Questions, lines, full)},
		section{title: "RESULT", body: resultText(d.Doc.Result, long)},
		section{title: "COMMENTS", body: commentsText(t.ID, d.Doc.Result, full)},
		section{title: "WORK", body: workText(d)},
		section{title: "HISTORY", body: historyText(d, events, full)},
	)))
	return b.String()
}

// isOwn reports whether a claim is one of those that the caller holds.
func isOwn(held []board.Claim, c *board.Claim) bool {
	return c != nil && slices.ContainsFunc(held, func(h board.Claim) bool { return h.Handle == c.Handle })
}

// taskLines lists tasks with their results, one per line and at most limit.
func taskLines(ts []board.Task, results map[board.ID]board.Result, limit int) string {
	var lines []string
	for i, t := range ts {
		if i == limit {
			lines = append(lines, fmt.Sprintf("and %d more", len(ts)-i))
			break
		}
		line := fmt.Sprintf("%v (%s): %s", t.ID, t.State(), inline(t.Title, 100))
		if r, ok := results[t.ID]; ok {
			line += ", " + reported(r) + ": " + inline(r.Summary, 200)
			if at := resultLocation(r); at != "" {
				line += " (" + at + ")"
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// questionLines lists the last questions, at most limit; full has all of the answers.
func questionLines(qs []board.Question, limit int, full bool) string {
	var lines []string
	for _, q := range qs {
		line := fmt.Sprintf("%v, asked by an agent: %s", q.ID, inline(q.Text, 200))
		if q.State == board.QuestionAnswered {
			line += " " + answeredBy(q) + ": " + inline(q.Answer, textLimit(full, 300))
		} else {
			line += " is " + string(q.State)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines[max(0, len(lines)-limit):], "\n")
}

// textLimit is the length to which a text of others is cut: n, or none that matters.
func textLimit(whole bool, n int) int {
	if whole {
		return 200_000
	}
	return n
}

// observer says whose word it is that evidence was observed.
func observer(r *board.Result) string {
	var by []string
	if r.ObservedOn != "" {
		by = append(by, "on "+inline(r.ObservedOn, 80))
	}
	if r.ObservedBy != "" {
		by = append(by, "with the key of "+inline(r.ObservedBy, 80))
	}
	return strings.Join(by, ", ")
}

func resultText(r *board.Result, long int) string {
	if r == nil {
		return ""
	}
	lines := []string{capital(reported(*r)) + ":", cutLines(block(r.Summary), long)}
	for _, e := range r.Evidence {
		seen, most := "claimed by its worker", 200
		switch {
		case e.Observed:
			seen, most = "observed by Bossman", 1000 // what a reviewer should know comes last
		case r.Import != "":
			seen = "claimed by the import"
		}
		line := fmt.Sprintf("%s (%s)", e.Kind, seen)
		if e.Ref != "" {
			line += " " + inline(e.Ref, 200)
		}
		if e.Detail != "" {
			line += " " + inline(e.Detail, most)
		}
		lines = append(lines, line)
	}
	if by := observer(r); by != "" {
		lines = append(lines, "observed "+by)
	}
	for _, i := range r.Includes {
		if len(i.Files) > 0 {
			lines = append(lines, fmt.Sprintf("includes files of %v as in its commit %s, which the target did not have: %s", i.Task, shortCommit(i.Commit), inlineList(i.Files, 600)))
			continue
		}
		lines = append(lines, fmt.Sprintf("includes work of %v, which had not landed, up to commit %s", i.Task, shortCommit(i.Commit)))
	}
	if r.Check != "" {
		lines = append(lines, "check: "+inline(r.Check, 200))
	}
	for _, a := range r.Artifacts {
		lines = append(lines, "artifact "+inline(a, 200))
	}
	if r.Branch != "" {
		lines = append(lines, "branch "+inline(r.Branch, 200))
	}
	if text := r.NotCommitted(); text != "" {
		lines = append(lines, "not committed: "+text)
	}
	lines = append(lines, looseLines(r.Loose, "this task began")...)
	return strings.Join(lines, "\n")
}

// looseLines says which files lay about where some work was before something.
func looseLines(l board.Loose, before string) (lines []string) {
	named := func(list []string, more int) string { return inlineSome(list, more, 600) }
	if n := len(l.LeftOut) + l.More; n > 0 {
		what := "left out: %s there, uncommitted, before %s: %s"
		if l.Unknown {
			what = "left out: %s not committed, because it is not known what lay there before %s: %s"
		}
		lines = append(lines, fmt.Sprintf(what, count(n, "file that was", "files that were"), before, named(l.LeftOut, l.More)))
	}
	if n := len(l.Written) + l.MoreWritten; n > 0 {
		lines = append(lines, fmt.Sprintf("left out: %s made by the check: %s", count(n, "file", "files"), named(l.Written, l.MoreWritten)))
	}
	if text := l.MixedText(before, named); text != "" {
		lines = append(lines, text)
	}
	return lines
}

// workText says where work on an open task was last seen.
func workText(d board.Dossier) string {
	if d.Task.Status.Terminal() {
		return ""
	}
	for _, a := range slices.Backward(d.Attempts) {
		switch w := a.Where; {
		case w.Away():
			return fmt.Sprintf("attempt %d was told to work on branch %s", a.Attempt, inline(w.Ordered, 80))
		case w.Worked && location(w) != "":
			return fmt.Sprintf("attempt %d, when last seen: %s", a.Attempt, location(w))
		}
	}
	return ""
}

// historyText lists the last events, at most limit; full has also those before them that decided something about
// the work, and all that was said then.
func historyText(d board.Dossier, limit int, full bool) string {
	var lines []string
	for i, e := range d.Events {
		decides := full && (e.Kind == board.EventRejected || e.Kind == board.EventReturned || e.Kind == board.EventAccepted || e.Kind == board.EventCommented)
		if i < len(d.Events)-limit && !decides {
			continue
		}
		line := fmt.Sprintf("%s: %s", since(d.Now, e.When()), e.Kind)
		if e.To != "" && e.From != e.To {
			line += ", now " + board.State(e.To).String()
		}
		if _, err := board.ParseID(e.Detail.Text); err == nil {
			line += ": " + e.Detail.Text // what has unblocked it, or is a part of it
		} else if e.Detail.Text != "" {
			by := ", by "
			if r := e.Detail.Returned; r != nil && r.Kind != board.ReturnAsked {
				by = ", says the lander of "
			}
			line += by + eventAuthor(e) + ": " + inline(e.Detail.Text, textLimit(decides, 160))
		} else if e.Detail.By == board.ByImport {
			line += ", says the " + inline(e.Actor, 160)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
