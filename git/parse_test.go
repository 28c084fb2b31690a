package git

import (
	"slices"
	"strings"
	"testing"
)

// FuzzParseMerge: what git merge-tree writes is a tree, or a tree and files, or an error.
func FuzzParseMerge(f *testing.F) {
	tree := strings.Repeat("a", 40)
	for _, out := range []string{
		tree + "\x00", tree + "\n", tree + "\x00f\x00odd\nname\x00\x001\x00f\x00Auto-merging\x00Auto-merging f\n\x00",
		tree + "\x00\x002\x00d\x00e\x00CONFLICT (directory rename split)\x00text\n\x00", tree + "\x00\x0099\x00d\x00", tree + "\x00\x00-1\x00d\x00e\x00f\x00", "", "\x00", "fatal",
	} {
		f.Add(out, true)
		f.Add(out, false)
	}
	f.Fuzz(func(t *testing.T, out string, conflict bool) {
		tree, files, err := parseMerge(out, conflict)
		switch {
		case err != nil && (tree != "" || files != nil):
			t.Errorf("%q, %q and %v", tree, files, err)
		case err == nil && (!IsObject(tree) || conflict != (len(files) > 0)):
			t.Errorf("tree %q, files %q", tree, files)
		case !slices.IsSorted(files) || slices.Contains(files, "\x00"):
			t.Errorf("files %q", files)
		}
	})
}

// FuzzReadCommit: an author that is read can be given to git as variables.
func FuzzReadCommit(f *testing.F) {
	f.Add("tree x\nauthor A U Thor <a@example.org> 1700000000 +0130\ncommitter C <c> 1 +0000\nencoding ISO-8859-1\ngpgsig -----BEGIN\n x\n\nsubject\n\nbody\n")
	f.Add("author <> 1 +0000\n\n")
	f.Add("author .,; <x> 99999999999999 +0000\n\nx")
	f.Add("\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		rec := readCommit(text)
		for _, v := range rec.author.env() {
			if strings.ContainsAny(v, "\x00\n<>") {
				t.Errorf("variable %q", v)
			}
		}
		if !strings.HasSuffix(text, rec.message) || strings.ContainsAny(rec.encoding, "\x00\n") {
			t.Errorf("%q", rec)
		}
	})
}
