package git_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// A diff that was told is compared with the commits: no lie passes, and another way to tell the same does.
func TestRepo_Unshown(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `seq 40 > a; printf 'one\ntwo' > b; seq 30000 > c; printf 'x\0y' > bin; seq 20 > moved; echo k > kind; seq 9 > sum
		git add . && git commit -qm base && git tag base
		sed -i 's/^20$/twenty/; s/^35$/thirty-five/' a; printf 'one\nthree\ntwo' > b; seq 2 30001 | tac > c; printf 'x\0z' > bin; git mv moved gone; echo 21 >> gone
		rm kind; ln -s a kind; printf 'l\351g\n' > latin; : > empty; for f in s1 s2 s3; do seq 300 > $f; done; chmod +x sum; git add . && git commit -qm work`)
	base, tip := sh(t, dir, "git rev-parse base"), sh(t, dir, "git rev-parse HEAD")
	limit := git.DiffLimit{Files: 100, Patch: 2000, All: 2500}
	honest, more, err := r.Diff(t.Context(), base, tip, limit)
	if err != nil {
		t.Fatal(err)
	}
	at := func(list []git.FileDiff, path string) *git.FileDiff {
		n := slices.IndexFunc(list, func(d git.FileDiff) bool { return d.Path == path })
		if n < 0 {
			t.Fatalf("no %s in %s", path, show(list))
		}
		return &list[n]
	}
	if at(honest, "c").Left != "large" || at(honest, "s3").Left != "more" || at(honest, "bin").Left != "binary" {
		t.Fatalf("the limits are not met: %s", show(honest))
	}
	for name, x := range map[string]struct {
		change func(list []git.FileDiff) []git.FileDiff
		more   int
		want   string
	}{
		"honest": {nil, more, ""},
		"another line above a hunk": {func(list []git.FileDiff) []git.FileDiff {
			d := at(list, "a")
			d.Patch = strings.Replace(d.Patch, " @@\n", " @@ 13\n", 1)
			return list
		}, more, ""},
		"an invented line above a hunk": {func(list []git.FileDiff) []git.FileDiff {
			d := at(list, "a")
			d.Patch = strings.Replace(d.Patch, " @@\n", " @@ harmless\n", 1)
			return list
		}, more, "a"},
		"other lines, the same change": {func(list []git.FileDiff) []git.FileDiff {
			d := at(list, "b")
			d.Patch, d.Added, d.Removed = "@@ -2 +2,2 @@\n-two\n\\ No newline at end of file\n+three\n+two\n\\ No newline at end of file\n", 2, 1
			return list
		}, more, ""},
		"other lines, wrong numbers": {func(list []git.FileDiff) []git.FileDiff {
			d := at(list, "b")
			d.Patch, d.Added, d.Removed = "@@ -2 +2,2 @@\n-two\n\\ No newline at end of file\n+three\n+two\n\\ No newline at end of file\n", 0, 0
			return list
		}, more, "b"},
		"another line": {func(list []git.FileDiff) []git.FileDiff {
			d := at(list, "b")
			d.Patch = strings.Replace(d.Patch, "three", "friendly", 1)
			return list
		}, more, "b"},
		"half of it": {func(list []git.FileDiff) []git.FileDiff {
			d := at(list, "a")
			d.Patch = d.Patch[:strings.LastIndex(d.Patch, "@@ -")]
			return list
		}, more, "a"},
		"said to be large": {func(list []git.FileDiff) []git.FileDiff {
			d := at(list, "a")
			d.Patch, d.Left = "", "large"
			return list
		}, more, "a"},
		"said to be binary": {func(list []git.FileDiff) []git.FileDiff {
			d := at(list, "a")
			d.Patch, d.Left = "", "binary"
			return list
		}, more, "a"},
		"no patch":     {func(list []git.FileDiff) []git.FileDiff { at(list, "a").Patch = ""; return list }, more, "a"},
		"another mode": {func(list []git.FileDiff) []git.FileDiff { at(list, "sum").Mode = ""; return list }, more, "sum"},
		"another name": {func(list []git.FileDiff) []git.FileDiff { at(list, "gone").From = "b"; return list }, more, "gone"},
		"a type":       {func(list []git.FileDiff) []git.FileDiff { at(list, "kind").Kind = "M"; return list }, more, "kind"},
		"one less":     {func(list []git.FileDiff) []git.FileDiff { return list[1:] }, more, "a"},
		"none":         {func([]git.FileDiff) []git.FileDiff { return nil }, more, "a"},
		"one more": {func(list []git.FileDiff) []git.FileDiff {
			return append(list, git.FileDiff{Path: "zero", Kind: "A", Patch: "@@ -0,0 +1 @@\n+x\n", Added: 1})
		}, more, "zero"},
		"further files": {nil, more + 1, "…"},
	} {
		list := slices.Clone(honest)
		if x.change != nil {
			list = x.change(list)
		}
		if got, err := r.Unshown(t.Context(), base, tip, list, x.more, limit); err != nil || got != x.want {
			t.Errorf("%s: Unshown() = %q, %v; want %q", name, got, err, x.want)
		}
	}
	if got, err := r.Unshown(t.Context(), "", base, nil, 0, limit); err != nil || got == "" {
		t.Errorf("from nothing: Unshown() = %q, %v", got, err)
	}
}

// Patches of anybody are read.
func FuzzApplied(f *testing.F) {
	f.Add("1\n2\n3\n", "@@ -2 +2,2 @@ 1\n-2\n+x\n+y\n")
	f.Add("", "@@ -0,0 +1 @@\n+1\n\\ No newline at end of file\n")
	f.Add("1", "@@ -1 +0,0 @@\n-1\n\\ No newline at end of file\n")
	f.Fuzz(func(t *testing.T, old, patch string) {
		if made, added, removed, ok := git.Applied(old, patch); ok && (added < 0 || removed < 0 || len(made) > len(old)+len(patch)) {
			t.Errorf("Applied(%q, %q) = %q, %d, %d", old, patch, made, added, removed)
		}
	})
}
