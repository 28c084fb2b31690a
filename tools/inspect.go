package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// An Inspector looks at the work where it is. A server that is not on that machine has
// none, and then all evidence is what the worker claims.
type Inspector interface {
	// Begin is called when a task is handed out here.
	Begin(ctx context.Context, w board.Work) error
	// Place returns where the work of a claim is now. branch is a branch that the call
	// names, or empty. The error is a *board.PlaceError if the work cannot be seen from here.
	Place(ctx context.Context, w board.Work, branch string) (board.Where, error)
	// Moved reports whether another branch is checked out at a place than the one that is
	// known of it. It costs little.
	Moved(at board.Where) bool
	// Look returns what there is now of the work that an earlier attempt left at a place. ok
	// is false if it cannot be looked at from here.
	Look(ctx context.Context, left board.Where) (s board.Sight, ok bool)
	// Apart returns the room for a worker beside the one at a place: with the branch that is
	// asked for, unless that is taken.
	Apart(at board.Where, branch string) board.Room
	// Resolve replaces the names of commits in evidence with their full names.
	Resolve(ctx context.Context, w board.Work, evidence []board.Evidence)
	// Verify looks at evidence. It returns the pieces that it has seen, and a sentence
	// for each piece that is false.
	Verify(ctx context.Context, w board.Work, evidence []board.Evidence) (observed []board.Evidence, faults []string, err error)
	// Check runs the project's check on the work as it is now, or joins the run of it
	// that is under way, and waits for d at most. It calls waiting when it begins to wait,
	// which it does not without a check, and then every few seconds with the time that the
	// check has run, or, until it begins, with what it waits for. The error may be a
	// *board.PlaceError.
	Check(ctx context.Context, w board.Work, d time.Duration, waiting func(took time.Duration, behind string)) (CheckResult, error)
	// Command is the check that will run at a report, empty if there is none. why says why
	// one that is configured will not run.
	Command() (command, why string)
	// End is called when a report was accepted, with what was observed.
	End(ctx context.Context, w board.Work, observed []board.Evidence)
}

// A CheckResult is what an Inspector's check has come to.
type CheckResult struct {
	State CheckState
	// Command is what was run, and Took how long it has run.
	Command string
	Took    time.Duration
	// Behind is what it waits for if it has not begun, half a sentence.
	Behind string
	// Evidence is the proof of a green check, and Loose names files that it covers and that
	// are not committed as they are; if files changed while it ran, it names those.
	Evidence board.Evidence
	Loose    []string
	// Reason says what happened otherwise, such as "exit status 1".
	Reason string
	// Tail is the end of the output.
	Tail string
	// Run identifies the run, which several reports may have joined.
	Run string
}

// A CheckState is what a check says about the work.
type CheckState string

const (
	CheckNone      CheckState = "none"       // no check is configured
	CheckUntrusted CheckState = "untrusted"  // one is, but no person has accepted it
	CheckGreen     CheckState = "green"      // it found the work good
	CheckRed       CheckState = "red"        // it found a fault
	CheckNotJudged CheckState = "not_judged" // it could not run, or did not end
	CheckChanged   CheckState = "changed"    // files changed while it ran
	CheckRunning   CheckState = "running"    // it has not ended yet
	CheckStopped   CheckState = "stopped"    // it did not begin in time, or was stopped for another one
)

// work returns the work of a task's newest attempt, for the Inspector.
func (t *Tools) work(ctx context.Context, principal string, d board.Dossier) (w board.Work, err error) {
	w = board.WorkOf(d)
	w.Others, err = t.b.Claims(ctx, board.ClaimFilter{Principal: principal})
	return w, err
}

// judging says how the work of a task will be judged, a line each: where it is looked at,
// and which check runs.
func (t *Tools) judging(ctx context.Context, h *board.Handout) (lines []string) {
	if t.o.Inspector == nil {
		return nil
	}
	if p, err := t.b.Project(ctx, h.Task.ID.Project); err != nil || p.Policy == board.PolicyTrust {
		return nil
	}
	command, why := t.o.Inspector.Command()
	switch {
	case h.CheckWaived():
	case command != "":
		lines = append(lines, "At the report Bossman runs "+inline(command, 300)+".")
	case why != "":
		lines = append(lines, cut(visible.Line(why), 500))
	}
	if w := where(h); w.Ordered != "" && !w.Named {
		lines = append(lines, fmt.Sprintf("Bossman looks at your work on branch %s, in its worktree. If it is elsewhere, name its branch in %s.",
			inline(w.Ordered, 80), mention("report_task_done")))
	} else if w.Branch != "" {
		lines = append(lines, fmt.Sprintf("Bossman looks at your work in %s, on branch %s. If it is elsewhere, name its branch in %s.",
			inline(w.Dir, 200), inline(w.Branch, 80), mention("report_task_done")))
	} else if w.Head != "" {
		lines = append(lines, fmt.Sprintf("Bossman looks at your work in %s, where commit %s is checked out and no branch. If it is elsewhere, name its branch in %s.",
			inline(w.Dir, 200), shortCommit(w.Head), mention("report_task_done")))
	}
	return lines
}

// place returns where the work of a claim is, for a note or a report of failure, and a
// remark if it could not be determined. Then the last known place stays.
func (t *Tools) place(ctx context.Context, k *caller, h board.Handle, branch string) (at board.Where, remark string) {
	at = t.where(ctx, k)
	if t.o.Inspector == nil {
		at.Branch = cmp.Or(branch, at.Branch)
		return at, ""
	}
	client := at.Client
	now, ok, err := t.placeNow(ctx, k.Principal, h, branch)
	if ok {
		at = now
	}
	if e, ok := errors.AsType[*board.PlaceError](err); ok {
		remark = fmt.Sprintf("The place of your work was not updated. %s Next: %s.", visible.Line(e.Why), e.Next)
	}
	if err != nil {
		at = board.Where{}
	}
	at.Client = client
	return at, remark
}

// placeNow looks where the work of a claim is. ok is false if the claim has ended.
func (t *Tools) placeNow(ctx context.Context, principal string, h board.Handle, branch string) (at board.Where, ok bool, err error) {
	d, err := t.b.Get(ctx, h.Task, 1)
	if err != nil || !mayBeAccepted(d, h) {
		return at, false, err
	}
	w, err := t.work(ctx, principal, d)
	if err == nil {
		at, err = t.o.Inspector.Place(ctx, w, branch)
	}
	return at, err == nil, err
}

// inspect verifies the evidence of a report and runs the check. It returns an answer if
// the report is not to be recorded now, and a remark for the answer otherwise.
func (t *Tools) inspect(ctx context.Context, k *caller, e action, r *board.Report, branch string) (not *answer, remark string, err error) {
	h := e.claim
	d, err := t.b.Get(ctx, h.Task, 1)
	if err != nil {
		return nil, "", err
	}
	if !mayBeAccepted(d, h) {
		t.o.Inspector.Resolve(ctx, board.WorkOf(d), r.Evidence) // so that the board recognizes a repeated report
		return nil, "", nil                                     // the board says why
	}
	p, err := t.b.Project(ctx, h.Task.Project)
	if err != nil {
		return nil, "", err
	}
	w, err := t.work(ctx, k.Principal, d)
	if err != nil {
		return nil, "", err
	}
	defer t.keep(ctx, k)()
	client := r.Where.Client
	apart := branch == "" && (w.Place.Ordered != "" || w.Place.Named)
	last := w.Place
	note := func(at board.Where) {
		if err := t.b.Locate(ctx, k.Actor, h, at); err != nil { // the board will say why, if it matters
			t.o.Logger.Warn("the place of the work could not be noted", "task", h.Task, "err", err)
		}
	}
	if w.Place, err = t.o.Inspector.Place(ctx, w, branch); err != nil {
		if w.Place.Named && !last.Named { // it is known now that the work is there, and was left
			note(w.Place)
		}
		if p.Policy != board.PolicyTrust && !(apart && t.nothingToSee(r)) {
			return nil, "", notThere(h, err)
		}
		r.Where = board.Where{Client: client} // nothing is looked at
		return nil, "", nil
	}
	r.Where = w.Place
	r.Where.Client = client
	moved := w.Place.Dir != last.Dir || w.Place.Branch != last.Branch || w.Place.Named != last.Named || w.Place.Head != last.Head
	if moved {
		note(r.Where)
	}
	// elsewhere refuses the report because what is there is not the work.
	elsewhere := func(err error) error {
		if e, ok := errors.AsType[*board.PlaceError](err); ok && e.Foreign && moved {
			note(last)
		}
		return notThere(h, err)
	}
	t.o.Inspector.Resolve(ctx, w, r.Evidence)
	observed, faults, err := t.o.Inspector.Verify(ctx, w, r.Evidence)
	if _, ok := errors.AsType[*board.PlaceError](err); ok && p.Policy == board.PolicyTrust {
		err = nil
	}
	if err != nil {
		return nil, "", elsewhere(err)
	}
	if len(faults) > 0 && p.Policy != board.PolicyTrust {
		return nil, "", &refusal{
			what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), why: strings.Join(faults, " "), code: "evidence_false", err: board.ErrConflict,
			next: "Next: " + repeat() + " with evidence that is there: a commit of this task on your branch, a file in your worktree, a URL. If your work is in another worktree, name its branch.",
		}
	}
	r.Observed = observed
	switch {
	case p.Policy == board.PolicyTrust || lacksEvidence(d.Task, r.Evidence):
		return nil, "", nil
	case d.CheckWaived():
		r.Check = board.CheckWasWaived
		return nil, "", nil
	}
	res, err := t.waitCheck(ctx, k, w)
	if err != nil {
		return nil, "", elsewhere(err)
	}
	switch res.State {
	case CheckGreen:
		if len(res.Loose) > 0 && slices.ContainsFunc(r.Evidence, func(e board.Evidence) bool { return e.Kind == board.EvidenceCommit }) {
			return nil, "", &refusal{
				what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "uncommitted", err: board.ErrConflict,
				why:  fmt.Sprintf("The check passed with files that are not committed as they are: %s. Without them your commit is not checked.", inlineList(res.Loose, 1000)),
				next: "Next: commit them, or remove or ignore what does not belong to the task, and " + repeat() + " with the new commit.",
			}
		}
		res.Evidence.Detail += notJudged(w.Place, r.Evidence)
		r.Observed = append(r.Observed, res.Evidence)
	case CheckUntrusted:
		r.Check = board.CheckNotAccepted
		return nil, "The project's check was not run, because no person has accepted it: " + visible.Line(res.Reason), nil
	case CheckRunning:
		return checkRunning(h, res), "", nil
	case CheckStopped:
		return nil, "", &refusal{
			what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "check_stopped", err: board.ErrConflict,
			why:  fmt.Sprintf("The check said nothing about your work: %s.", visible.Line(res.Reason)),
			next: "Next: " + repeat() + "; if another check hangs, ask a person to end its process.",
		}
	case CheckChanged:
		out, err := t.b.Checked(ctx, k.Actor, h, board.CheckRun{Command: res.Command, Run: res.Run, Reason: "these files changed while it ran: " + inlineList(res.Loose, 1000)})
		if err != nil {
			return nil, "", err
		}
		if out.Question != 0 {
			t.announceID(ctx, out.Question)
			return checkFailed(out, res), "", nil
		}
		return nil, "", &refusal{
			what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), why: "These files changed while the check ran: " + inlineList(res.Loose, 1000) + ".", code: "check_changed", err: board.ErrConflict,
			next: "Next: " + repeat() + " when nothing writes to the worktree; new files that the check writes belong in .gitignore, and those that are committed it has to leave as they are.",
		}
	case CheckRed, CheckNotJudged:
		out, err := t.b.Checked(ctx, k.Actor, h, board.CheckRun{
			Command: res.Command, Red: res.State == CheckRed, Reason: res.Reason, Tail: res.Tail, Run: res.Run,
		})
		if err != nil {
			return nil, "", err
		}
		if out.Question != 0 {
			t.announceID(ctx, out.Question)
		}
		return checkFailed(out, res), "", nil
	}
	return nil, "", nil
}

// notJudged says that no commit of the evidence is the one that was judged; empty if one is.
func notJudged(at board.Where, evidence []board.Evidence) string {
	other := ""
	for _, e := range evidence {
		if e.Kind != board.EvidenceCommit || at.Head == "" {
			continue
		}
		if strings.HasPrefix(e.Ref, at.Head) {
			return ""
		}
		other = e.Ref
	}
	if other == "" {
		return ""
	}
	return fmt.Sprintf("; what was checked is commit %s, not the older %.12s", at.Head, other)
}

// nothingToSee reports whether there is neither a check nor evidence to look at, so that it
// does not matter where the work is: a task may change no file.
func (t *Tools) nothingToSee(r *board.Report) bool {
	command, why := t.o.Inspector.Command()
	return command == "" && why == "" && !slices.ContainsFunc(r.Evidence, func(e board.Evidence) bool {
		return e.Kind == board.EvidenceCommit || e.Kind == board.EvidenceFile
	})
}

// accepted tells the Inspector that a report was accepted.
func (t *Tools) accepted(ctx context.Context, o board.Outcome, r board.Report) {
	if t.o.Inspector == nil || o.Again {
		return
	}
	ctx = context.WithoutCancel(ctx) // the report is recorded
	d, err := t.b.Get(ctx, o.Task, 1)
	if err != nil {
		t.o.Logger.Warn("the accepted work could not be noted", "task", o.Task, "err", err)
		return
	}
	w := board.WorkOf(d)
	w.Worker, w.Place = o.Worker, r.Where
	t.o.Inspector.End(ctx, w, r.Observed)
}

// notThere refuses a report whose work cannot be looked at. It returns other errors
// unchanged.
func notThere(h board.Handle, err error) error {
	e, ok := errors.AsType[*board.PlaceError](err)
	if !ok {
		return err
	}
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), why: e.Why, code: "elsewhere", err: board.ErrConflict,
		next: "Next: " + e.Next + ".",
	}
}

// mayBeAccepted reports whether the board may accept a report under a claim: the claim is
// live, or has expired and nobody else was given the task.
func mayBeAccepted(d board.Dossier, h board.Handle) bool {
	t := d.Task
	if len(d.Attempts) == 0 || t.Attempt != h.Attempt || t.Nonce != h.Nonce || t.Status.Terminal() || t.Status == board.InReview {
		return false
	}
	last := d.Attempts[len(d.Attempts)-1]
	return last.Cause == "" || last.Cause == board.CauseExpired || last.Cause == board.CauseLeft
}

// lacksEvidence reports whether the board will refuse a report because evidence is
// missing that no check brings.
func lacksEvidence(t board.Task, sent []board.Evidence) bool {
	return slices.ContainsFunc(t.Wants, func(want board.EvidenceKind) bool {
		return want != board.EvidenceTests && !slices.ContainsFunc(sent, func(e board.Evidence) bool { return e.Kind == want })
	})
}

// waitCheck runs the check, and tells the client now and then that it still runs.
func (t *Tools) waitCheck(ctx context.Context, k *caller, w board.Work) (CheckResult, error) {
	wait := cmp.Or(t.o.CheckWait, maxWait*time.Second)
	began := time.Now()
	var resume func()
	defer func() {
		if resume != nil {
			resume()
		}
	}()
	return t.o.Inspector.Check(ctx, w, wait, func(took time.Duration, behind string) {
		if resume == nil { // a report that has no check to wait for keeps its turn
			resume = k.wait(wait)
			return
		}
		if k.call != nil { // the caller of a direct method knows no progress
			text := "the check has run for " + board.Span(took)
			if behind != "" {
				text = CheckNotBegun + behind
			}
			k.call.Progress(time.Since(began).Seconds(), 0, text)
		}
	})
}

// CheckNotBegun is the beginning of a progress message about a check that waits.
const CheckNotBegun = "the check has not begun: "

// checkRunning says that a report has to wait for its check.
func checkRunning(h board.Handle, res CheckResult) *answer {
	state := "has run for " + board.Span(res.Took)
	if res.Behind != "" {
		state = "has not begun: " + res.Behind
	}
	return &answer{
		text: fmt.Sprintf("Not recorded yet. You still hold %v. The check %s. Its command: %s\nNext: repeat the same call to keep waiting; it joins this run.",
			h.Task, state, inline(res.Command, 200)),
		result: wireCheck{Task: h.Task.String(), State: string(res.State), Seconds: res.Took.Seconds()},
	}
}

// checkFailed says what a check that did not confirm the work led to.
func checkFailed(o board.CheckOutcome, res CheckResult) *answer {
	var s strings.Builder
	if res.State == CheckRed {
		fmt.Fprintf(&s, "Not recorded: the check failed (%s, %s).", visible.Line(res.Reason), board.Span(res.Took))
	} else {
		fmt.Fprintf(&s, "Not recorded: the check could not judge your work (%s). That is not counted against you.", visible.Line(res.Reason))
	}
	if tail := strings.TrimSpace(res.Tail); tail != "" {
		s.WriteString("\nThe end of its output:\n" + block(tail))
	}
	switch {
	case o.Question != 0:
		fmt.Fprintf(&s, "\n%v is parked: people were asked as %v. Commit to your branch and stop working on it. Next: %s.", o.Task, o.Question, nextCall(o.Worker))
	case o.Late:
		fmt.Fprintf(&s, "\nYour claim on %v had ended before, and nobody has taken the task since. Next: fix that and %s; it is accepted as long as nobody takes the task.", o.Task, repeat())
	case o.Status != board.InProgress:
		fmt.Fprintf(&s, "\nThat was the check's failure number %d: this attempt at %v has failed (%d of %d). Next: %s.", o.Count, o.Task, o.Failures, o.MaxFailures, nextCall(o.Worker))
	case res.State == CheckRed:
		fmt.Fprintf(&s, "\nYou still hold %v. Fix it and %s. The attempt fails with the check's failure number %d; this was number %d.", o.Task, repeat(), o.Limit, o.Count)
	default:
		fmt.Fprintf(&s, "\nYou still hold %v. Next: %s to run the check again. After %d tries in a row people are asked; this was number %d.", o.Task, repeat(), o.Limit, o.Count)
	}
	w := wireCheck{Task: o.Task.String(), State: string(res.State), Seconds: res.Took.Seconds(), Status: string(o.Status)}
	if o.Question != 0 {
		w.Question = o.Question.String()
	}
	return &answer{text: s.String(), failed: true, result: w}
}
