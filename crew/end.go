package crew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/git"
)

// end sees to the end of a job whose agent has ended, and tells the board if the agent did not.
// It waits for a board that does not answer, until the runner has to end.
func (j *job) end(ctx, runner context.Context, last agent.Event, why error) Result {
	if last.Ending.Left > 0 || last.Ending.Err != nil {
		j.kept.Unsafe = "a process may still write into it"
	}
	var a standing
	if err := j.insist(ctx, runner, "the board does not say how the task stands", func() (err error) {
		a, err = j.attempt(ctx)
		return err
	}); err != nil { // it is seen to when the board answers: what is stored as what depends on that
		return j.result(Untold, errors.Join(err, j.keep()).Error())
	}
	branch := j.kept.Branch
	commit, err := j.close(ctx, j.tree, a, j.kept.Unsafe)
	if err != nil {
		j.tell(Trouble, err.Error())
	}
	if a.held || a.Cause == board.CauseParked && !a.later {
		j.leftAt(ctx, a.Where, branch, commit)
	}
	if a.held && a.asks != 0 {
		if _, parked, err := j.r.o.Board.Park(ctx, j.actor(), a.asks); err == nil && parked {
			return j.result(Parked, "waiting for an answer to "+a.asks.String())
		}
	}
	if why == nil {
		why = j.broken(last, commit != "" || err != nil)
	}
	unjudged, counted := "", false
	if j.unjudged != nil {
		unjudged, counted = j.unjudged()
	}
	limit, limited := errors.AsType[*limitError](why)
	_, costly := errors.AsType[*costError](why)
	_, spent := errors.AsType[*BudgetError](why)
	switch {
	case a.held && limited:
		res := j.giveBack(ctx, limit)
		res.Rested = true
		return res
	case a.held && (costly || spent):
		return j.overBudget(ctx, runner, why)
	case a.held && errors.Is(why, errEnded):
		return j.giveBack(ctx, why)
	case a.held && errors.Is(why, errUnusable) && !j.r.worksAtOthers(j.agent.Name(), j.h.Task.ID):
		res := j.notNow(ctx, why) // the slot goes on with another task
		res.unusable = true
		return res
	case a.held && why == nil && !j.agent.Tools() && a.spec != j.h.Task.SpecVersion:
		return j.giveBack(ctx, errEdited)
	case a.held && why == nil && unjudged != "":
		res := j.giveBack(ctx, fmt.Errorf("the check could not judge what it reported (%s), and it ended without another report", unjudged))
		res.again = counted
		return res
	case a.held:
		reason := unreported("a report", last, why)
		if errors.Is(why, errUnusable) {
			reason = why.Error()
		}
		if err != nil {
			reason = err.Error() + "; " + reason
		}
		err := j.fail(ctx, runner, board.Failure{Kind: board.FailOther, Reason: reason})
		if errors.Is(err, board.ErrInvalid) { // else the task would be begun again for ever
			reason = "ended without a report; the board does not take its output: " + err.Error()
			err = j.fail(ctx, runner, board.Failure{Kind: board.FailOther, Reason: reason})
		}
		return j.failed(err, Failed, reason)
	case a.landed:
		return j.result(Done, "it has landed")
	case a.accepted && errors.Is(err, errGone):
		return j.result(Done, errGone.Error())
	case a.accepted:
		if nothing, err := nothing(ctx, j.r.o.Repo, commit); err == nil && nothing {
			return j.result(Done, noChange)
		}
		return j.result(Done, "")
	case a.Cause == board.CauseDone && a.task == board.InReview && !a.later:
		return j.result(Review, "")
	case a.Cause == board.CauseDone && a.task == board.Landing && !a.later:
		return j.result(Landing, "")
	case a.Cause == board.CauseDone && a.task == board.Cancelled:
		return j.result(Lost, "the task was cancelled after the report")
	case a.CameBack():
		return j.result(SentBack, a.Reason)
	case a.Cause == board.CauseDone:
		return j.result(Lost, "the work that was reported was not accepted")
	case a.Cause == board.CauseFailed:
		return j.result(Failed, a.Reason)
	case a.Cause == board.CauseNotNow:
		return j.result(NotNow, a.Reason)
	case a.Cause == board.CauseParked:
		return j.result(Parked, a.Reason)
	}
	return j.result(Lost, cmp.Or(a.Reason, string(a.Cause)))
}

// errEdited is why a program's attempt ends without a failure: its report was refused, since the task is
// another one now, and a program does not read that.
var errEdited = errors.New("the task was edited while the program worked on it, and it ended without a report for the new text")

// fail tells the board that the job has failed.
func (j *job) fail(ctx, runner context.Context, f board.Failure) error {
	return j.insist(ctx, runner, "the board could not be told that the job has failed", func() error {
		_, err := j.r.o.Board.Fail(ctx, j.actor(), j.h.Claim.Handle, f)
		return err
	})
}

// failed is the result of a job after fail: kind and text if the board has taken it.
func (j *job) failed(err error, kind EventKind, text string) Result {
	switch {
	case err == nil:
		return j.result(kind, text)
	case errors.Is(err, board.ErrLeaseLost):
		return j.result(Lost, err.Error())
	}
	return j.result(Untold, err.Error())
}

// insist repeats a call that the board does not answer, as when its disk is full, until the runner
// has to end.
func (j *job) insist(ctx, runner context.Context, trouble string, call func() error) error {
	err := call()
	for pause := retryFirst; err != nil && !answered(err) && ctx.Err() == nil && runner.Err() == nil; pause = min(2*pause, retryLast) {
		j.tell(Trouble, fmt.Sprintf("%s: %v; next try in %v", trouble, err, pause))
		wait(runner, pause)
		err = call()
	}
	return err
}

// answered reports whether an error is the board's answer to a call, which would be the same the
// next time.
func answered(err error) bool {
	return slices.ContainsFunc([]error{board.ErrNotFound, board.ErrInvalid, board.ErrConflict, board.ErrDenied, board.ErrLeaseLost}, func(e error) bool { return errors.Is(err, e) })
}

// leftAt tells the board where the work of an attempt is that has not reported, unless the agent
// has said where; commit is empty if there is none.
func (j *job) leftAt(ctx context.Context, at board.Where, branch, commit string) {
	if commit == "" || at.Named && at.Branch != branch {
		return
	}
	at = j.seat.Where(ctx)
	at.Dir = j.r.o.Repo.Root // the slot has left the branch
	at.Branch, at.Head, at.Uncommitted, at.Named, at.Worked, at.Client = branch, git.Short(commit), 0, true, true, j.agent.Name()
	if err := j.r.o.Board.Locate(ctx, j.actor(), j.h.Claim.Handle, at); err != nil {
		j.tell(Trouble, fmt.Sprintf("the place of the work could not be noted: %v", err))
	}
}

// What shells exit with if they cannot run a program, or do not find it.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

// broken says why a program that has ended cannot work here, if it seems so: nothing of it would be
// different with another task. That is nil for one that has called or changed something, unless a
// shell could not run what it was to run.
func (j *job) broken(last agent.Event, changed bool) error {
	e := last.Ending
	if j.agent.Tools() || e.Err != nil || e.Signal != "" || e.Exit == 0 {
		return nil
	}
	j.mu.Lock()
	called := !j.called.IsZero()
	j.mu.Unlock()
	switch {
	case e.Exit == exitCannotRun || e.Exit == exitNotFound:
		return fmt.Errorf("%w: exit status %d, a program in it is not there or cannot be run%s", errUnusable, e.Exit, output(last))
	case !called && !changed:
		return fmt.Errorf("%w: it ended before its first sign of work, exit status %d%s", errUnusable, e.Exit, output(last))
	}
	return nil
}

// maxReason bounds how much of an agent's output becomes the reason of a failure.
const maxReason = 1500

// unreported says how an agent ended without what it owed.
func unreported(owed string, last agent.Event, why error) string {
	text := "ended without " + owed + ", "
	switch e := last.Ending; {
	case why != nil:
		text = "was ended: " + why.Error()
	case e.Err != nil:
		text += e.Err.Error()
	case e.Signal != "":
		text += "by a signal (" + e.Signal + ")"
	default:
		text += fmt.Sprintf("exit status %d", e.Exit)
	}
	return text + output(last)
}

// output says what an agent wrote last, if it wrote anything.
func output(last agent.Event) string {
	out := strings.TrimSpace(last.Text)
	if out == "" {
		return ""
	}
	out = strings.ToValidUTF8(out[max(0, len(out)-maxReason):], "\uFFFD")
	return "; its last output:\n" + strings.ReplaceAll(out, "\x00", "\uFFFD")
}
