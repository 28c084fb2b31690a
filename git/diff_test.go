package git_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// show writes a diff, a file each.
func show(list []git.FileDiff) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "%s %s", d.Kind, d.Path)
		if d.From != "" {
			fmt.Fprintf(&b, " from %s", d.From)
		}
		fmt.Fprintf(&b, " +%d -%d %d %s", d.Added, d.Removed, d.Size, d.Left)
		if d.Mode != "" {
			fmt.Fprintf(&b, " %s", d.Mode)
		}
		b.WriteString("\n" + d.Patch)
	}
	return b.String()
}

// A diff has every kind of change. What the repository's attributes and configuration say hides nothing
// of it, and runs nothing.
func TestRepo_Diff(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `printf '1\n2\n3\n4\n5\n6\n7\n8\n9\n' > moved; echo old > gone; echo same > mode; echo text > kind; echo x > edited; echo m > merged
		git add . && git commit -qm base && git tag base
		git mv moved 'sub dir' ; echo 10 >> 'sub dir'; git rm -q gone; chmod +x mode; ln -sf kind2 l && rm kind && ln -s one kind; printf 'x\ny' > edited
		printf '* -diff\n*.bin diff=evil\n' > .gitattributes; printf 'a\0b' > b.bin; printf 'l\351g\n' > latin; : > empty
		printf 'tricky\n' > "$(printf 'a\nb"\ndiff --git x')"
		head -c 1100000 /dev/zero | tr '\0' 'x' > large
		git config diff.evil.textconv 'touch ran; cat' && git config diff.evil.command 'touch ran' && git config diff.external 'touch ran' && git config diff.noprefix true && git config diff.renames copies
		git add . && git commit -qm work`)
	list, more, err := r.Diff(t.Context(), sh(t, dir, "git rev-parse base"), sh(t, dir, "git rev-parse HEAD"), git.DiffLimit{Files: 100, Patch: 64 << 10, All: 512 << 10})
	if err != nil || more != 0 {
		t.Fatal(more, err)
	}
	want := `A .gitattributes +2 -0 24 
@@ -0,0 +1,2 @@
+* -diff
+*.bin diff=evil
A a
b"
diff --git x +1 -0 7 
@@ -0,0 +1 @@
+tricky
A b.bin +0 -0 3 binary
M edited +1 -0 3 
@@ -1 +1,2 @@
 x
+y
\ No newline at end of file
A empty +0 -0 0 
D gone +0 -1 0 
@@ -1 +0,0 @@
-old
T kind +1 -1 3  120000
@@ -1 +0,0 @@
-text
@@ -0,0 +1 @@
+one
\ No newline at end of file
A l +1 -0 5  120000
@@ -0,0 +1 @@
+kind2
\ No newline at end of file
A large +0 -0 1100000 large
A latin +1 -0 4 
@@ -0,0 +1 @@
+l` + "\uFFFD" + `g
M mode +0 -0 5  100755
R sub dir from moved +1 -0 21 
@@ -7,3 +7,4 @@
 7
 8
 9
+10
`
	if got := show(list); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if ran := sh(t, dir, "git ls-files -o; ls ran 2>&1 | grep -c ran$ || true"); ran != "0" {
		t.Errorf("something ran: %s", ran)
	}
}

// What is too long is named, and not shown.
func TestRepo_Diff_limits(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `git tag base; for f in a b c d e; do seq 100 > $f; done; seq 1000 > c; git add . && git commit -qm work`)
	base, tip := sh(t, dir, "git rev-parse base"), sh(t, dir, "git rev-parse HEAD")
	list, more, err := r.Diff(t.Context(), base, tip, git.DiffLimit{Files: 4, Patch: 1000, All: 1000})
	if err != nil || more != 1 {
		t.Fatal(more, err)
	}
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprintf("%s %d %s", d.Path, d.Added, d.Left))
		if (d.Patch == "") != (d.Left != "") {
			t.Errorf("%s: left %q, patch of %d", d.Path, d.Left, len(d.Patch))
		}
	}
	if s := strings.Join(got, ", "); s != "a 100 , b 100 , c 1000 large, d 100 more" {
		t.Error(s)
	}
	// The first commit has a base, too: nothing.
	if list, _, err = r.Diff(t.Context(), "", base, git.DiffLimit{Files: 4, Patch: 1000, All: 1000}); err != nil || len(list) != 1 || list[0].Kind != "A" {
		t.Errorf("from nothing: %s, %v", show(list), err)
	}
}
