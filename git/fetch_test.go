package git_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFetch_links: no ref and no log is written that the call does not name, and none through a symbolic link, also
// if the link is made while git fetches or pushes.
func TestFetch_links(t *testing.T) {
	all := func(string) bool { return true }
	link := func(dir, name, to string) string {
		return `mkdir -p ` + dir + `/.git/logs/` + filepath.Dir(name) + `; ln -sf ` + to + ` ` + dir + `/.git/logs/` + name
	}
	for name, test := range map[string]struct {
		prepare func(dir, to string) string
		fails   bool // the fetch
	}{
		"another refspec": {func(dir, to string) string {
			return `git config --add remote.origin.fetch '+refs/heads/main:refs/evil/a'; git config core.logAllRefUpdates always; git update-ref refs/evil/a HEAD~1; rm .git/logs/refs/evil/a; ` + link(dir, "refs/evil/a", to)
		}, false},
		"meanwhile": {func(dir, to string) string {
			return `printf '#!/bin/sh\n` + link(dir, "refs/remotes/origin/main", to) + `\nexec git-upload-pack "$@"\n' > .git/up; chmod +x .git/up; git config remote.origin.uploadpack "$PWD/.git/up"`
		}, true},
		"at a push": {func(dir, to string) string {
			return `printf '#!/bin/sh\n` + link(dir, "refs/remotes/origin/main", to) + `\n' > .git/hooks/pre-push; chmod +x .git/hooks/pre-push`
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir, bare, other := newClone(t)
			precious := filepath.Join(t.TempDir(), "precious")
			if err := os.WriteFile(precious, []byte("mine\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			sh(t, other, "git commit -q --allow-empty -m more && git push -q")
			sh(t, dir, test.prepare(dir, precious))
			evil := sh(t, dir, "git rev-parse -q --verify refs/evil/a || true")
			if _, err := r.FetchBranch(t.Context(), "origin", "main", all); (err != nil) != test.fails {
				t.Errorf("FetchBranch = %v", err)
			}
			sh(t, dir, "rm -f .git/logs/refs/remotes/origin/main; git update-ref refs/remotes/origin/main $(git -C ../origin.git rev-parse main); git merge -q -m m origin/main")
			tip := commitOf(t, dir, "main")
			if err := r.Push(t.Context(), "origin", tip, "refs/heads/main", all); err != nil || commitOf(t, bare, "main") != tip {
				t.Errorf("Push = %v", err)
			}
			if got, _ := os.ReadFile(precious); string(got) != "mine\n" {
				t.Errorf("the file has %q", got)
			}
			if got := sh(t, dir, "git rev-parse -q --verify refs/evil/a || true"); got != evil {
				t.Errorf("refs/evil/a is %q, was %q", got, evil)
			}
			if name == "another refspec" && commitOf(t, dir, "origin/main") != tip {
				t.Error("origin/main is not what was pushed")
			}
		})
	}
}

// TestGrafts: what the history is, no file of the repository says.
func TestGrafts(t *testing.T) {
	r, dir, _, _ := newClone(t)
	first, tip := commitOf(t, dir, "main~1"), commitOf(t, dir, "main")
	sh(t, dir, "echo "+first+" "+tip+" > .git/info/grafts; echo "+tip+" >> .git/info/grafts")
	if has, err := r.Contains(t.Context(), tip, first); !has || err != nil {
		t.Errorf("Contains = %v, %v", has, err)
	}
	if base, err := r.MergeBase(t.Context(), first, tip); base != first || err != nil {
		t.Errorf("MergeBase = %s, %v", base, err)
	}
}
