package board

import "time"

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
	// Others are the live claims on other tasks of the same principal.
	Others []Claim
}

// WorkOf returns the work of a task's newest attempt.
func WorkOf(d Dossier) Work {
	w := Work{Task: d.Task.ID}
	if n := len(d.Attempts); n > 0 {
		last := d.Attempts[n-1]
		w.First, w.Since = d.Attempts[0].Handle, d.Attempts[0].GrantedAt
		w.Worker, w.Place = last.Worker.Name, last.Where
	}
	return w
}
