package board

import "time"

// A Project is a set of tasks that may depend on each other.
type Project struct {
	// Slug is its short name, and the first part of its tasks' ids. It never changes.
	Slug string
	Name string
	// Policy decides when a reported task is done.
	Policy Policy
	// Lease is the lease of its tasks' claims; 0 means the default of the board.
	Lease time.Duration
	// Skills are the skills that its tasks may require. All others are ignored.
	Skills []string
	// PausedBy is who paused the hand-out, or empty.
	PausedBy string
	// Archived is set for a project that accepts no new tasks and hands out none.
	Archived bool
}

// A Policy decides when a reported task is done.
type Policy string

const (
	// PolicyEvidence rejects a report without the evidence that the task requires.
	PolicyEvidence Policy = "evidence"
	// PolicyTrust accepts every report.
	PolicyTrust Policy = "trust"
	// PolicyPerson puts every reported task into review.
	PolicyPerson Policy = "person"
)

// ValidSlug reports whether s can be the slug of a project: a lower-case letter, then at
// most 15 lower-case letters and digits.
func ValidSlug(s string) bool {
	if s == "" || len(s) > 16 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
