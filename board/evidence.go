package board

import (
	"cmp"
	"slices"
)

// observer is whose word it is that evidence was observed: the credential of the process
// that looked. A board in a file has only one.
func observer(a Actor) string {
	if a.Principal == localPrincipal {
		return ""
	}
	return cmp.Or(a.Name, a.Principal)
}

// mergeEvidence marks the pieces of evidence that were observed, and adds those that the
// worker did not name.
func mergeEvidence(claimed, observed []Evidence) []Evidence {
	all := slices.Clone(claimed)
	for i := range all {
		all[i].Observed = false // the worker does not decide that
	}
	for _, o := range observed {
		o.Observed = true
		i := slices.IndexFunc(all, func(e Evidence) bool { return e.Kind == o.Kind && e.Ref == o.Ref })
		if i < 0 {
			all = append(all, o)
			continue
		}
		all[i].Observed = true
		if o.Detail != "" {
			all[i].Detail = o.Detail
		}
	}
	return all
}

// checkEvidence returns an *EvidenceError if evidence that the task requires is missing. What is said about dropped work is none.
func checkEvidence(t *Task, sent []Evidence) error {
	e := &EvidenceError{Task: t.ID}
	for _, s := range sent {
		if !slices.Contains(e.Sent, s.Kind) && s.Ref != DroppedRef {
			e.Sent = append(e.Sent, s.Kind)
		}
	}
	for _, want := range t.Wants {
		if !slices.Contains(e.Sent, want) {
			e.Missing = append(e.Missing, want)
		}
	}
	if len(e.Missing) > 0 {
		return e
	}
	return nil
}
