package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

var reportTaskDone = &definition{
	name: "report_task_done",
	about: "Report your claimed task as done. Call this only when it is complete; otherwise call report_task_failed. " +
		"Repeating the same report is safe.",
	props: []prop{
		{name: "claim", kind: text, required: true, about: claimAbout, aliases: claimNames},
		{name: "summary", kind: text, required: true, about: "what was done and where it is; shown to the workers of dependent tasks", aliases: []string{"result", "message", "note"}},
		{name: "evidence", kind: objects, about: "proof that the task is done; the task lists the required kinds", plain: "ref", items: []prop{
			{name: "kind", kind: text, required: true, enum: evidenceKinds, about: "kind of evidence", aliases: []string{"type"}},
			{name: "ref", kind: text, required: true, about: "the commit, URL, file or command", aliases: []string{"url", "value", "id", "path"}},
			{name: "detail", kind: text, about: "details, such as the last lines of output", aliases: []string{"description", "output"}},
		}},
		{name: "branch", kind: text, about: "branch of the commits, if not checked out here"},
		{name: "no_changes", kind: flag, about: "true if the task changed no file"},
		{name: "artifacts", kind: list, about: "files or URLs you produced"},
		{name: "follow_ups", kind: list, about: "new tasks you found necessary, at most 5; drafts until a lead starts them"},
	},
	hints: mcp.ToolAnnotations{IdempotentHint: true},
	refuse: map[string]string{
		"status": doneOnly, "success": doneOnly, "failed": doneOnly,
	},
	instead: call("report_task_failed", "claim", "…", "reason", "…"),
	run:     run(done),
}

const doneOnly = "report_task_done always means done; it takes no status, success or failed, because ignoring one would record a failure as done."

type doneInput struct {
	Claim    string `json:"claim"`
	Summary  string `json:"summary"`
	Evidence []struct {
		Kind   board.EvidenceKind `json:"kind"`
		Ref    string             `json:"ref"`
		Detail string             `json:"detail"`
	} `json:"evidence"`
	Branch    string   `json:"branch"`
	NoChanges bool     `json:"no_changes"`
	Artifacts []string `json:"artifacts"`
	FollowUps []string `json:"follow_ups"`
}

func done(ctx context.Context, t *Tools, k *caller, in doneInput) (*answer, error) {
	e := action{what: "Not recorded."}
	h, err := k.claim(ctx, e, in.Claim)
	if err != nil {
		return nil, err
	}
	e.claim = h
	if isPlaceholder(in.Summary) {
		return nil, k.refuse(e, placeholderError("summary"))
	}
	r := board.Report{Summary: in.Summary, Artifacts: in.Artifacts, Where: t.where(ctx, k), NoChanges: in.NoChanges}
	for _, x := range in.Evidence {
		r.Evidence = append(r.Evidence, board.Evidence{Kind: x.Kind, Ref: x.Ref, Detail: x.Detail})
	}
	for _, s := range in.FollowUps {
		r.FollowUps = append(r.FollowUps, board.NewTask{Description: s, Priority: board.Normal})
	}
	if err := t.readAnswers(ctx, k, h, r.Summary); err != nil { // before a check that may be in vain
		return nil, k.refuse(e, err)
	}
	var seen inspection
	if t.o.Inspector != nil {
		if seen, err = t.inspect(ctx, k, e, &r, stated{branch: in.Branch, noChanges: in.NoChanges}); err != nil {
			return nil, k.refuse(e, err)
		}
		if seen.not != nil {
			return seen.not, nil
		}
		if err := t.readAnswers(ctx, k, h, r.Summary); err != nil {
			return nil, k.refuse(e, err)
		}
	}
	out, err := t.record(ctx, k, h, &r, seen)
	if err != nil {
		if _, ok := errors.AsType[*board.EditedError](err); ok {
			if d, _, err := t.b.Why(ctx, h.Task); err == nil {
				e.now = &d
			}
		}
		t.trace(ctx, k.Actor, h, r.Summary, notRecorded(err))
		return nil, k.refuse(e, err)
	}
	t.accepted(ctx, k.Principal, out, r)
	a := t.doneAnswer(ctx, h, out)
	if t.o.Inspector != nil {
		a.tell(keptWhere(r, out.Status))
	}
	a.tell(seen.remark)
	a.tell(t.unlooked(ctx, out))
	a.more = append(a.more, t.lateNews(h, out, "If your work does not follow it, say so with "+mention("create_task")+".")...)
	return a, nil
}

// keptWhere tells a worker where files of its work are that it did not commit, and which ones are not taken for its work; empty if
// there are none.
func keptWhere(r board.Report, now board.Status) string {
	res := board.Result{Uncommitted: max(0, r.Where.Uncommitted-r.Loose.Count()), Tip: r.Tip, NoChanges: r.NoChanges, Loose: r.Loose}
	var lines []string
	if text := res.NotCommitted(); text != "" && (now != board.Landing || r.Tip.IsZero() || len(r.Loose.Inside) > 0) { // else it lands with them
		lines = append(lines, "Not committed: "+text+".")
	}
	for _, line := range looseLines(r.Loose, "you got the task") {
		lines = append(lines, capital(line)+".")
	}
	if r.Loose.Count() > 0 {
		lines = append(lines, "Leave what is not yours as it is; if your work is among that, say so with "+mention("create_task")+".")
	}
	return strings.Join(lines, " ")
}

// lateNews tells a worker that has reported what happened to its task meanwhile, since
// nothing else will. follow is what to do about an answer.
func (t *Tools) lateNews(h board.Handle, o board.Outcome, follow string) (lines []string) {
	if o.Edited {
		lines = append(lines, "The task was edited after you got it; your report was recorded all the same.")
	}
	answers := slices.DeleteFunc(o.Answers, func(q board.Question) bool { return q.ByDefault() })
	if unseen := t.unseen(h, answers); !o.Again { // whose first answer may have been lost
		answers = unseen
	}
	for _, q := range answers {
		lines = append(lines, fmt.Sprintf("%v %s: %s. %s", q.ID, answeredBy(q), answered(q), follow))
	}
	return lines
}

// doneAnswer says what a report of success changed.
func (t *Tools) doneAnswer(ctx context.Context, h board.Handle, o board.Outcome) *answer {
	s := fmt.Sprintf("%v is done.", o.Task)
	switch o.Status {
	case board.InReview:
		s = fmt.Sprintf("Recorded. %v is now in review; your claim has ended.", o.Task)
	case board.Landing:
		s = fmt.Sprintf("Recorded. %v now waits to be landed, which needs nothing from you; your claim has ended.", o.Task)
	}
	if o.Again {
		s = cmp.Or(t.undone(ctx, h), s)
	}
	if o.Late {
		s += " Your lease had expired; the report was accepted because nobody else had started."
	}
	if len(o.Freed) > 0 {
		s += " This unblocked " + idList(o.Freed) + "."
	}
	if len(o.FollowUps) > 0 {
		s += " Your follow-ups are " + idList(o.FollowUps) + ", drafts until a lead starts them."
	}
	if o.Again {
		s = "You already reported this. " + s
	}
	s += " " + t.onward(o.Worker)
	return &answer{text: s, result: wireOutcomeOf(o)}
}

// undone says that the report of an attempt was rejected, or that its work could not be landed, empty if
// neither was so.
func (t *Tools) undone(ctx context.Context, h board.Handle) string {
	d, err := t.b.Get(ctx, h.Task, 100)
	if err != nil {
		return ""
	}
	for _, e := range d.Events {
		switch {
		case e.Detail.Attempt != h.Attempt:
		case e.Kind == board.EventRejected:
			return fmt.Sprintf("It was recorded, and rejected by %s: %s. %v is %s now.", eventAuthor(e), decided(h.Task, e.Detail.Text), h.Task, d.Task.State())
		case e.Kind == board.EventReturned:
			return fmt.Sprintf("It was recorded, and then %s. %v is %s now.", returnedText(e), h.Task, d.Task.State())
		}
	}
	return ""
}

var reportTaskFailed = &definition{
	name: "report_task_failed",
	about: "Report that you could not do your claimed task. Report early and honestly; it helps the next worker. " +
		"kind decides what happens: blocked puts your reason to people as a question; wrong_spec fails the task until a lead fixes it; environment retries it after a cool-down; " +
		"not_now returns it with no failure counted unless the check was red; too_hard returns it for another worker; other returns it for another attempt.",
	props: []prop{
		{name: "claim", kind: text, required: true, about: claimAbout, aliases: claimNames},
		{name: "reason", kind: text, required: true, about: "what went wrong; for blocked: the question to people", aliases: []string{"summary", "message", "error", "note"}},
		{name: "kind", kind: text, enum: toStrings(board.FailureKinds), about: "default other", aliases: []string{"type"}},
		{name: "do_not_repeat", kind: text, about: "what the next attempt should not try again"},
		{name: "branch", kind: text, about: "branch of your work, if not checked out here"},
	},
	hints: mcp.ToolAnnotations{IdempotentHint: true},
	run:   run(fail),
}

func fail(ctx context.Context, t *Tools, k *caller, in struct {
	Claim       string            `json:"claim"`
	Reason      string            `json:"reason"`
	Kind        board.FailureKind `json:"kind"`
	DoNotRepeat string            `json:"do_not_repeat"`
	Branch      string            `json:"branch"`
},
) (*answer, error) {
	e := action{what: "Not recorded."}
	h, err := k.claim(ctx, e, in.Claim)
	if err != nil {
		return nil, err
	}
	e.claim = h
	if isPlaceholder(in.Reason) {
		return nil, k.refuse(e, placeholderError("reason"))
	}
	at, _ := t.place(ctx, k, h, in.Branch)
	out, err := t.recordFailure(ctx, k, h, board.Failure{Kind: in.Kind, Reason: in.Reason, DoNotRepeat: in.DoNotRepeat, Where: at})
	if err != nil {
		return nil, k.refuse(e, err)
	}
	if out.Question != 0 && !out.Again {
		t.announceID(ctx, out.Question)
	}
	a := t.failAnswer(out, in.Kind)
	a.more = t.lateNews(h, out, "The next attempt gets it too.")
	return a, nil
}

// failAnswer says what happens to a task after a report of failure.
func (t *Tools) failAnswer(o board.Outcome, kind board.FailureKind) *answer {
	var s string
	switch {
	case kind == board.FailNotNow && o.Red == 0:
		s = fmt.Sprintf("%v is pending again; no failure was counted, and you will not be offered it for 10 minutes.", o.Task)
	case o.Question != 0:
		s = fmt.Sprintf("%v is parked: your reason was put to people as %v. The answer will come with the task when it is handed out again.", o.Task, o.Question)
	case o.Status == board.Failed && kind == board.FailWrongSpec:
		s = fmt.Sprintf("%v has failed; a lead must fix its description.", o.Task)
	case o.Status == board.Failed:
		s = fmt.Sprintf("%v has failed: %d of %d attempts failed. A lead decides what happens next.", o.Task, o.Failures, o.MaxFailures)
	case kind == board.FailNotNow:
		s = fmt.Sprintf("%v is pending again, and you will not be offered it for 10 minutes. The check was red in this attempt, so it counts as a failure (%d of %d attempts failed).", o.Task, o.Failures, o.MaxFailures)
	case kind == board.FailTooHard:
		s = fmt.Sprintf("%v is pending again for another worker (%d of %d attempts failed); you will not be offered it for 10 minutes.", o.Task, o.Failures, o.MaxFailures)
	case kind == board.FailEnvironment:
		s = fmt.Sprintf("%v will be retried after a cool-down (%d of %d attempts failed).", o.Task, o.Failures, o.MaxFailures)
	default:
		s = fmt.Sprintf("%v is pending again for another attempt (%d of %d attempts failed).", o.Task, o.Failures, o.MaxFailures)
	}
	if o.Again {
		s = "You already reported this. " + s
	}
	s += " Leave your work on its branch. " + t.onward(o.Worker)
	return &answer{text: s, result: wireOutcomeOf(o)}
}
