package tools

import (
	"encoding/json"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// What a form offers as the answer has nothing hidden, with options or without.
func TestAnswerForm_default(t *testing.T) {
	const hidden = "no\u200b\n\u202eyes"
	for name, q := range map[string]board.Question{
		"options": {Text: "Delete it?", Options: []string{hidden, "yes"}, Default: hidden},
		"free":    {Text: "Delete it?", Default: hidden},
	} {
		var schema struct {
			Properties map[string]struct {
				Default string
				Enum    []string
			}
		}
		if err := json.Unmarshal(answerForm(q).RequestedSchema, &schema); err != nil {
			t.Fatal(err)
		}
		if p := schema.Properties["answer"]; p.Default != visible.Line(hidden) {
			t.Errorf("%s: the default is %q, want %q", name, p.Default, visible.Line(hidden))
		}
	}
}
