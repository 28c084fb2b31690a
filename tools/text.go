package tools

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/board"
)

// The words of the answers. A worker's text names no other worker: models take names
// that they see for their own.

// maxHandout bounds the text of a hand-out.
const maxHandout = 6 << 10

const endTurn = "End your turn now; do not poll."

// call writes a call as a model should make it; args are names and values in turn.
func call(tool string, args ...any) string {
	b := []byte(tool + " {")
	for i := 0; i+1 < len(args); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, quote(args[i].(string))...), ':')
		b = append(b, must(jsonv2.Marshal(args[i+1]))...)
	}
	return string(append(b, '}'))
}

// nextCall is how a worker goes on.
func nextCall(worker string) string {
	if worker == "" {
		return call("get_next_task")
	}
	return call("get_next_task", "worker", worker)
}

// heldAnswer is for a call that does not say which of several agents makes it.
func heldAnswer(held []board.Claim) *answer {
	var b strings.Builder
	fmt.Fprintf(&b, "Nothing handed out: this connection holds %s.", claimList(held))
	b.WriteString(" If you lost context and one of these is your task, call ")
	for i, c := range held {
		if i == 5 {
			break
		}
		if i > 0 {
			b.WriteString(", or ")
		}
		b.WriteString(nextCall(c.Worker.Name))
	}
	fmt.Fprintf(&b, ". If you are another agent: %s.", call("get_next_task", "worker", "new"))
	w := wireHandout{Outcome: "held"}
	for _, c := range held {
		w.Held = append(w.Held, wireClaimOf(c))
	}
	return &answer{text: b.String(), result: w}
}

// claimList names claims of the caller's own.
func claimList(held []board.Claim) string {
	var out []string
	for i, c := range held {
		if i == 10 {
			out = append(out, fmt.Sprintf("%d more", len(held)-i))
			break
		}
		out = append(out, fmt.Sprintf("%v (%s)", c.Task, c.Worker.Name))
	}
	return strings.Join(out, ", ")
}

// handoutAnswer is a task in the worker's hands.
func handoutAnswer(h *board.Handout) *answer {
	claim := wireClaimOf(h.Claim)
	task := wireOf(h.Task, h.Doc)
	for _, b := range h.Blockers {
		task.DependsOn = append(task.DependsOn, b.ID.String())
	}
	w := wireHandout{Outcome: "handed_out", Claim: &claim, Task: &task}
	if h.Again {
		w.Outcome = "again"
	}
	return &answer{text: handoutText(h), result: w}
}

func handoutText(h *board.Handout) string {
	t := &h.Task
	yours := "is yours"
	if h.Again {
		yours = "is still yours"
	}
	head := fmt.Sprintf("%v %s. Claim %v, worker %s, attempt %d%s.",
		t.ID, yours, h.Claim.Handle, h.Claim.Worker.Name, h.Claim.Attempt, triesLeft(t))
	description := written(h.Doc.Description)
	if description == t.Title {
		description = ""
	}
	handle := h.Claim.Handle.String()
	doneArgs := []any{"claim", handle, "summary", "…"}
	if len(t.Wants) > 0 {
		doneArgs = append(doneArgs, "evidence", evidenceExample(t.Wants))
	}
	end := call("report_task_done", doneArgs...) + "\nor " +
		call("report_task_failed", "claim", handle, "reason", "…", "kind", "other") +
		"\nA decision for people: " + call("ask_question", "claim", handle, "question", "…") + "."
	sections := []section{
		{"TITLE", t.Title},
		{"DESCRIPTION", description},
		{"DONE WHEN", doneWhen(h)},
		{"AREAS", oneLine(strings.Join(t.Areas, ", "), 300)},
		{"BUILDS ON", buildsOn(h.Dossier)},
		{"PARTS", partsOf(h.Dossier)},
		{"LAST ATTEMPT", lastAttempt(h)},
		{"YOUR NOTES", ownNotes(h)},
		{"ANSWERS", answersOf(h.Questions)},
		{"END WITH", end},
	}
	const delegate = "\n\nTo delegate, give the sub-agent the claim; it need not call get_next_task."
	fit(sections, maxHandout-len(head)-len(delegate), t.ID)
	return head + join(sections) + delegate
}

// headings are the titles of all sections.
var headings = []string{
	"TITLE", "DESCRIPTION", "DONE WHEN", "EVIDENCE WANTED", "SKILLS", "AREAS", "PART OF", "BUILDS ON", "FREES", "PARTS",
	"LAST ATTEMPT", "YOUR NOTES", "QUESTIONS", "ANSWERS", "RESULT", "HISTORY", "END WITH",
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// written is a text of several lines that somebody wrote. A line of it that looks like
// one of our headings is marked as quoted: a description must not answer questions in
// the name of people, or say how a task ends.
func written(s string) string {
	lines := strings.Split(lineEnds.Replace(s), "\n")
	for i, l := range lines {
		if slices.Contains(headings, strings.Trim(l, " \t:")) {
			lines[i] = "> " + l
		}
	}
	return strings.Join(lines, "\n")
}

// A section is a part of a long text. Without a body it is not there.
type section struct{ title, body string }

func join(sections []section) string {
	var b strings.Builder
	for _, s := range sections {
		if s.body != "" {
			b.WriteString("\n\n" + s.title + "\n" + s.body)
		}
	}
	return b.String()
}

// fit shortens the sections of a hand-out until they have room: the description first,
// as long as enough of it is left, then whatever is longest.
func fit(sections []section, room int, id board.ID) {
	const enough = 1200
	description := &sections[1]
	over := func() int { return len(join(sections)) - room }
	if n := over(); n > 0 && len(description.body) > enough {
		description.body = cutWithPointer(description.body, max(len(description.body)-n, enough), id)
	}
	for over() > 0 {
		longest := &sections[2]
		for i := range sections[2 : len(sections)-1] {
			if s := &sections[2+i]; len(s.body) > len(longest.body) {
				longest = s
			}
		}
		if len(longest.body) < 100 { // nothing is left to be cut
			return
		}
		longest.body = cut(longest.body, len(longest.body)*3/4)
	}
}

// cutWithPointer shortens a long text and says where the rest is.
func cutWithPointer(s string, room int, id board.ID) string {
	if len(s) <= room {
		return s
	}
	pointer := "\n[cut; the rest: " + call("get_task", "task", id.String(), "detail", "full") + "]"
	return cut(s, max(room-len(pointer), 200)) + pointer
}

func triesLeft(t *board.Task) string {
	if t.Failures == 0 {
		return ""
	}
	left := t.MaxFailures - t.Failures
	return fmt.Sprintf(" (%d failed, %s left)", t.Failures, count(left, "try", "tries"))
}

func doneWhen(h *board.Handout) string {
	var lines []string
	if h.Doc.Acceptance != "" {
		lines = append(lines, cutWithPointer(written(h.Doc.Acceptance), 1000, h.Task.ID))
	}
	if len(h.Task.Wants) > 0 {
		lines = append(lines, "report_task_done must include evidence of kind: "+words(h.Task.Wants)+".")
	}
	return strings.Join(lines, "\n")
}

func buildsOn(d board.Dossier) string {
	var lines []string
	for i, b := range d.Blockers {
		if i == 6 {
			lines = append(lines, fmt.Sprintf("and %d more: %s", len(d.Blockers)-i, call("get_task", "task", d.Task.ID.String(), "detail", "full")))
			break
		}
		line := b.ID.String() + ": " + oneLine(b.Title, 60)
		if r, ok := d.Results[b.ID]; ok {
			line = b.ID.String() + ": " + oneLine(r.Summary, 140)
			if at := resultPlace(r); at != "" {
				line += " (" + at + ")"
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// resultPlace is where a finished task's work is.
func resultPlace(r board.Result) string {
	var at []string
	for _, e := range r.Evidence {
		if (e.Kind == board.EvidencePR || e.Kind == board.EvidenceCommit) && e.Ref != "" {
			at = append(at, string(e.Kind)+" "+oneLine(e.Ref, 60))
		}
	}
	if r.Branch != "" && len(at) == 0 {
		at = append(at, "branch "+oneLine(r.Branch, 60))
	}
	if len(at) > 2 {
		at = at[:2]
	}
	return strings.Join(at, ", ")
}

func partsOf(d board.Dossier) string {
	var lines []string
	for i, c := range d.Children {
		if i == 8 {
			lines = append(lines, fmt.Sprintf("and %d more", len(d.Children)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%v (%s): %s", c.ID, c.Status, oneLine(c.Title, 60)))
	}
	return strings.Join(lines, "\n")
}

// lastAttempt is the hand-over: how the attempt before this one ended, where its work
// is, what it noted, and what nobody should try again.
func lastAttempt(h *board.Handout) string {
	var last *board.Attempt
	var never []string
	for i := range h.Attempts {
		a := &h.Attempts[i]
		if a.Attempt >= h.Claim.Attempt {
			continue
		}
		last = a
		if a.DoNotRepeat != "" {
			never = append(never, oneLine(a.DoNotRepeat, 200))
		}
	}
	if last == nil {
		return ""
	}
	line := who(last.Worker, h.Claim.Worker) + ": " + causeWords(last.Cause)
	if last.Reason != "" && last.Cause != board.CauseExpired && last.Cause != board.CauseParked {
		line += ": " + oneLine(last.Reason, 240)
	}
	if at := place(last.Where); at != "" {
		line += "; " + at
	}
	lines := []string{line}
	var notes []string
	for _, e := range h.Events {
		switch {
		case e.Kind == board.EventRejected:
			notes = append(notes, "rejected in review: "+oneLine(e.Detail.Text, 240))
		case e.Kind == board.EventNote && e.Detail.Attempt == last.Attempt:
			notes = append(notes, "noted: "+oneLine(e.Detail.Text, 140))
		}
	}
	lines = append(lines, notes[max(0, len(notes)-3):]...)
	for _, s := range never[max(0, len(never)-2):] {
		lines = append(lines, "do not repeat: "+s)
	}
	return strings.Join(lines, "\n")
}

// ownNotes is what a worker that gets its task again has told of it, for one that has
// lost its memory.
func ownNotes(h *board.Handout) string {
	if !h.Again {
		return ""
	}
	var notes []string
	for _, e := range h.Events {
		if e.Kind == board.EventNote && e.Detail.Attempt == h.Claim.Attempt {
			notes = append(notes, oneLine(e.Detail.Text, 300))
		}
	}
	for _, a := range h.Attempts {
		if at := place(a.Where); a.Attempt == h.Claim.Attempt && at != "" {
			notes = append(notes, at)
		}
	}
	for _, q := range h.Questions {
		if q.State == board.QuestionOpen && q.Claim == h.Claim.Handle {
			notes = append(notes, "you asked "+q.ID.String()+": "+oneLine(q.Text, 200))
		}
	}
	return strings.Join(notes[max(0, len(notes)-5):], "\n")
}

func who(w, you board.WorkerID) string {
	if w == you {
		return "you"
	}
	return "another worker"
}

// place is where work was last seen.
func place(w board.Where) string {
	var at []string
	if w.Branch != "" {
		s := "branch " + oneLine(w.Branch, 80)
		if w.Head != "" {
			s += " at " + w.Head[:min(len(w.Head), 10)]
		}
		at = append(at, s)
	}
	if w.Uncommitted > 0 {
		at = append(at, count(w.Uncommitted, "file", "files")+" uncommitted")
	}
	if w.Dir != "" {
		s := "in " + oneLine(w.Dir, 120)
		if w.Host != "" {
			s += " on " + oneLine(w.Host, 40)
		}
		at = append(at, s)
	}
	return strings.Join(at, ", ")
}

func causeWords(c board.Cause) string {
	switch c {
	case board.CauseDone:
		return "reported done"
	case board.CauseFailed:
		return "failed"
	case board.CauseExpired:
		return "lease ran out"
	case board.CauseReleased, board.CauseUndelivered:
		return "taken back"
	case board.CauseNotNow:
		return "given back"
	case board.CauseParked:
		return "parked for an answer"
	case board.CauseCancelled:
		return "cancelled"
	case board.CauseRestarts:
		return "restarted too often"
	case board.CauseStopped:
		return "stopped"
	}
	return "not ended"
}

func answersOf(questions []board.Question) string {
	var lines []string
	for _, q := range questions {
		if q.State == board.QuestionAnswered {
			lines = append(lines, fmt.Sprintf("%v %s → %s (%s)", q.ID, oneLine(q.Text, 100), oneLine(q.Answer, 120), answeredBy(q)))
		}
	}
	return strings.Join(lines[max(0, len(lines)-4):], "\n")
}

func answeredBy(q board.Question) string {
	if q.AnsweredBy == board.AnsweredByDefault {
		return "the default, nobody answered in time"
	}
	return oneLine(q.AnsweredBy, 40)
}

// evidenceExample shows how evidence is sent.
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

// nothingAnswer says why there is nothing to do.
func nothingAnswer(n *board.Nothing, lead bool, waited int) *answer {
	w := wireHandout{Outcome: "none", RetryAfterSeconds: 60}
	var s string
	c := n.Counts
	left := c.Total() - c.Status[board.Done] - c.Status[board.Cancelled]
	switch {
	case n.PausedBy != "":
		w.Reason, w.RetryAfterSeconds = "paused", 300
		s = "Paused by " + oneLine(n.PausedBy, 40) + "."
	case c.Total() == 0:
		w.Reason, w.RetryAfterSeconds = "empty", 300
		s = "There are no tasks yet."
		if lead {
			s += " If you were asked to plan: create_plan."
		}
	case left == 0:
		w.Reason, w.RetryAfterSeconds = "done", 300
		s = fmt.Sprintf("All %d tasks are done.", c.Total())
		if c.Total() == 1 {
			s = "The only task is done."
		}
		if k := c.Status[board.Cancelled]; k > 0 {
			s = fmt.Sprintf("All tasks are done: %d, and %d cancelled.", c.Status[board.Done], k)
		}
	case n.ReadyUnskilled > 0:
		w.Reason = "skills"
		s = fmt.Sprintf("%s skills you did not declare: %s.",
			count(n.ReadyUnskilled, "ready task needs", "ready tasks need"), strings.Join(n.Unskilled, ", "))
	default:
		w.Reason = "waiting"
		s = "Nothing ready: " + waiting(n) + "."
	}
	if waited > 0 {
		s += fmt.Sprintf(" Waited %d s.", waited)
	}
	return &answer{text: s + " " + endTurn, result: w}
}

func waiting(n *board.Nothing) string {
	var parts []string
	add := func(k int, one, many string) {
		if k > 0 {
			parts = append(parts, count(k, one, many))
		}
	}
	c := n.Counts
	add(c.Status[board.InProgress], "in progress", "in progress")
	add(c.Blocked, "waits for other tasks", "wait for other tasks")
	if k := c.Status[board.Waiting]; k > 0 {
		s := count(k, "waits for people", "wait for people")
		var ids []string
		for _, q := range n.Open {
			if q.Blocking && !q.Claim.IsZero() && len(ids) < 5 {
				ids = append(ids, q.ID.String())
			}
		}
		if ids != nil {
			s += " (" + strings.Join(ids, ", ") + ")"
		}
		parts = append(parts, s)
	}
	add(c.Status[board.InReview], "in review", "in review")
	add(c.Status[board.Failed], "failed and needs a lead", "failed and need a lead")
	add(c.Held, "held until a lead starts it", "held until a lead starts them")
	add(c.Later, "cooling down or reserved", "cooling down or reserved")
	add(c.Ready, "ready, but not for you now", "ready, but not for you now")
	if parts == nil {
		return "nothing waits"
	}
	return strings.Join(parts, ", ")
}

// noticeAnswer is for a note that was taken.
func noticeAnswer(h board.Handle, n board.Notice) *answer {
	lines := []string{"Noted."}
	w := wireNotice{Edited: n.Edited, StoppedBy: n.Stopped}
	if n.Edited {
		lines = append(lines, "The task was edited after you got it. Read it again: "+call("get_task", "task", h.Task.String(), "detail", "full")+".")
	}
	for _, q := range n.Answers {
		w.Answered = append(w.Answered, q.ID.String())
		lines = append(lines, fmt.Sprintf("Answer to %v from %s: %s", q.ID, answeredBy(q), oneLine(q.Answer, 600)))
	}
	if n.Stopped != "" {
		lines = append(lines, "Cancelled: stop. "+n.Stopped+" told you to stop; leave your work on its branch and end your turn.")
	}
	return &answer{text: strings.Join(lines, "\n"), result: w}
}

func doneAnswer(o board.Outcome) *answer {
	s := fmt.Sprintf("%v is done.", o.Task)
	if o.Status == board.InReview {
		s = fmt.Sprintf("Recorded. %v now waits for a review; your claim has ended.", o.Task)
	}
	if o.Late {
		s += " Your lease had expired; the report was accepted because nobody else had started."
	}
	if len(o.Freed) > 0 {
		s += " This freed " + idList(o.Freed) + "."
	}
	if len(o.FollowUps) > 0 {
		s += " Your follow-ups are " + idList(o.FollowUps) + ", held until a lead starts them."
	}
	if o.Again {
		s = "You reported this before. " + s
	}
	s += " More work: " + nextCall(o.Worker) + "; else end your turn."
	return &answer{text: s, result: wireOutcomeOf(o)}
}

func failAnswer(o board.Outcome, kind board.FailureKind) *answer {
	var s string
	switch {
	case kind == board.FailNotNow:
		s = fmt.Sprintf("%v is back on the board, no failure counted; you are not offered it for ten minutes.", o.Task)
	case o.Question != 0:
		s = fmt.Sprintf("%v is parked: your reason was put to people as %v. The answer comes with the task.", o.Task, o.Question)
	case o.Status == board.Failed && kind == board.FailWrongSpec:
		s = fmt.Sprintf("%v has failed; a lead must fix its description.", o.Task)
	case o.Status == board.Failed:
		s = fmt.Sprintf("%v has failed for good: %d of %d tries are used up. A lead decides what becomes of it.", o.Task, o.Failures, o.MaxFailures)
	case kind == board.FailEnvironment:
		s = fmt.Sprintf("%v will be retried after a cool-down (%d of %d attempts failed).", o.Task, o.Failures, o.MaxFailures)
	default:
		s = fmt.Sprintf("%v is back on the board for another attempt (%d of %d tries failed).", o.Task, o.Failures, o.MaxFailures)
	}
	if o.Again {
		s = "You reported this before. " + s
	}
	s += " Leave your work on its branch. More work: " + nextCall(o.Worker) + "; else end your turn."
	return &answer{text: s, result: wireOutcomeOf(o)}
}

func idList(ids []board.ID) string {
	if len(ids) > 20 {
		return strings.Join(idTexts(ids[:20]), ", ") + fmt.Sprintf(" and %d more", len(ids)-20)
	}
	return strings.Join(idTexts(ids), ", ")
}

func words[T ~string](values []T) string { return strings.Join(texts(values), ", ") }

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// cut shortens a text to n bytes or less, at the end of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n-len("…"), 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// oneLine makes one short line of a text.
func oneLine(s string, n int) string { return cut(strings.Join(strings.Fields(s), " "), n) }

// sentence begins with a capital and ends with a full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return "No reason was given."
	}
	if c := s[0]; c >= 'a' && c <= 'z' && !strings.Contains(firstWord(s), "-") {
		s = string(c-'a'+'A') + s[1:]
	}
	if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "!") && !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, "…") {
		s += "."
	}
	return s
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}

// since is how long ago something was.
func since(now, then time.Time) string { return board.Span(now.Sub(then)) + " ago" }

// isOwn reports whether a claim is the caller's.
func isOwn(held []board.Claim, c *board.Claim) bool {
	return c != nil && slices.ContainsFunc(held, func(h board.Claim) bool { return h.Handle == c.Handle })
}
