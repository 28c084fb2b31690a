package crew

import (
	"context"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A Result is how a job ended.
type Result struct {
	Task  board.ID
	Title string
	Kind  EventKind
	// Merge is the command that merges the work of a task that is done; empty if there is nothing to
	// merge.
	Merge string
	// Rested is set if the task was given back because the agent's account has reached its limit.
	Rested bool
	// Over is set if the task has failed for good, and Why says why.
	Over bool
	Why  string

	claim    board.Handle
	agent    string
	refused  bool // what was reported was not accepted
	unusable bool // it was given back because the agent could not work
	again    bool // it was given back, and the slot goes on with it: the third time in a row the board asks people
}

// worksAtOthers reports whether an agent has worked on another task since this one was given back in this run: if it cannot work on this one
// again, that is the task's fault and not the agent's.
func (r *Runner) worksAtOthers(agent string, id board.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	returned := false
	for _, res := range r.results {
		switch {
		case res.Task == id:
			returned = returned || res.Kind == Returned && !res.Rested
		case returned && res.agent == agent && slices.Contains([]EventKind{Done, Review, Landing}, res.Kind):
			return true
		}
	}
	return false
}

// Results are the jobs that have ended, in their order, as they stand now: people may have decided
// about what was reported, other agents may have moved branches since, and a task may have failed for
// good. What the board does not say within a few seconds is as it was when the job ended, and is not to
// be merged.
func (r *Runner) Results(ctx context.Context) []Result {
	r.mu.Lock()
	results := slices.Clone(r.results)
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, resultsTime)
	defer cancel()
	for i := range results {
		res := &results[i]
		if res.Kind != Done && res.Kind != Review && res.Kind != Landing && res.Kind != Failed && res.Kind != SentBack {
			continue
		}
		now, err := r.standing(ctx, res.claim)
		switch {
		case err != nil:
		case res.Kind == Failed || res.Kind == SentBack:
			res.Over, res.Why, res.refused = now.task == board.Failed && !now.later, now.Reason, res.Kind == SentBack
		case now.accepted:
			res.Kind = Done
			if !now.landed && !now.unchanged {
				res.Merge = mergeCommand(ctx, r.o.Repo, now.Attempt)
			}
		case now.task == board.InReview && !now.later:
			res.Kind = Review
		case now.task == board.Landing && !now.later:
			res.Kind = Landing
		case now.CameBack():
			res.Kind, res.refused, res.Over, res.Why = SentBack, true, now.task == board.Failed && !now.later, now.Reason
		default:
			res.Kind, res.refused = Lost, true
		}
	}
	return slices.DeleteFunc(results, func(res Result) bool { // the review says it
		return res.refused && slices.ContainsFunc(results, func(other Result) bool { return other.Task == res.Task && other.Kind == Rejected })
	})
}

// Parked is how many tasks of the project wait for an answer; 0 if the board does not say that within
// a few seconds.
func (r *Runner) Parked(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, resultsTime)
	defer cancel()
	sum, _ := r.o.Board.Summary(ctx, r.o.Project)
	return sum.Counts.Status[board.Waiting]
}

// resultsTime bounds how long Results and Parked ask the board.
const resultsTime = 10 * time.Second
