package tools

import "testing"

// TestWithVerbs_withoutRow: a tool that the table of verbs does not have does not
// start, since nobody would know who may call it.
func TestWithVerbs_withoutRow(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a tool without a verb was accepted")
		}
	}()
	withVerbs(&definition{name: "nosuch"})
}
