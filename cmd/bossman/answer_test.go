package main

import (
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// TestChosen: what a person types chooses one option, or none.
func TestChosen(t *testing.T) {
	words, numbers := []string{"yes", "no"}, []string{"2", "none"}
	for _, test := range []struct {
		options    []string
		text, want string // empty: a mistake
	}{
		{nil, "2", "2"},
		{words, "2", "no"},
		{words, "#2", "no"},
		{words, "no", "no"},
		{words, "maybe", "maybe"},
		{words, "3", ""},
		{numbers, "2", ""}, // the option, or its neighbour
		{numbers, "#2", "none"},
		{numbers, "#1", "2"},
		{numbers, "1", "2"},
		{[]string{"1", "2"}, "2", "2"},
		{[]string{"8", "16"}, "16", "16"},
	} {
		got, err := chosen(board.Question{ID: 1, Options: test.options}, test.text)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%q of %q: %q, %v; want %q", test.text, test.options, got, err, test.want)
		}
	}
}
