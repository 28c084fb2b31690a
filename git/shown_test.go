package git_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	f.Add("", "@@ -0,0 +1,2 @@\n+a // b\n\\\n+c\n")
	f.Add("1\n2\n", "@@ -1,2 +1,2 @@\n 1\n\\ No newline at end of file\n-2\n+3\n")
	f.Fuzz(func(t *testing.T, old, patch string) {
		made, added, removed, ok := git.Applied(old, patch)
		if ok && (added < 0 || removed < 0 || len(made) > len(old)+len(patch)) {
			t.Errorf("Applied(%q, %q) = %q, %d, %d", old, patch, made, added, removed)
		}
		if line, all := shownLines(patch, made); ok && !all {
			t.Errorf("Applied(%q, %q) = %q, which does not have the line %q", old, patch, made, line)
		}
	})
}

// shownLines reports whether a file has the lines of its new side that a patch shows, in their order, or returns the
// first that it does not have.
func shownLines(patch, made string) (string, bool) {
	lines := slices.Collect(strings.Lines(made))
	for line := range strings.Lines(patch) {
		if line[0] != '+' && line[0] != ' ' {
			continue
		}
		n := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSuffix(l, "\n") == strings.TrimSuffix(line[1:], "\n") })
		if n < 0 {
			return line, false
		}
		lines = lines[n+1:]
	}
	return "", true
}

// Patches that git makes apply, and with a note "no newline" at another place they do not.
func TestApplied_git(t *testing.T) {
	const files = 200
	r, dir := newRepo(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	texts := [2][files]string{}
	write := func(side int) {
		for n := range files {
			var b strings.Builder
			for range rnd.IntN(12) {
				b.WriteString([]string{"a", "b", "\\ No newline at end of file", "+", "-", "", " x", "@@ -1 +1 @@", "c\r"}[rnd.IntN(9)] + "\n")
			}
			text := b.String()
			if rnd.IntN(2) == 0 {
				text = strings.TrimSuffix(text, "\n")
			}
			texts[side][n] = text
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%03d", n)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		sh(t, dir, "git add . && git commit -q --allow-empty -m x")
	}
	write(0)
	base := sh(t, dir, "git rev-parse HEAD")
	write(1)
	list, _, err := r.Diff(t.Context(), base, sh(t, dir, "git rev-parse HEAD"), git.DiffLimit{Files: files, Patch: 1 << 20, All: 1 << 24})
	if err != nil || len(list) < files/2 {
		t.Fatalf("Diff = %d files, %v", len(list), err)
	}
	for _, d := range list {
		var n int
		if _, err := fmt.Sscanf(d.Path, "f%d", &n); err != nil {
			t.Fatal(err)
		}
		old, new := texts[0][n], texts[1][n]
		if d.Kind != "M" {
			continue
		}
		if made, added, removed, ok := git.Applied(old, d.Patch); !ok || made != new || added != d.Added || removed != d.Removed {
			t.Errorf("Applied(%q, %q) = %q, %d, %d, %v; want %q, %d, %d", old, d.Patch, made, added, removed, ok, new, d.Added, d.Removed)
		}
		lines := slices.Collect(strings.Lines(d.Patch))
		for at := 1; at <= len(lines); at++ {
			for _, note := range []string{"\\ No newline at end of file\n", "\\\n", "\\ no newline\n"} {
				told := strings.Join(slices.Insert(slices.Clone(lines), at, note), "")
				if made, _, _, ok := git.Applied(old, told); ok && made == new {
					t.Errorf("Applied(%q, %q) made the new file", old, told)
				}
			}
		}
	}
}
