package main

import (
	"slices"
	"testing"
)

// An export and that of its import are equal but for the names and the import's own event,
// and other differences are found.
func TestNormalized(t *testing.T) {
	const (
		before = `{"type":"project","source":"a"}
{"type":"task","id":"web-1","title":"one","created_by":"ada","result":{"summary":"done"}}
{"type":"task","id":"web-2","title":"open"}
{"type":"attempt","claim":"web-1/1.abcde","worker":"otter"}
{"type":"event","task":"web-1","seq":1,"kind":"created","actor":"ada"}
{"type":"event","task":"web-2","seq":1,"kind":"created","actor":"ada"}
`
		after = `{"type":"project","source":"b"}
{"type":"task","id":"web-1","title":"one","created_by":"import: ada","result":{"summary":"done","import":"x"}}
{"type":"attempt","claim":"web-1/1.abcde","worker":"imported"}
{"type":"event","task":"web-1","seq":1,"kind":"imported"}
{"type":"event","task":"web-1","seq":2,"kind":"created","actor":"import: ada"}
`
		other = `{"type":"task","id":"web-1","title":"one","result":{"summary":"done"}}
{"type":"event","task":"web-1","seq":2,"kind":"created"}
`
	)
	got, tasks, err := normalized([]byte(after), nil)
	if err != nil || len(tasks) != 1 || !tasks["web-1"] || len(got) != 3 {
		t.Fatalf("%q, %v, %v", got, tasks, err)
	}
	if want, _, err := normalized([]byte(before), tasks); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
	if less, _, err := normalized([]byte(other), tasks); err != nil || slices.Equal(got, less) {
		t.Errorf("a lost attempt is not noticed: %q, %v", less, err)
	}
}
