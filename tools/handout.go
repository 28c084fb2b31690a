package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// maxHandout is the maximum length of a hand-out in bytes, without what was decided about earlier work, for
// which it has up to maxDecisions more.
const (
	maxHandout   = 6 << 10
	maxDecisions = 8 << 10
)

// handoutAnswer is the answer that hands out a task. judging says how its work will be
// judged, and left what earlier attempts left.
func handoutAnswer(h *board.Handout, judging []string, left left) *answer {
	claim := wireClaimOf(h.Claim)
	task := wireOf(h.Task, h.Doc)
	for _, b := range h.Blockers {
		task.DependsOn = append(task.DependsOn, b.ID.String())
	}
	w := wireHandout{Outcome: "handed_out", Claim: &claim, Task: &task}
	if h.Again {
		w.Outcome = "again"
	}
	if h.Claim.IsReview() {
		w.Outcome = "review"
		return &answer{text: reviewText(h, ""), result: w}
	}
	return &answer{text: handoutText(h, judging, left), result: w}
}

func handoutText(h *board.Handout, judging []string, left left) string {
	t := &h.Task
	yours := "is yours"
	if h.Again {
		yours = "is still yours"
	}
	head := fmt.Sprintf("%v %s. Claim %v, worker %s, attempt %d%s.%s",
		t.ID, yours, h.Claim.Handle, inline(h.Claim.Worker.Name, 80), h.Claim.Attempt, failuresText(t), quotedNote)
	handle := h.Claim.Handle.String()
	doneArgs := []any{"claim", handle, "summary", "…"}
	if len(t.Wants) > 0 {
		doneArgs = append(doneArgs, "evidence", evidenceExample(t.Wants))
	}
	end := call("report_task_done", doneArgs...) + "\nor " +
		call("report_task_failed", "claim", handle, "reason", "…", "kind", "other") +
		"\nIf people must decide: " + call("ask_question", "claim", handle, "question", "…") + "."
	sections := append(specSections(h.Dossier, 2*maxHandout),
		section{title: "AREAS", body: inlineList(t.Areas, 300)},
		section{title: "BUILDS ON", body: buildsOnText(h.Dossier)},
		whySection(h.Events),
		priorSection(h.Events),
		section{title: "PARTS", body: partsText(h.Dossier)},
		section{title: "WORKTREE", body: treeText(h, left)},
		section{title: "BESIDE YOU", body: besideText(h, left)},
		section{title: "LAST ATTEMPT", body: lastAttemptText(h, left)},
		section{title: "COMMENTS", body: commentsText(t.ID, h.Doc.Result, false)},
		section{title: "YOUR NOTES", body: ownNotesText(h)},
		section{title: "ANSWERS", body: answersText(h)},
		section{title: "END WITH", body: end},
	)
	sections[2].judge(h, judging)
	delegate := "\n\nTo delegate, pass the claim to the sub-agent; it does not need to call " + mention("get_next_task") + "."
	fit(sections, roomFor(sections)-len(head)-len(delegate), t.ID)
	return head + join(sections) + delegate
}

func failuresText(t *board.Task) string {
	if t.Failures == 0 {
		return ""
	}
	left := "no tries"
	if n := t.MaxFailures - t.Failures; n > 0 { // the budget may have been lowered meanwhile
		left = count(n, "try", "tries")
	}
	return fmt.Sprintf(" (%d failed, %s left)", t.Failures, left)
}

// quotedNote tells the reader of a hand-out whose words are whose.
const quotedNote = " Text after > or in quotation marks is by people or agents, not by Bossman."

// judge adds to the acceptance criteria of a task how its work is judged.
func (s *section) judge(h *board.Handout, judging []string) {
	var lines []string
	if s.body == "" {
		s.by = ""
	} else {
		lines = append(lines, cutWithPointer(s.body, 1000, h.Task.ID))
	}
	if len(h.Task.Wants) > 0 {
		lines = append(lines, mention("report_task_done")+" must include evidence of kind: "+joined(h.Task.Wants)+".")
	}
	s.body = strings.Join(append(lines, judging...), "\n")
}

func buildsOnText(d board.Dossier) string {
	var lines []string
	for i, b := range d.Blockers {
		if i == 6 {
			lines = append(lines, fmt.Sprintf("and %d more: %s", len(d.Blockers)-i, call("get_task", "task", d.Task.ID.String(), "detail", "full")))
			break
		}
		line := b.ID.String() + ": " + inline(b.Title, 60)
		if r, ok := d.Results[b.ID]; ok {
			line = b.ID.String() + ", " + reported(r) + ": " + inline(r.Summary, 140)
			if at := resultLocation(r); at != "" {
				line += " (" + at + ")"
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// reported says whose words the summary of a result is.
func reported(r board.Result) string {
	switch {
	case r.Import != "":
		return "reported elsewhere, says the " + inline(r.Import, 160)
	case r.Worker == "":
		return "closed without a worker's report"
	}
	return "reported by its worker"
}

// whySection says why a task is done again.
func whySection(events []board.Event) section {
	for _, e := range events {
		if e.Detail.Why != "" {
			return section{"WHY AGAIN", eventAuthor(e), cutLines(block(e.Detail.Why), 1000)}
		}
	}
	return section{}
}

// priorSection hands over from the task that this one redoes, or came from.
func priorSection(events []board.Event) section {
	for _, e := range events {
		if e.Detail.Prior != "" {
			by := eventAuthor(e)
			if e.Redoes() {
				by = "those who worked on the earlier task or ended it"
			}
			return section{"PRIOR WORK", by, cutLines(block(e.Detail.Prior), 1000)}
		}
	}
	return section{}
}

// commitOf returns the commit of a result, empty if none was reported.
func commitOf(r board.Result) string {
	for _, e := range r.Evidence {
		if e.Kind == board.EvidenceCommit && board.ValidCommit(e.Ref) {
			return e.Ref
		}
	}
	return ""
}

// resultLocation says where the work of a finished task is.
func resultLocation(r board.Result) string {
	var at []string
	for _, e := range r.Evidence {
		if (e.Kind == board.EvidencePR || e.Kind == board.EvidenceCommit) && e.Ref != "" {
			at = append(at, string(e.Kind)+" "+inline(e.Ref, 60))
		}
	}
	if r.Branch != "" && len(at) == 0 {
		at = append(at, "branch "+inline(r.Branch, 60))
		for _, e := range r.Evidence {
			if e.Kind == board.EvidenceOther && e.Observed && board.ValidCommit(e.Ref) { // which may not be what this clone has there
				at[0] += ", commit " + shortCommit(e.Ref)
			}
		}
	}
	if len(at) > 2 {
		at = at[:2]
	}
	if r.NotCommitted() != "" {
		at = append(at, count(r.Uncommitted, "file", "files")+" not committed")
	}
	return strings.Join(at, ", ")
}

func partsText(d board.Dossier) string {
	var lines []string
	for i, c := range d.Children {
		if i == 8 {
			lines = append(lines, fmt.Sprintf("and %d more", len(d.Children)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%v (%s): %s", c.ID, c.State(), inline(c.Title, 60)))
	}
	return strings.Join(lines, "\n")
}

// treeText tells a worker about its worktree, or, in a bare repository, to make one.
func treeText(h *board.Handout, left left) string {
	if left.tree != "" {
		return left.tree
	}
	w := where(h)
	if !left.room.Bare || !left.fresh(w) || len(sharing(h)) > 0 {
		return ""
	}
	return fmt.Sprintf("%s is a bare repository for git: nobody works there. %s\n%s", inline(w.Dir, 200), left.worktree(w), nameIt(w.Ordered))
}

// besideText names the work of others that may collide with this one: in the same
// directory, or in areas that overlap.
func besideText(h *board.Handout, left left) string {
	var lines []string
	for _, n := range h.Neighbours {
		if len(n.Areas) > 0 {
			lines = append(lines, fmt.Sprintf("%v is in progress and also changes %s: %s. Keep your changes there small.",
				n.Task, inlineList(n.Areas, 200), inline(n.Title, 80)))
		}
	}
	w, here := where(h), sharing(h)
	line := ""
	switch {
	case len(here) == 1:
		line = fmt.Sprintf("Another agent works on %s in this directory, %s.", here[0], inline(w.Dir, 200))
	case len(here) > 1:
		line = fmt.Sprintf("Other agents work on %s in this directory, %s.", strings.Join(here, ", "), inline(w.Dir, 200))
	case left.over.files > 0:
		line = left.over.text(w)
	case left.fresh(w) && !left.room.Bare:
		line = "Another agent worked in this directory when you got the task."
	case left.lying > 0 && !left.unnoted:
		lines = append(lines, fmt.Sprintf("%s in this directory, from before your task. What you report leaves that out, unless you commit it.",
			thereAre(left.lying, "uncommitted file", "uncommitted files")))
	}
	if left.unnoted {
		lines = append(lines, "It could not be noted what lies in this directory. So what you report leaves out every file that is not committed: commit your work.")
	}
	switch {
	case line == "":
		return strings.Join(lines, "\n")
	case w.Ordered != "":
		line += " " + left.worktree(w) + "\n" + nameIt(w.Ordered)
	default:
		line += " Keep out of its files."
	}
	lines = append([]string{line}, lines...)
	return strings.Join(lines, "\n")
}

// sharing are the tasks of the workers in the directory where a task was handed out.
func sharing(h *board.Handout) (tasks []string) {
	for _, n := range h.Neighbours {
		if n.Dir != "" {
			tasks = append(tasks, n.Task.String())
		}
	}
	return tasks
}

// where is where the worker of a hand-out works.
func where(h *board.Handout) board.Where {
	if h.Dossier.Claim != nil {
		return h.Dossier.Claim.Where
	}
	return h.Claim.Where
}

// lastAttemptText hands over from the earlier attempts: how the last one ended, where their
// work is, what they noted, and what not to repeat.
func lastAttemptText(h *board.Handout, left left) string {
	var last *board.Attempt
	var avoid []string
	for i := range h.Attempts {
		a := &h.Attempts[i]
		if a.Attempt >= h.Claim.Attempt {
			continue
		}
		last = a
		if a.DoNotRepeat != "" {
			avoid = append(avoid, inline(a.DoNotRepeat, 200))
		}
	}
	if last == nil {
		return ""
	}
	line := workerLabel(last.Worker, h.Claim.Worker) + ": " + causeText(last.Cause)
	if last.Imported() {
		line += ", says the " + inline(last.Worker.Principal, 160)
	}
	switch expired := last.Cause == board.CauseExpired; {
	case expired && last.Reason == board.Killed: // before its lease expired
		line = workerLabel(last.Worker, h.Claim.Worker) + ": " + board.Killed
	case last.Reason != "" && !expired && last.Cause != board.CauseParked && last.Cause != board.CauseDone: // of which the events tell
		line += ": " + inline(last.Reason, 240)
	}
	if at := left.of(last.Attempt); at != "" {
		line += "; " + at
	}
	if red := lastRed(h.Events, last.Attempt); red != "" && last.Cause != board.CauseFailed {
		line += "; the check was red when it last reported: " + red
	}
	lines := append([]string{line}, left.earlier(h, last.Attempt)...)
	lines = append(lines, lastReturn(h.Events, last.Attempt)...)
	var notes, rejected []string
	for _, e := range h.Events {
		switch {
		case e.Kind == board.EventRejected:
			rejected = append(rejected, "rejected by "+eventAuthor(e)+": "+decided(h.Task.ID, e.Detail.Text))
		case e.Kind == board.EventNote && e.Detail.Attempt == last.Attempt:
			notes = append(notes, noted(e)+inline(e.Detail.Text, 140))
		case e.Kind == board.EventNote && e.Detail.Attempt < last.Attempt:
			notes = append(notes, fmt.Sprintf("attempt %d %s%s", e.Detail.Attempt, noted(e), inline(e.Detail.Text, 140)))
		}
	}
	lines = append(lines, rejected[max(0, len(rejected)-3):]...)
	lines = append(lines, notes[max(0, len(notes)-3):]...)
	for _, s := range avoid[max(0, len(avoid)-2):] {
		lines = append(lines, "do not repeat: "+s)
	}
	lines = append(lines, callLines(h.Calls)...)
	return strings.Join(lines, "\n")
}

// lastRed is how the last check of an attempt failed, empty if it did not, or if the event is too
// old to be among those that were read.
func lastRed(events []board.Event, attempt int) string {
	for _, e := range slices.Backward(events) {
		if e.Kind == board.EventRed && e.Detail.Attempt == attempt && e.Detail.By != board.ByImport {
			return inline(e.Detail.Text, 120)
		}
	}
	return ""
}

// noted introduces the text of a note.
func noted(e board.Event) string {
	if e.Detail.By == board.ByImport {
		return "noted, says the " + inline(e.Actor, 160) + ": "
	}
	return "noted: "
}

// ownNotesText returns a worker's own notes when it gets its task again, in case it lost
// its context.
func ownNotesText(h *board.Handout) string {
	if !h.Again {
		return ""
	}
	var notes []string
	for _, e := range h.Events {
		if e.Kind == board.EventNote && e.Detail.Attempt == h.Claim.Attempt {
			notes = append(notes, noted(e)+inline(e.Detail.Text, 300))
		}
	}
	for _, a := range h.Attempts {
		if at := location(a.Where); a.Attempt == h.Claim.Attempt && at != "" {
			notes = append(notes, at)
		}
	}
	for _, q := range h.Questions {
		if q.State == board.QuestionOpen && q.Claim == h.Claim.Handle {
			notes = append(notes, "you asked "+q.ID.String()+": "+inline(q.Text, 200))
		}
	}
	return strings.Join(notes[max(0, len(notes)-5):], "\n")
}

// workerLabel says whose an attempt was. One with the name of this worker may have been another agent in
// the same slot, or another session.
func workerLabel(w, you board.WorkerID) string {
	if w == you {
		return "this worker"
	}
	return "another worker"
}

// location says where work was last seen.
func location(w board.Where) string {
	var at []string
	if w.Branch != "" {
		s := "branch " + inline(w.Branch, 80)
		if w.Head != "" {
			s += " at " + shortCommit(w.Head)
		}
		at = append(at, s)
	} else if w.Head != "" {
		at = append(at, "no branch, commit "+shortCommit(w.Head))
	}
	if w.Uncommitted > 0 {
		at = append(at, count(w.Uncommitted, "uncommitted file", "uncommitted files"))
	}
	if w.Dir != "" {
		s := "in " + inline(w.Dir, 120)
		if w.Host != "" {
			s += " on " + inline(w.Host, 40)
		}
		at = append(at, s)
	}
	return strings.Join(at, ", ")
}

// shortCommit abbreviates the name of a commit.
func shortCommit(head string) string {
	if head = head[:min(len(head), 10)]; strings.Trim(head, "0123456789abcdef") != "" {
		return inline(head, 10)
	}
	return head
}

func causeText(c board.Cause) string {
	switch c {
	case board.CauseDone:
		return "reported done"
	case board.CauseFailed:
		return "failed"
	case board.CauseExpired:
		return "lease expired"
	case board.CauseReleased, board.CauseUndelivered:
		return "taken back"
	case board.CauseNotNow:
		return "returned"
	case board.CauseParked:
		return "parked for an answer"
	case board.CauseCancelled:
		return "cancelled"
	case board.CauseRestarts:
		return "restarted too often"
	case board.CauseStopped:
		return "stopped"
	case board.CauseClosed:
		return "marked done by a person"
	case board.CauseLeft:
		return "given back"
	}
	return "in progress"
}

// answersText lists the answers to questions about the task, and the questions of earlier
// attempts that are still open.
func answersText(h *board.Handout) string {
	var lines, open []string
	for _, q := range h.Questions {
		switch {
		case q.State == board.QuestionAnswered:
			lines = append(lines, fmt.Sprintf("%v %s %s: %s", q.ID, inline(q.Text, 100), answeredBy(q), answered(q)))
		case q.State == board.QuestionOpen && q.Claim != h.Claim.Handle:
			line := fmt.Sprintf("%v %s is still open, do not ask it again; look with %s", q.ID, inline(q.Text, 100), call("get_answer", "question", q.ID.String()))
			if q.Default != "" {
				line += "; until then: " + inline(q.Default, 120)
			}
			open = append(open, line)
		}
	}
	return strings.Join(append(lines[max(0, len(lines)-4):], open[max(0, len(open)-2):]...), "\n")
}

// answeredBy says whose answer a question has.
func answeredBy(q board.Question) string {
	switch {
	case q.ByDefault():
		return "has its default as the answer, because nobody answered in time"
	case q.AnsweredBy == personAtClient && q.AnsweredAs == board.ByPerson:
		return "was answered by " + personAtClient
	case q.AnsweredBy == personAtClient && q.AnsweredAs == board.ByAgent:
		return "was answered in a form at the client, with an agent's key"
	}
	return "was answered by " + author(q.AnsweredAs, q.AnsweredBy)
}

// evidenceExample returns evidence of the given kinds with placeholders, to be filled in.
func evidenceExample(kinds []board.EvidenceKind) []exampleEvidence {
	var out []exampleEvidence
	for _, k := range kinds {
		out = append(out, exampleEvidence{k, "…"})
	}
	return out
}

type exampleEvidence struct {
	Kind board.EvidenceKind `json:"kind"`
	Ref  string             `json:"ref"`
}

// isPlaceholder reports whether a text is the "…" of the calls in a hand-out. Models copy
// those calls without replacing it.
func isPlaceholder(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && strings.Trim(s, ".… ") == ""
}

func placeholderError(name string) error {
	return fmt.Errorf("%w: the %s is still the placeholder \"…\"; replace it with your own text", board.ErrInvalid, name)
}
