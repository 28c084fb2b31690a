package crew

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/git"
)

// A review is a job under the claim of a review. Its agent looks at the reported commit in a worktree
// from which nothing is kept, and ends with a verdict.

// isReview reports whether the job is a review.
func (j *job) isReview() bool { return j.h.Claim.IsReview() }

// prepareReview makes the slot's worktree for a review: the reported commit, if this clone has it.
// found says for the agent what is there.
func (j *job) prepareReview(ctx context.Context) (tree *git.Repo, found string, err error) {
	s, repo := j.slot, j.r.o.Repo
	if err := s.fewAside(); err != nil {
		return nil, "", err
	}
	if s.kept.Unsafe != "" { // the last setup has left processes
		_, moved := s.moveAway(ctx, s.kept.Unsafe)
		s.report(Trouble, moved.Error())
	}
	base, reported := "", ""
	if r := j.h.Doc.Result; r != nil && r.Tip.Commit != "" {
		reported = r.Tip.Commit
		base, _ = repo.Commit(ctx, reported)
	}
	found = fmt.Sprintf("You are in a worktree of your own, %q, with the reported commit %s checked out: read and run what you need. Nothing that you change there is kept.", s.dir, git.Short(base))
	if base == "" {
		found = "The reported commit is not in this clone: judge the work by what was reported of it and its diff. What is checked out here does not have it."
		if reported == "" {
			found = "It is not known which commit has the work: judge it by what was reported. What is checked out here need not have it."
		}
		if base, err = j.r.head(ctx); err != nil {
			return nil, "", err
		}
	}
	tree, left, err := s.enter(ctx, base)
	if err != nil {
		return nil, "", err
	}
	s.kept = kept{Worker: s.kept.Worker, Made: true, Setup: s.kept.Setup, Departed: s.kept.Departed, Base: base}
	if err := s.keep(); err != nil {
		return nil, "", err
	}
	if tree, err = j.furnish(ctx, tree, left.Commit); err != nil {
		return nil, "", err
	}
	return tree, found + j.unprepared, s.keep()
}

// noVerdict is what an agent is told that has ended its turn without a verdict.
const noVerdict = "You have not given a verdict. Call review_task with accept or reject, or with skip if you cannot judge it."

// A ruling is how a review stands: held if its claim is in force. kind is how its agent has ended it,
// empty if it has not, and text its note. ended says how somebody else has.
type ruling struct {
	held  bool
	kind  EventKind
	text  string
	ended string
}

// rulingEvents is how many events of a task are looked at for a verdict.
const rulingEvents = 50

// ruling reads how the review stands.
func (j *job) ruling(ctx context.Context) (now ruling, err error) {
	d, err := j.r.o.Board.Get(ctx, j.h.Task.ID, rulingEvents)
	if err != nil {
		return now, err
	}
	if now.held = d.Review != nil && d.Review.Handle == j.h.Claim.Handle; now.held {
		return now, nil
	}
	now.ended = "its claim has ended"
	var begin int64
	if n := len(j.h.Events); n > 0 {
		begin = j.h.Events[n-1].Seq
	}
	for _, e := range d.Events {
		if e.Seq <= begin {
			continue
		}
		own := e.Actor == j.h.Claim.Worker.Name && e.Detail.By != board.ByPerson
		switch {
		case e.Kind == board.EventAccepted && own:
			now.kind, now.text = Accepted, e.Detail.Text
		case e.Kind == board.EventRejected && own:
			now.kind, now.text = Rejected, e.Detail.Text
		case e.Kind == board.EventReviewEnded && e.Detail.Cause == board.CauseNotNow && e.Detail.Worker == j.h.Claim.Worker.Name:
			now.kind, now.text = Skipped, e.Detail.Text
		case e.Kind == board.EventAccepted, e.Kind == board.EventRejected, e.Kind == board.EventCancelled, e.Kind == board.EventClosed:
			now.ended = fmt.Sprintf("%s was first: %s", e.Actor, e.Kind)
		case e.Kind == board.EventReviewEnded:
			now.ended = string(e.Detail.Cause) + ": " + e.Detail.Text
		default:
			continue
		}
		return now, nil
	}
	return now, nil
}

// skip gives the review back without a verdict: the slot is not offered it for a while.
func (j *job) skip(ctx context.Context, why string) error {
	note := why[:min(len(why), 2*maxReason)]
	_, err := j.r.o.Board.Review(ctx, j.actor(), j.h.Task.ID, board.Decision{Verdict: board.Skip, Note: cut(note, len(note)), Claim: j.h.Claim.Handle})
	return err
}

// endReview sees to the end of a review whose agent has ended, and gives it back if there is no verdict.
func (j *job) endReview(ctx, runner context.Context, last agent.Event, why error) Result {
	if last.Ending.Left > 0 || last.Ending.Err != nil {
		j.kept.Unsafe = "a process may still write into it"
	}
	j.tidy(ctx)
	var now ruling
	if err := j.insist(ctx, runner, "the board does not say how the review stands", func() (err error) {
		now, err = j.ruling(ctx)
		return err
	}); err != nil {
		return j.result(Untold, err.Error())
	}
	if why == nil {
		why = j.broken(last, false)
	}
	_, limited := errors.AsType[*limitError](why)
	_, spent := errors.AsType[*BudgetError](why)
	switch {
	case now.held && (limited || spent):
		res := j.giveBack(ctx, why)
		res.Rested = true
		return res
	case now.held && errors.Is(why, errEnded):
		return j.giveBack(ctx, why)
	case now.held && errors.Is(why, errUnusable):
		return j.notNow(ctx, why)
	case now.held:
		reason := unreported("a verdict", last, why)
		err := j.insist(ctx, runner, "the board could not be told that the review has ended", func() error { return j.skip(ctx, reason) })
		if errors.Is(err, board.ErrConflict) {
			return j.result(Lost, err.Error())
		}
		return j.failed(err, Skipped, reason)
	case now.kind != "":
		return j.result(now.kind, now.text)
	}
	return j.result(Lost, now.ended)
}

// tidy makes the worktree of a review clean for the next one.
func (j *job) tidy(ctx context.Context) {
	unsafe := j.kept.Unsafe
	if unsafe == "" {
		if err := j.tree.Checkout(ctx, "", j.kept.Base, false, j.r.o.Accept); err != nil {
			unsafe = fmt.Sprintf("it cannot be made clean: %v", err)
		}
	}
	if unsafe != "" {
		_, moved := j.moveAway(ctx, unsafe)
		j.tell(Trouble, moved.Error())
	}
	j.kept.free()
	if err := j.keep(); err != nil {
		j.tell(Trouble, err.Error())
	}
}

// enter notes a slot that begins, and exit one that has ended.
func (r *Runner) enter(s *slot) {
	r.today.enter(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.reviews {
		r.looks[s] = time.Time{}
	} else {
		r.working++
	}
}

func (r *Runner) exit(s *slot) {
	r.today.leave(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.reviews {
		delete(r.looks, s)
	} else {
		r.working--
	}
}

// allWorked reports whether all slots for tasks have ended, if there were any. Then those for reviews do
// what is left for them, and end, too.
func (r *Runner) allWorked() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.o.Agents) > 0 && r.working == 0
}

// looked notes that a slot for reviews found none when it looked; the zero time if it has got one.
func (r *Runner) looked(s *slot, began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.reviews && (began.IsZero() || began.After(r.looks[s])) {
		r.looks[s] = began
	}
}

// quieten notes that there was nothing else to do at a time than to review; the zero time if there was.
func (r *Runner) quieten(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.IsZero() || r.quiet.IsZero() {
		r.quiet = at
	}
}

// idle reports whether every slot for reviews has looked for one since there was nothing else to do, and
// has found none: those that are open are not for them.
func (r *Runner) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, began := range r.looks {
		if r.quiet.IsZero() || !began.After(r.quiet) {
			return false
		}
	}
	return true
}

// inReview reports whether tasks wait for a review.
func (r *Runner) inReview(ctx context.Context) bool {
	sum, err := r.o.Board.Summary(ctx, r.o.Project)
	return err == nil && sum.Counts.Status[board.InReview] > 0
}
