package crew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	a, failed := j.attempt(ctx)
	for pause := retryFirst; failed != nil && ctx.Err() == nil && runner.Err() == nil; pause = min(2*pause, retryLast) {
		j.tell(Trouble, fmt.Sprintf("the board does not say how the task stands: %v; next try in %v", failed, pause))
		j.rest(runner, pause)
		a, failed = j.attempt(ctx)
	}
	if failed != nil { // it is seen to when the board answers: what is stored as what depends on that
		return j.result(Lost, errors.Join(failed, j.keep()).Error())
	}
	branch := j.kept.Branch
	commit, _, err := j.close(ctx, j.tree, a, j.kept.Unsafe)
	if err != nil {
		j.tell(Trouble, err.Error())
	}
	if a.held {
		j.leftAt(ctx, a.Where, branch, commit)
	}
	if a.held && a.asks != 0 {
		if _, parked, err := j.r.o.Board.Park(ctx, j.actor(), a.asks); err == nil && parked {
			return j.result(Parked, "waiting for an answer to "+a.asks.String())
		}
	}
	limit, limited := errors.AsType[*limitError](why)
	cost, costly := errors.AsType[*costError](why)
	switch {
	case a.held && limited:
		res := j.giveBack(ctx, limit)
		res.Rested = true
		return res
	case a.held && costly:
		return j.overBudget(ctx, cost)
	case a.held && (errors.Is(why, errEnded) || errors.Is(why, errUnusable)):
		return j.giveBack(ctx, why)
	case a.held:
		reason := unreported(last, why)
		if err != nil {
			reason = err.Error() + "; " + reason
		}
		_, err := j.r.o.Board.Fail(ctx, j.actor(), j.h.Claim.Handle, board.Failure{Kind: board.FailOther, Reason: reason})
		if errors.Is(err, board.ErrInvalid) { // else the task would be begun again for ever
			reason = "ended without a report; the board does not take its output: " + err.Error()
			_, err = j.r.o.Board.Fail(ctx, j.actor(), j.h.Claim.Handle, board.Failure{Kind: board.FailOther, Reason: reason})
		}
		if err != nil {
			return j.result(Lost, err.Error())
		}
		return j.result(Failed, reason)
	case a.accepted && errors.Is(err, errGone):
		return j.result(Done, errGone.Error())
	case a.accepted:
		if nothing, err := j.r.nothing(ctx, commit); err == nil && nothing {
			return j.result(Done, noChange)
		}
		return j.result(Done, "")
	case a.Cause == board.CauseDone && a.task == board.InReview && !a.later:
		return j.result(Review, "")
	case a.Cause == board.CauseDone && a.task == board.Cancelled:
		return j.result(Lost, "the task was cancelled after the report")
	case a.Cause == board.CauseDone:
		return j.result(Lost, "the work that was reported was not accepted")
	case a.Cause == board.CauseFailed, a.Cause == board.CauseNotNow:
		return j.result(Failed, a.Reason)
	case a.Cause == board.CauseParked:
		return j.result(Parked, a.Reason)
	}
	return j.result(Lost, cmp.Or(a.Reason, string(a.Cause)))
}

// overBudget parks a task whose attempt has cost too much, with a question to people, which no
// agent answers for them. One goes on with it when they have answered.
func (j *job) overBudget(ctx context.Context, cost *costError) Result {
	text := fmt.Sprintf("The agent was ended: %v. What it did is kept. Shall an agent go on, for as much again? Say so, or cancel the task.", cost)
	if _, err := j.r.o.Board.Fail(ctx, j.actor(), j.h.Claim.Handle, board.Failure{Kind: board.FailBlocked, Reason: text, HumanOnly: true}); err != nil {
		return j.result(Lost, err.Error())
	}
	return j.result(Parked, cost.Error())
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

// maxReason bounds how much of an agent's output becomes the reason of a failure.
const maxReason = 1500

// unreported says how an agent ended that did not report.
func unreported(last agent.Event, why error) string {
	text := "ended without a report, "
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
