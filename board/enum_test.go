package board

import (
	"errors"
	"testing"
)

// What is printed as a word of ours is one, also if it comes from a server or a file.
func TestDecodeWord(t *testing.T) {
	for _, text := range []string{
		`{"Task":{"Status":"done\u001b[31m"}}`, `{"Events":[{"Kind":"note\nbossman: forged"}]}`, `{"Events":[{"Detail":{"By":"person\u202e"}}]}`,
		`{"Questions":[{"State":"Open"}]}`, `{"Attempts":[{"Cause":"x y"}]}`, `{"Doc":{"Result":{"Evidence":[{"Kind":"pr\u200b"}]}}}`,
	} {
		var d Dossier
		if err := decode(text, &d); !errors.Is(err, ErrInvalid) {
			t.Errorf("decode(%s) = %v, want ErrInvalid", text, err)
		}
	}
	var d Dossier
	if err := decode(`{"Task":{"Status":"on_hold-2"},"Events":[{"Kind":""}]}`, &d); err != nil || d.Task.Status != "on_hold-2" {
		t.Errorf("a word of a newer program: %q, %v", d.Task.Status, err)
	}
}
