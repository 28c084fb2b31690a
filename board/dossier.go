package board

import (
	"slices"
	"time"
)

// A Dossier is all that is known about a task.
type Dossier struct {
	Task  Task
	Doc   Doc
	Claim *Claim
	// Review is the live claim on its review, or nil.
	Review *Claim
	// Attempts are all attempts, oldest first.
	Attempts []Attempt
	// Blockers are the tasks that it depends on, Results the results of those, and
	// Dependents the tasks that depend on it.
	Blockers   []Task
	Results    map[ID]Result
	Dependents []Task
	Children   []Task
	Questions  []Question
	// Events are the last events, oldest first.
	Events []Event
	// Calls are those that were made for it through the gateway.
	Calls DossierCalls
	// Now is the store's time of the read.
	Now time.Time
}

// Accepted returns the attempt with whose report the task is done; false if it is not done, or a
// person marked it done instead of what was reported.
func (d *Dossier) Accepted() (Attempt, bool) {
	if d.Task.Status != Done || d.Doc.Result != nil && d.Doc.Result.Worker == "" {
		return Attempt{}, false
	}
	i := slices.IndexFunc(d.Attempts, func(a Attempt) bool { return a.Attempt == d.Task.Attempt && a.Cause == CauseDone })
	if i < 0 {
		return Attempt{}, false
	}
	return d.Attempts[i], true
}

// Reported returns the attempt before the newest one whose work the result has, if that is known in git and the task has gone back since.
func (d *Dossier) Reported() (Attempt, bool) {
	if r := d.Doc.Result; r == nil || r.Tip.IsZero() || r.NoChanges || r.Import != "" {
		return Attempt{}, false
	}
	for _, a := range slices.Backward(d.Attempts) {
		if a.Cause == CauseDone {
			return a, a.Attempt < d.Task.Attempt
		}
	}
	return Attempt{}, false
}

// A Record is what is kept about a task when it leaves the board.
type Record struct {
	Task Task
	Doc  Doc
	// Blockers are the tasks that it depends on, and Dependents those that depend on it.
	Blockers, Dependents []ID
	// Attempts, Runs, Diffs, Questions and Events are all of the task's, oldest first.
	Attempts  []Attempt
	Runs      []Run
	Diffs     []AttemptDiff
	Questions []Question
	Events    []Event
}
