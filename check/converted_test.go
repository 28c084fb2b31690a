//go:build unix

package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/bossman-dev/bossman/check"
)

// TestCheck_converted: files that git stores as the same tree are judged again if they are not the
// same bytes. What was judged just so is not run again.
func TestCheck_converted(t *testing.T) {
	for name, c := range map[string]struct{ before, line, change, back string }{
		"text=auto":             {"printf '* text=auto\n' > .gitattributes", "! grep -q $(printf '\\r') one", "printf 'one\\r\\n' > one", "printf 'one\\n' > one"},
		"eol=crlf":              {"printf 'one eol=crlf\n' > .gitattributes", "! grep -q $(printf '\\r') one", "printf 'one\\r\\n' > one", "printf 'one\\n' > one"},
		"core.autocrlf":         {"git config core.autocrlf input", "! grep -q $(printf '\\r') one", "printf 'one\\r\\n' > one", "printf 'one\\n' > one"},
		"core.symlinks":         {"ln -s one link; git add link; git config core.symlinks false", "test -L link", "rm link; printf one > link", "rm link; ln -s one link"},
		"core.fileMode":         {"git config core.fileMode false; chmod +x one; git add one; git update-index --chmod=+x one", "test -x one", "chmod -x one", "chmod +x one"},
		"ident":                 {"printf 'one ident\n' > .gitattributes; echo '$Id$' > one", "! grep -q forged one", "echo '$Id: forged $' > one", "echo '$Id$' > one"},
		"working-tree-encoding": {"printf 'one working-tree-encoding=UTF-16\n' > .gitattributes; printf '\\377\\376o\\0' > one", "head -c 1 one | grep -q $(printf '\\377')", "printf '\\376\\377\\0o' > one", "printf '\\377\\376o\\0' > one"},
		"a filter":              {"git config filter.lower.clean 'tr A-Z a-z'; printf 'one filter=lower\n' > .gitattributes", "! grep -q ONE one", "echo ONE > one", "echo one > one"},
		"a sparse checkout":     {"echo two > two; git add two; git -c user.name=Ada -c user.email=a@b commit -qm two", "test -f two", "git update-index --skip-worktree two; rm two", "git update-index --no-skip-worktree two; echo two > two"},
	} {
		t.Run(name, func(t *testing.T) {
			repo := newRepo(t)
			count := filepath.Join(t.TempDir(), "count")
			do := func(script string) {
				t.Helper()
				cmd := exec.Command("sh", "-ec", script)
				cmd.Dir = repo.Root
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", script, err, out)
				}
			}
			do(c.before)
			r := newRunner(t, nil)
			k := shell("echo run >> " + count + "; LC_ALL=C; export LC_ALL; " + c.line)
			k.Filters = func(string) bool { return true }
			first := verdict(t, begin(t, r, repo, k))
			if first.Result != check.Green {
				t.Fatalf("before: %+v", first)
			}
			do(c.change)
			second := verdict(t, begin(t, r, repo, k))
			if second.Tree != first.Tree {
				t.Fatalf("git stores another tree: %s, before %s", second.Tree, first.Tree)
			}
			if second.Result != check.Red {
				t.Errorf("other files with the same tree: %+v, want red", second)
			}
			do(c.back)
			if v := verdict(t, begin(t, r, repo, k)); v.Result != check.Green || v.Flaky {
				t.Errorf("the first files again: %+v, want green", v)
			}
			wantRuns(t, count, 2)
		})
	}
}

// TestCheck_convertedMeanwhile: a file that is other bytes after the check than before has changed,
// also if git stores both alike.
func TestCheck_convertedMeanwhile(t *testing.T) {
	repo := newRepo(t)
	write(t, filepath.Join(repo.Root, ".gitattributes"), "* text=auto\n")
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	run := begin(t, newRunner(t, nil), repo, shell("echo begun > "+fifo+"; cat "+fifo))
	if _, err := os.ReadFile(fifo); err != nil { // it has begun
		t.Fatal(err)
	}
	write(t, filepath.Join(repo.Root, "one"), "one\r\n")
	write(t, fifo, "go on\n")
	if v := verdict(t, run); v.Result != check.Changed || !slices.Equal(v.Paths, []string{"one"}) {
		t.Errorf("verdict %+v, want one to have changed", v)
	}
}
