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
	"github.com/bossman-dev/bossman/jsonrpc"
)

// work returns the work of a task's newest attempt, for the Inspector, in a project.
func (t *Tools) work(ctx context.Context, principal string, d board.Dossier, p board.Project) (w board.Work, err error) {
	w = board.WorkOf(d, principal)
	w.Land, w.Slot = p.Land, t.o.Keep != nil
	w.Others, err = t.b.Claims(ctx, board.ClaimFilter{Principal: principal})
	return w, err
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
	p, err := t.b.Project(ctx, h.Task.Project)
	if err != nil {
		return at, false, err
	}
	w, err := t.work(ctx, principal, d, p)
	if err == nil {
		at, err = t.o.Inspector.Place(ctx, w, branch)
	}
	return at, err == nil, err
}

// An inspection is what was seen of the work of a report.
type inspection struct {
	// not is the answer if the report is not to be recorded now, and remark is for the answer
	// otherwise.
	not    *answer
	remark string
	// tree is what the check has judged, empty if none was run.
	tree string
	// rules are those of the project, zero if nothing was looked at.
	rules board.Rules
}

// stated is what a report says of its work: the branch that it is on, and that it has changed no
// file. A report that cannot say that, because a direct method has no argument for it, may have changed none.
type stated struct {
	branch    string
	noChanges bool
	cannotSay bool
}

// inspect verifies the evidence of a report and runs the check.
func (t *Tools) inspect(ctx context.Context, k *caller, e action, r *board.Report, says stated) (inspection, error) {
	jsonrpc.Finish(ctx) // a client may send its report and nothing after it
	seen, err := t.judge(ctx, k, e, r, says)
	switch {
	case err != nil:
		t.trace(ctx, k.Actor, e.claim, r.Summary, notRecorded(err))
	case seen.not != nil:
		t.trace(ctx, k.Actor, e.claim, r.Summary, unfinished(seen.not))
	}
	return seen, err
}

// judge is inspect, which keeps what the report said if it is not recorded.
func (t *Tools) judge(ctx context.Context, k *caller, e action, r *board.Report, says stated) (seen inspection, err error) {
	h := e.claim
	d, err := t.b.Get(ctx, h.Task, 1)
	if err != nil {
		return seen, err
	}
	if !mayBeAccepted(d, h) {
		t.o.Inspector.Resolve(ctx, board.WorkOf(d, k.Principal), r.Evidence) // so that the board recognizes a repeated report
		return seen, nil                                                     // the board says why
	}
	p, err := t.b.Project(ctx, h.Task.Project)
	if err != nil {
		return seen, err
	}
	seen.rules = p.Rules()
	r.Rules = new(seen.rules)
	w, err := t.work(ctx, k.Principal, d, p)
	if err != nil {
		return seen, err
	}
	defer t.keep(ctx, k)()
	client := r.Where.Client
	apart := says.branch == "" && (w.Place.Ordered != "" || w.Place.Named)
	last := w.Place
	note := func(at board.Where) {
		if err := t.b.Locate(ctx, k.Actor, h, at); err != nil { // the board will say why, if it matters
			t.o.Logger.Warn("the place of the work could not be noted", "task", h.Task, "err", err)
		}
	}
	if w.Place, err = t.o.Inspector.Place(ctx, w, says.branch); err != nil {
		if w.Place.Named && !last.Named { // it is known now that the work is there, and was left
			note(w.Place)
		}
		landed := p.Land != "" && t.o.Keep == nil // else it does not matter, or it is stored all the same
		if landed && !says.noChanges || p.Policy != board.PolicyTrust && !(apart && t.nothingToSee(r)) {
			if e, ok := errors.AsType[*board.PlaceError](err); ok && landed && apart && t.nothingToSee(r) {
				err = &board.PlaceError{Why: e.Why, Next: fmt.Sprintf("%s; if the task changed no file, %s with %s", e.Next, repeat(), argument("no_changes", true))}
			}
			return seen, notThere(h, err)
		}
		if landed {
			if at, first := t.o.Inspector.Denied(ctx, w); first {
				return seen, hasCommits(h, at)
			}
		}
		r.Where = board.Where{} // nothing is looked at
		if t.o.Keep != nil && w.Place.Named {
			r.Where = w.Place // that is stored
		}
		r.Where.Client = client
		return seen, nil
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
	past := "" // what reviewers are told of a commit that was not landed
	if p.Policy != board.PolicyTrust {
		err := t.o.Inspector.OffTarget(ctx, w)
		if e, ok := errors.AsType[*board.PlaceError](err); ok && says.noChanges && !says.cannotSay {
			past = visible.Line(strings.TrimSuffix(e.Why, "."))
		} else if err != nil {
			return seen, elsewhere(err)
		}
	}
	t.o.Inspector.Resolve(ctx, w, r.Evidence)
	observed, faults, err := t.o.Inspector.Verify(ctx, w, r.Evidence)
	if _, ok := errors.AsType[*board.PlaceError](err); ok && p.Policy == board.PolicyTrust && (p.Land == "" || says.noChanges) {
		err = nil // else it would land
	}
	if err != nil {
		return seen, elsewhere(err)
	}
	if len(faults) > 0 && p.Policy != board.PolicyTrust {
		if on := t.o.Inspector.BranchOf(ctx, w, r.Evidence); on != "" && says.branch == "" {
			if at, err := t.o.Inspector.Place(ctx, w, on); err == nil {
				note(at)
				faults = append(faults, fmt.Sprintf("It is on branch %s, in %s, which is noted as the place of your work.", inline(at.Branch, 80), inline(at.Dir, 200)))
			}
		}
		return seen, &refusal{
			what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), why: strings.Join(faults, " "), code: "evidence_false", err: board.ErrConflict,
			next: "Next: " + repeat() + " with evidence that is there: a commit of this task on your branch, a file in your worktree, a URL. If your work is in another worktree, name its branch.",
		}
	}
	if t.o.Keep == nil && seen.rules.Land == "" && !says.noChanges && p.Policy != board.PolicyTrust { // else it is stored
		if err := t.o.Inspector.OnBranch(ctx, w); err != nil {
			return seen, elsewhere(err)
		}
	}
	same := ""
	if t.o.Keep == nil || w.Place.Uncommitted == 0 { // else what is not committed is stored, too
		same = sameAsRejected(d, w.Place)
	}
	for n := range observed {
		observed[n].Detail = remarked(observed[n].Detail, same)
	}
	if same != "" {
		seen.remark = "Reviewers are told this: " + same + "."
	}
	r.Observed = observed
	switch tree, waived := d.CheckWaived(); {
	case p.Policy == board.PolicyTrust || lacksEvidence(d.Task, r.Evidence):
		return seen, nil
	case waived && tree == "": // it cannot be told from other work
		r.Check = board.CheckWasWaived
		return seen, nil
	}
	w.Strays = t.straysOf(ctx, d, h.Attempt, k.Principal)
	perhaps, err := t.elsewhere(ctx, k, d, w, r, says)
	if err != nil {
		return seen, elsewhere(err)
	}
	res, err := t.waitCheck(ctx, k, h, w, r.Summary)
	if err != nil {
		return seen, elsewhere(err)
	}
	if res.State == CheckRunning {
		t.awaitVerdict(pending{k.Actor, h, w})
	}
	if t.ended(ctx, h) {
		return seen, nil // the board says why
	}
	if res.State == CheckGreen || res.State == CheckWaived {
		if err := t.stayed(ctx, h, w, says); err != nil {
			return seen, elsewhere(err)
		}
	}
	switch res.State {
	case CheckGreen:
		if len(res.Loose) > 0 && slices.ContainsFunc(r.Evidence, func(e board.Evidence) bool { return e.Kind == board.EvidenceCommit }) {
			return seen, &refusal{
				what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "uncommitted", err: board.ErrConflict,
				why:  fmt.Sprintf("The check passed with files that are not committed as they are: %s. Without them your commit is not checked.", inlineList(res.Loose, 1000)),
				next: "Next: commit them, or remove or ignore what does not belong to the task, and " + repeat() + " with the new commit.",
			}
		}
		res.Evidence.Detail += notJudged(w.Place, r.Evidence)
		res.Evidence.Detail = remarked(remarked(remarked(res.Evidence.Detail, same), perhaps), past)
		r.Observed = append(r.Observed, res.Evidence)
		seen.tree = res.Tree
	case CheckWaived:
		r.Check, seen.tree = board.CheckWasWaived, res.Tree
	case CheckUntrusted:
		r.Check = board.CheckNotAccepted
		seen.remark = "The project's check was not run, because no person has accepted it: " + visible.Line(res.Reason)
	case CheckRunning:
		return inspection{not: checkRunning(h, res, ctx.Err() != nil)}, nil
	case CheckStopped:
		return seen, &refusal{
			what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "check_stopped", err: board.ErrConflict,
			why:  fmt.Sprintf("The check said nothing about your work: %s.", visible.Line(res.Reason)),
			next: "Next: " + repeat() + "; if another check hangs, ask a person to end its process.",
		}
	case CheckChanged:
		out, err := t.b.Checked(ctx, k.Actor, h, board.CheckRun{Command: res.Command, Run: res.Run, Tree: res.Tree, Reason: "these files changed while it ran: " + inlineList(res.Loose, 1000)})
		if err != nil {
			return seen, err
		}
		if out.Question != 0 {
			t.announceID(ctx, out.Question)
			return inspection{not: t.checkFailed(out, res)}, nil
		}
		return seen, &refusal{
			what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), why: "These files changed while the check ran: " + inlineList(res.Loose, 1000) + ".", code: "check_changed", err: board.ErrConflict,
			next: "Next: " + repeat() + " when nothing writes to the worktree. New files among them are taken for what the check writes, and left out of your work; if one is yours, add it with git add. Files that git has are in your work as they are then: put back what is not yours, as with git restore. What the check writes belongs in .gitignore, and committed files it has to leave as they are.",
		}
	case CheckRed, CheckNotJudged:
		out, err := t.b.Checked(ctx, k.Actor, h, board.CheckRun{
			Command: res.Command, Red: res.State == CheckRed, Reason: res.Reason, Tail: res.Tail, Run: res.Run, Tree: res.Tree,
		})
		if err != nil {
			return seen, err
		}
		if out.Question != 0 {
			t.announceID(ctx, out.Question)
		}
		return inspection{not: t.checkFailed(out, res)}, nil
	}
	return seen, nil
}

// stayed refuses a report if another commit is checked out than before its check: then the evidence is
// not what was looked at.
func (t *Tools) stayed(ctx context.Context, h board.Handle, w board.Work, says stated) error {
	now, err := t.o.Inspector.Place(ctx, w, says.branch)
	if err != nil || now.Head == w.Place.Head && now.Branch == w.Place.Branch {
		return err
	}
	return &refusal{
		what: "Not recorded.", state: fmt.Sprintf("You still hold %v.", h.Task), code: "moved", err: board.ErrConflict,
		why:  fmt.Sprintf("While the check ran, your work changed from %s to %s.", location(board.Where{Branch: w.Place.Branch, Head: w.Place.Head}), location(board.Where{Branch: now.Branch, Head: now.Head})),
		next: "Next: " + repeat() + " with the commit that is there now.",
	}
}

// sameAsRejected says that the work of a task has the same commit as the report before, which
// was rejected; empty if it does not.
func sameAsRejected(d board.Dossier, at board.Where) string {
	for _, a := range slices.Backward(d.Attempts[:len(d.Attempts)-1]) {
		if a.Cause == board.CauseDone && a.Where.Head != "" && a.Where.Head == at.Head {
			return "nothing was committed since the report that was rejected"
		}
	}
	return ""
}

// remarked appends a remark to the detail of evidence.
func remarked(detail, remark string) string {
	if detail == "" || remark == "" {
		return detail + remark
	}
	return detail + "; " + remark
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
func (t *Tools) accepted(ctx context.Context, principal string, o board.Outcome, r board.Report) {
	if t.o.Inspector == nil || o.Again {
		return
	}
	ctx = context.WithoutCancel(ctx) // the report is recorded
	d, err := t.b.Get(ctx, o.Task, 1)
	if err != nil {
		t.o.Logger.Warn("the accepted work could not be noted", "task", o.Task, "err", err)
		return
	}
	w := board.WorkOf(d, principal)
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

// lacksEvidence reports whether the board will refuse a report because evidence is
// missing that no check brings.
func lacksEvidence(t board.Task, sent []board.Evidence) bool {
	return slices.ContainsFunc(t.Wants, func(want board.EvidenceKind) bool {
		return want != board.EvidenceTests && !slices.ContainsFunc(sent, func(e board.Evidence) bool { return e.Kind == want })
	})
}

// waitCheck runs the check, and tells the client now and then that it still runs.
func (t *Tools) waitCheck(ctx context.Context, k *caller, h board.Handle, w board.Work, summary string) (res CheckResult, err error) {
	t.mu.Lock()
	t.reporting[h]++
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.reporting[h]--; t.reporting[h] == 0 {
			delete(t.reporting, h)
		}
		if len(t.heard) > 10_000 {
			clear(t.heard)
		}
		if res.State != CheckRunning {
			t.heard[h] = res.Run
		}
	}()
	wait := cmp.Or(t.o.CheckWait, maxWait*time.Second)
	began := time.Now()
	var resume func()
	defer func() {
		if resume != nil {
			resume()
		}
	}()
	waiting := func(took time.Duration, behind string) bool {
		if resume == nil { // a report that has no check to wait for keeps its turn
			resume = k.wait(wait)
			return true
		}
		if t.ended(ctx, h) {
			return false
		}
		if time.Since(began) >= traceAfter { // this process may not live to its end
			t.trace(ctx, k.Actor, h, summary, underWay)
		}
		if k.call != nil { // the caller of a direct method knows no progress
			text := "the check has run for " + board.Span(took)
			if behind != "" {
				text = CheckNotBegun + behind
			}
			k.call.Progress(time.Since(began).Seconds(), 0, text)
		}
		return true
	}
	res, err = t.o.Inspector.Check(ctx, w, wait, waiting)
	if err == nil && res.State == CheckRunning && ctx.Err() == nil {
		select {
		case <-jsonrpc.Finish(ctx): // nobody will repeat the call
			return t.o.Inspector.Check(ctx, w, maxVerdictWait, waiting)
		default:
		}
	}
	return res, err
}

// CheckNotBegun is the beginning of a progress message about a check that waits.
const CheckNotBegun = "the check has not begun: "

// checkRunning says that a report has to wait for its check, or has to be made again because the
// process is ending, and the check with it.
func checkRunning(h board.Handle, res CheckResult, ending bool) *answer {
	state := "has run for " + board.Span(res.Took)
	if res.Behind != "" {
		state = "has not begun: " + res.Behind
	}
	next := "repeat the same call to keep waiting; it joins this run."
	if ending {
		next = "this process is ending, and the check with it: start Bossman again and repeat the same call."
	}
	return &answer{
		text: fmt.Sprintf("Not recorded yet. You still hold %v. The check %s. Its command: %s\nNext: %s",
			h.Task, state, inline(res.Command, 200), next),
		result: wireCheck{Task: h.Task.String(), State: string(res.State), Seconds: res.Took.Seconds()},
	}
}

// checkFailed says what a check that did not confirm the work led to.
func (t *Tools) checkFailed(o board.CheckOutcome, res CheckResult) *answer {
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
		fmt.Fprintf(&s, "\n%v is parked: people were asked as %v. Leave your work as it is, and stop working on it. %s", o.Task, o.Question, t.next(o.Worker))
	case o.Late:
		fmt.Fprintf(&s, "\nYour claim on %v had ended before, and nobody has taken the task since. Next: fix that and %s; it is accepted as long as nobody takes the task.", o.Task, repeat())
	case o.Status != board.InProgress:
		fmt.Fprintf(&s, "\nThat was the check's failure number %d: this attempt at %v has failed (%d of %d). %s", o.Count, o.Task, o.Failures, o.MaxFailures, t.next(o.Worker))
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
