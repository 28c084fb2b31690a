package board

import "time"

// A Project is a set of tasks that belong together and may depend on each other.
type Project struct {
	// Slug is its short name and the first half of its tasks' ids; it never changes.
	Slug string
	Name string
	// Policy says what a report of done must bring.
	Policy Policy
	// Lease is the length of a claim, 0 for the usual.
	Lease time.Duration
	// Skills is what tasks and workers may ask for and declare; none: no skills here.
	Skills []string
	// PausedBy is who paused the hand-out, or empty.
	PausedBy string
	// Archived projects take no new tasks and hand out none.
	Archived bool
}

// A Policy says when a reported task is done.
type Policy string

const (
	// PolicyEvidence refuses a report that lacks a kind of evidence the task names.
	PolicyEvidence Policy = "evidence"
	// PolicyTrust takes every report.
	PolicyTrust Policy = "trust"
	// PolicyPerson sends every report to a review.
	PolicyPerson Policy = "person"
)

// ValidSlug reports whether s can be a project's slug: a letter, then at most 15
// letters and digits, all lower case.
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
