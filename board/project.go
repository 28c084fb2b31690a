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
	// Keep is how long finished tasks are kept before task archive moves them out of the
	// board by default; 0 means for ever.
	Keep time.Duration
	// Land is where accepted work is landed, as ParseTarget reads it; empty means nowhere.
	// SetLand sets it, and nothing else does.
	Land string
	// Archived is set for a project that accepts no new tasks and hands out none.
	Archived bool
}

// Rules are what a project says of reports: who accepts them, and where their work lands.
type Rules struct {
	Policy Policy
	Land   string `json:",omitzero"`
}

// Rules returns what the project says of reports.
func (p Project) Rules() Rules { return Rules{Policy: p.Policy, Land: p.Land} }

// A Policy decides when a reported task is done.
type Policy string

const (
	// PolicyEvidence rejects a report without the evidence that the task requires.
	PolicyEvidence Policy = "evidence"
	// PolicyTrust accepts every report.
	PolicyTrust Policy = "trust"
	// PolicyReview puts every reported task into review, where any lead that held no
	// attempt of it may decide.
	PolicyReview Policy = "review"
	// PolicyPerson puts every reported task into review, where only a person may decide.
	PolicyPerson Policy = "person"
)

// Policies are all policies.
var Policies = []Policy{PolicyEvidence, PolicyTrust, PolicyReview, PolicyPerson}

// Reviewed reports whether reported tasks go to review.
func (p Policy) Reviewed() bool { return p == PolicyReview || p == PolicyPerson }

// acceptLead is who may accept under PolicyReview, in what Stored returns.
const acceptLead = "lead"

// Stored returns a policy as databases and exports have it: a policy that programs of every
// version know, and who may accept. A program that does not know PolicyReview reads
// PolicyPerson, and puts reported tasks into review too.
func (p Policy) Stored() (policy Policy, accept string) {
	if p == PolicyReview {
		return PolicyPerson, acceptLead
	}
	return p, ""
}

// StoredPolicy is the inverse of Stored.
func StoredPolicy(policy Policy, accept string) Policy {
	if policy == PolicyPerson && accept == acceptLead {
		return PolicyReview
	}
	return policy
}

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
