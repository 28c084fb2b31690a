package board

import (
	"slices"
	"time"
)

// Work is what is needed to look at the work of a claim where it is.
type Work struct {
	Task   ID
	Worker string
	// First is the claim of the task's first hand-out, and Since its time. What existed by
	// then is not the task's work.
	First Handle
	Since time.Time
	// Place is where the work of the claim is.
	Place Where
	// Branches are the branches that workers of the task named or were told, the newest first.
	Branches []string
	// Others are the live claims on other tasks of the same principal.
	Others []Claim
}

// maxBranches bounds Work.Branches.
const maxBranches = 5

// WorkOf returns the work of a task's newest attempt.
func WorkOf(d Dossier) Work {
	w := Work{Task: d.Task.ID}
	if n := len(d.Attempts); n > 0 {
		last := d.Attempts[n-1]
		w.First, w.Since = d.Attempts[0].Handle, d.Attempts[0].GrantedAt
		w.Worker, w.Place = last.Worker.Name, last.Where
	}
	for _, a := range slices.Backward(d.Attempts) {
		at := a.Where
		if !at.Named {
			at.Branch = ""
		}
		for _, b := range []string{at.Branch, at.Ordered} {
			if b != "" && !slices.Contains(w.Branches, b) && len(w.Branches) < maxBranches {
				w.Branches = append(w.Branches, b)
			}
		}
	}
	return w
}
