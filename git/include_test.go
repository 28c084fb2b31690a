package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInclude: what is named and ignored is copied, and nothing else, by no symbolic link, and not
// over what git knows.
func TestInclude(t *testing.T) {
	r, dir := newRepo(t)
	out := filepath.Join(filepath.Dir(dir), "out")
	sh(t, dir, `mkdir ../out && echo secret > ../out/secret
		printf '.env\nsecrets/\nlinked\nlink\npipe\nnested\nlater\nup\nhard\n*.key\n' > .gitignore
		printf '# comments\n.env\n/secrets/\nlinked\nlink\npipe\nnested\nlater\none\nloose\nup\nhard\n*.key\n!no.key\n' > .worktreeinclude
		echo known > known.key && git add -f known.key .gitignore && git commit -qm two
		echo A=1 > .env && chmod 600 .env && mkdir -p secrets/deep web && echo k > secrets/deep/key && echo B=2 > web/.env
		echo loose > loose && echo x > no.key && echo z > only.key && echo x > later && echo x > hard
		ln -s ../out/secret link && ln -s ../out linked && mkfifo pipe && mkdir up && echo x > up/file
		git init -q nested && echo x > nested/file`)
	w, err := r.AddWorktree(t.Context(), filepath.Join(filepath.Dir(dir), "tree"), "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	tree := w.Root
	// What an agent has left, and a commit that ignores less.
	sh(t, tree, `printf 'secrets/\n.env\nlinked\nlink\npipe\nnested\nup\nhard\n*.key\n' > .gitignore && git commit -qam three
		ln -s ../out up && ln -s ../../out/target web && echo mine > ../out/hard && ln ../out/hard hard && touch -d 2000-01-01 hard`)
	left, err := w.Include(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		".env": "A=1\n", "secrets/deep/key": "k\n", "only.key": "z\n", "hard": "x\n",
		"loose": "", "no.key": "", "link": "", "linked": "", "pipe": "", "nested/file": "", "later": "",
		"../out/file": "", "../out/target": "", "../out/hard": "mine\n", "known.key": "known\n",
	} {
		text, err := os.ReadFile(filepath.Join(tree, path))
		if string(text) != want || want != "" && err != nil {
			t.Errorf("%s has %q, %v; want %q", path, text, err, want)
		}
	}
	if info, err := os.Stat(filepath.Join(tree, ".env")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf(".env: %v, %v", info, err)
	}
	if entries, _ := os.ReadDir(out); len(entries) != 2 {
		t.Errorf("outside there is %v", entries)
	}
	for _, want := range []string{`"later": git does not ignore it here`, `"up/file": a symbolic link`, `"web/.env": a symbolic link`, `"link": it is not a regular file`, `"linked": it is not`} {
		if !strings.Contains(strings.Join(left, "\n"), want) {
			t.Errorf("left out is\n%s\nwant %s", strings.Join(left, "\n"), want)
		}
	}
	if got := sh(t, tree, "rm up web && git status --short"); got != "" {
		t.Errorf("git sees %s", got)
	}

	// What was changed stays, until it is older than its source.
	sh(t, tree, "echo A=2 > .env && rm only.key")
	if _, err := w.Include(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, tree, "cat .env only.key"); got != "A=2\nz" {
		t.Errorf("the second time there is %q", got)
	}
	sh(t, dir, "echo A=3 > .env && touch -d 2100-01-01 .env")
	if _, err := w.Include(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, tree, "cat .env"); got != "A=3" {
		t.Errorf("the third time there is %q", got)
	}
}

// TestInclude_file: the file of patterns is not read through a link, and it need not be there.
func TestInclude_file(t *testing.T) {
	r, dir := newRepo(t)
	w, err := r.AddWorktree(t.Context(), filepath.Join(filepath.Dir(dir), "tree"), "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := w.Include(t.Context(), r); err != nil || left != nil {
		t.Errorf("without a file: %q, %v", left, err)
	}
	for _, script := range []string{"ln -s /etc/hostname .worktreeinclude", "rm .worktreeinclude && mkfifo .worktreeinclude"} {
		sh(t, dir, script)
		if _, err := w.Include(t.Context(), r); err == nil {
			t.Errorf("%s: no error", script)
		}
	}
}

func TestInclude_limits(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `echo many > .gitignore && cp .gitignore .worktreeinclude && git add . && git commit -qm two
		mkdir many && cd many && truncate -s 300M a && truncate -s 200M b && truncate -s 100M c && seq 2005 | while read n; do echo $n > f$n; done`)
	w, err := r.AddWorktree(t.Context(), filepath.Join(filepath.Dir(dir), "tree"), "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	left, err := w.Include(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(w.Root, "many"))
	if err != nil || len(entries) != 2000 || entries[0].Name() != "b" || entries[1].Name() != "f1" || len(left) != 8 {
		t.Errorf("%d files were copied, %v; left out %q", len(entries), err, left)
	}
}
