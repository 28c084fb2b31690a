package boardcli

import (
	"testing"

	"github.com/bossman-dev/bossman/board"
)

func TestLacks(t *testing.T) {
	d := board.Diff{Files: []board.FileDiff{
		{Path: "a.go", Kind: "M", Patch: "@@ -1,3 +1,4 @@\n a\n+b\n c\n d\n@@ -20 +21 @@ func f()\n-x\n+y\n@@ -40,2 +40,0 @@\n-x\n-y\n"},
		{Path: "gone", Kind: "D", Patch: "@@ -1 +0,0 @@\n-x\n"},
		{Path: "moved", From: "old", Kind: "R"},
		{Path: "long", Kind: "M", Left: "large"},
	}}
	for place, want := range map[string]string{
		"a.go":     "",
		"a.go:4":   "",
		"a.go:21":  "",
		"a.go:5":   `line 5 of "a.go" is not in the diff; of that file it has lines 1–4, line 21, what was deleted after line 40`,
		"a.go:41":  `line 41 of "a.go" is not in the diff; of that file it has lines 1–4, line 21, what was deleted after line 40`,
		"gone":     "",
		"gone:1":   `"gone" was deleted, and has no line 1; comment on the file as a whole`,
		"moved":    "",
		"moved:1":  `no line of "moved" was changed; comment on the file as a whole`,
		"long:99":  "",
		"old":      `the work has not changed "old"; it has changed "a.go", "gone", "moved", "long"`,
		"./a.go:1": `the work has not changed "./a.go"; it has changed "a.go", "gone", "moved", "long"`,
	} {
		if got := lacks(d, board.CommentOn(place, "why?")); got != want {
			t.Errorf("lacks(%s) = %q, want %q", place, got, want)
		}
	}
	d.More = 1
	if got := lacks(d, board.CommentOn("another", "why?")); got != "" {
		t.Errorf("of a diff that does not name all files: %q", got)
	}
}
