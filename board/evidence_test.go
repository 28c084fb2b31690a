package board

import "testing"

// What Bossman says about dropped work is not the evidence that a task requires.
func TestCheckEvidence_dropped(t *testing.T) {
	task := &Task{Wants: []EvidenceKind{EvidenceOther}}
	dropped := Evidence{Kind: EvidenceOther, Ref: DroppedRef, Detail: "commit 123 changed x"}
	if err := checkEvidence(task, []Evidence{dropped}); err == nil {
		t.Error("dropped work is taken for evidence")
	}
	if err := checkEvidence(task, []Evidence{dropped, {Kind: EvidenceOther, Ref: "a photo"}}); err != nil {
		t.Error(err)
	}
}
