//go:build unix

package git_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// TestClashes: of the commits of a target, those count whose lines other work changes, too.
func TestClashes(t *testing.T) {
	for name, c := range map[string]struct{ target, work, want string }{
		"the same line":            {"sed -i s/^2$/two/ a; git commit -qam theirs; sed -i s/^8$/eight/ a; git commit -qam later", "sed -i s/^2$/TWO/ a", "theirs"},
		"twice":                    {"sed -i s/^2$/two/ a; git commit -qam theirs; sed -i s/^two$/deux/ a; git commit -qam later", "sed -i s/^2$/TWO/ a", "later"},
		"lines side by side":       {"sed -i s/^2$/two/ a; git commit -qam theirs; sed -i s/^8$/eight/ a; git commit -qam later", "sed -i '2a new' a", "theirs"},
		"before a line":            {"sed -i s/^3$/three/ a; git commit -qam theirs; sed -i s/^8$/eight/ a; git commit -qam later", "sed -i '2a new' a", "theirs"},
		"moved by lines before it": {"sed -i s/^8$/eight/ a; git commit -qam theirs; sed -i '1i new' a; git commit -qam later", "sed -i s/^8$/EIGHT/ a", "theirs"},
		"a file that both have":    {"echo 1 > b; git add b; git commit -qm theirs; echo 2 >> a; git commit -qam later", "echo 2 > b; git add b", "theirs"},
		"deleted":                  {"sed -i /^2$/d a; git commit -qam theirs", "sed -i s/^2$/TWO/ a", ""},
		"elsewhere":                {"sed -i s/^8$/eight/ a; git commit -qam later", "sed -i s/^2$/TWO/ a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			sh(t, dir, `seq 1 9 > a; echo '* diff=evil' > .gitattributes; git add .; git commit -qm base; git config diff.evil.textconv 'touch ran; cat'; git config blame.ignoreRevsFile none
				git switch -qc work; `+c.work+`; git commit -qam work; git switch -q main; git tag base; `+c.target+`; mkfifo .mailmap`)
			commits, err := r.Clashes(t.Context(), sh(t, dir, "git rev-parse base"), sh(t, dir, "git rev-parse main"), sh(t, dir, "git rev-parse work"), []string{"a", "b"})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(commits) > 0 {
				got = sh(t, dir, "git cat-file commit "+commits[0]+" | tail -1")
			}
			if got != c.want {
				t.Errorf("it clashes with %q, not %q", got, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
				t.Error("a program of the repository ran")
			}
		})
	}
}

// TestTouched: a file counts that was changed back, and one of a merged branch; what a merge changes does not.
func TestTouched(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `echo a > a; git add a; git commit -qm base; git switch -qc work; echo b > a; git commit -qam b; echo a > a; git commit -qam a
		git switch -qc side main; echo s > 'side
file'; git add .; git commit -qm side; git switch -q work; git merge -q --no-commit side; echo m > m; git add m; git commit -qm merged; git switch -q main; echo t > t; git add t; git commit -qm theirs`)
	got, err := r.Touched(t.Context(), sh(t, dir, "git rev-parse main"), sh(t, dir, "git rev-parse work"))
	if want := map[string]bool{"a": true, "side\nfile": true}; err != nil || !maps.Equal(got, want) {
		t.Errorf("Touched() = %v, %v; want %v", got, err, want)
	}
	if none, err := r.Touched(t.Context(), sh(t, dir, "git rev-parse main"), sh(t, dir, "git rev-parse main~1")); err != nil || len(none) > 0 {
		t.Errorf("of what is in the other commit: %v, %v", none, err)
	}
}
