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

// end stores the last state of a job whose agent has ended, and tells the board if the agent did
// not.
func (j *job) end(ctx context.Context, last agent.Event, why error) Result {
	a, failed := j.attempt(ctx)
	err := j.store(ctx, last, a)
	if err != nil {
		j.tell(Trouble, err.Error())
	}
	limit, limited := errors.AsType[*limitError](why)
	switch {
	case failed != nil:
		return j.result(Lost, failed.Error())
	case a.held && limited:
		res := j.giveBack(ctx, limit)
		res.Rested = true
		return res
	case a.held && (errors.Is(why, errEnded) || errors.Is(why, errUnusable)):
		return j.giveBack(ctx, why)
	case a.held:
		reason := unreported(last, why)
		if err != nil {
			reason = err.Error() + "; " + reason
		}
		if _, err := j.r.o.Board.Fail(ctx, j.actor(), j.h.Claim.Handle, board.Failure{Kind: board.FailOther, Reason: reason}); err != nil {
			return j.result(Lost, err.Error())
		}
		return j.result(Failed, reason)
	case a.Cause == board.CauseDone && a.review:
		return j.result(Review, "")
	case a.Cause == board.CauseDone:
		return j.result(Done, "")
	case a.Cause == board.CauseFailed, a.Cause == board.CauseNotNow:
		return j.result(Failed, a.Reason)
	case a.Cause == board.CauseParked:
		return j.result(Parked, a.Reason)
	}
	return j.result(Lost, cmp.Or(a.Reason, string(a.Cause)))
}

// store stores the last state of a job whose agent has ended, and makes the worktree ready for the
// next one.
func (j *job) store(ctx context.Context, last agent.Event, a standing) error {
	j.mu.Lock()
	done := j.commit
	j.mu.Unlock()
	ref := refOf(j.kept.Task, j.kept.Attempt)
	commit, err := j.snapshot(ctx, j.tree, "")
	if err != nil {
		return errors.Join(err, j.setAside("its files could not be stored"))
	}
	if done != "" {
		ref += "-end" // what came after the report
	}
	if done == "" || !j.same(ctx, done, commit) {
		if err := j.tree.SetRef(ctx, ref, commit, ""); err != nil {
			return errors.Join(err, j.setAside("its files could not be stored"))
		}
	}
	if a.held && !(a.Where.Named && a.Where.Branch != j.kept.Branch) { // else the agent has said where its work is
		at := j.seat.Where(ctx)
		at.Dir = j.r.o.Repo.Root // the slot leaves the branch
		at.Branch, at.Head, at.Uncommitted, at.Named, at.Worked, at.Client = j.kept.Branch, git.Short(commit), 0, true, true, j.agent.Name()
		if err := j.r.o.Board.Locate(ctx, j.actor(), j.h.Claim.Handle, at); err != nil {
			j.tell(Trouble, fmt.Sprintf("the place of the work could not be noted: %v", err))
		}
	}
	if last.Ending.Left > 0 || last.Ending.Err != nil {
		return j.setAside("a process may still write into it")
	}
	branch := j.kept.Branch
	err = j.leave(ctx, j.tree, cmp.Or(done, commit), done != "")
	j.mu.Lock()
	defer j.mu.Unlock()
	j.merge = cmp.Or(j.merge, branch)
	if done != "" && j.r.o.Repo.Branch(j.merge) != done {
		j.merge = git.Short(done) // the branch has something else, or more
	}
	return err
}

// same reports whether two commits have the same files.
func (j *job) same(ctx context.Context, a, b string) bool {
	one, err := j.tree.Tree(ctx, a)
	two, err2 := j.tree.Tree(ctx, b)
	return err == nil && err2 == nil && one == two
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
	if out := strings.TrimSpace(last.Text); out != "" {
		text += "; its last output:\n" + strings.ToValidUTF8(out[max(0, len(out)-maxReason):], "\uFFFD")
	}
	return text
}

// setAside moves the worktree away. The error says where it is.
func (j *job) setAside(why string) error {
	moved := j.moveAway(why)
	j.kept = kept{Worker: j.kept.Worker}
	return errors.Join(moved, j.keep())
}
