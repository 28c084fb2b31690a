package git_test

import (
	"cmp"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// TestCheckout: a worktree is reused for one piece of work after the other, whatever state the
// last one left.
func TestCheckout(t *testing.T) {
	r, dir := newRepo(t)
	first := r.Branch("main")
	canary := filepath.Join(filepath.Dir(dir), "canary")
	sh(t, dir, "echo ignored > .gitignore && git add . && git commit -qm ignore && printf '#!/bin/sh\\ntouch "+canary+"\\n' > .git/hooks/post-checkout && chmod +x .git/hooks/post-checkout")
	slot := filepath.Join(filepath.Dir(dir), "repo.worktrees", "one")
	w, err := r.AddWorktree(t.Context(), slot, r.Branch("main"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if head, err := w.Head(); err != nil || head.Branch != "" || head.Commit != r.Branch("main") {
		t.Errorf("the new worktree has %+v, %v; want the commit of main and no branch", head, err)
	}
	if err := w.Checkout(t.Context(), "bossman/web-1", first, false, nil); err != nil {
		t.Fatal(err)
	}
	// A merge with conflicts, a lock, new files and a repository inside.
	sh(t, slot, "echo two > one && git commit -qam two && git checkout -q -b other HEAD~1 && echo three > one && git commit -qam three && (git merge -q bossman/web-1 || true)"+
		" && echo new > new && mkdir inside && cd inside && git init -q . && cd .. && echo x > ignored && touch \"$(git rev-parse --git-dir)/index.lock\" && rm "+canary)
	if err := w.Checkout(t.Context(), "bossman/web-2", "main", false, nil); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, slot, "git status --porcelain --branch; ls"); got != "## bossman/web-2\nignored\none" {
		t.Errorf("after the next checkout:\n%s", got)
	}
	if err := w.Checkout(t.Context(), "", "main", true, nil); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, slot, "git status --porcelain --branch; ls"); got != "## HEAD (no branch)\none" {
		t.Errorf("without a branch and ignored files:\n%s", got)
	}
	if _, err := os.Lstat(canary); err == nil {
		t.Error("a hook of the repository ran")
	}
}

// TestAddWorktree_filters: a filter of the repository's own configuration runs if it is accepted.
func TestAddWorktree_filters(t *testing.T) {
	r, dir := newRepo(t)
	canary := filepath.Join(filepath.Dir(dir), "canary")
	sh(t, dir, "echo '* filter=f' > .gitattributes && git add . && git commit -qm attributes && git config filter.f.smudge 'touch "+canary+"; cat'")
	slot := filepath.Join(filepath.Dir(dir), "slot")
	_, err := r.AddWorktree(t.Context(), slot, "main", nil)
	if f, ok := errors.AsType[*git.FilterError](err); !ok || len(f.Filters) != 1 || !strings.HasPrefix(f.Filters[0], "filter.f.smudge=touch ") {
		t.Errorf("AddWorktree = %v, want the filter", err)
	}
	if _, err := os.Lstat(canary); err == nil {
		t.Error("the filter ran, and nobody accepted it")
	}
	list, err := r.Filters(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("Filters = %q, %v", list, err)
	}
	if _, err := r.AddWorktree(t.Context(), filepath.Join(filepath.Dir(dir), "slot2"), "main", func(f string) bool { return f == list[0] }); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(canary); err != nil {
		t.Error("the filter did not run, though it was accepted")
	}
}

// TestAddWorktree_parallel: git itself fails now and then.
func TestAddWorktree_parallel(t *testing.T) {
	r, dir := newRepo(t)
	var wg sync.WaitGroup
	for n := range 12 {
		wg.Go(func() {
			r := find(t, dir)
			slot := filepath.Join(filepath.Dir(dir), "slots", strings.Repeat("s", n+1))
			if _, err := r.AddWorktree(t.Context(), slot, "main", nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(r.Worktrees()); n != 13 {
		t.Errorf("%d worktrees, want 13", n)
	}
}

// TestCommitTree: what is in a worktree becomes a commit under a ref, without touching the branch
// or the index.
func TestCommitTree(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "echo more > more; echo changed > one; git config user.name ''; git config --unset user.name; true")
	s, err := r.Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	commit, err := r.CommitTree(t.Context(), s.Tree, []string{s.Base}, "Title\n\nBossman-Task: web-1\n")
	if err != nil {
		t.Fatal(err)
	}
	const ref = "refs/bossman/web-1/1"
	none := strings.Repeat("0", len(commit))
	if err := r.SetRef(t.Context(), ref, commit, none); err != nil {
		t.Fatal(err)
	}
	if err := r.SetRef(t.Context(), ref, s.Base, none); err == nil {
		t.Error("a ref that is there was made a second time")
	}
	if got := r.Ref(ref); got != commit {
		t.Errorf("Ref = %q, want %q", got, commit)
	}
	if got := sh(t, dir, "git show --format=%s --name-only "+ref+"; git status --porcelain"); got != "Title\n\nmore\none\n M one\n?? more" {
		t.Errorf("the commit and the worktree:\n%s", got)
	}
	if err := r.SetRef(t.Context(), ref, "", ""); err != nil || r.Ref(ref) != "" {
		t.Errorf("delete: %v, and the ref is %q", err, r.Ref(ref))
	}
}

// TestCheckout_hidden: changes that git was told not to look at do not stay for the next task.
func TestCheckout_hidden(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "echo two > two && echo three > three && git add . && git commit -qm more")
	slot := filepath.Join(filepath.Dir(dir), "slot")
	w, err := r.AddWorktree(t.Context(), slot, "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, slot, "git update-index --skip-worktree one && git update-index --assume-unchanged two && echo x > one && echo y > two && echo THREE > three && touch -d '2020-01-01' three && git update-index three && echo three > t && mv t three && git reset -q")
	if err := w.Checkout(t.Context(), "bossman/web-1", "main", false, nil); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, slot, "cat one two three"); got != "one\ntwo\nthree" {
		t.Errorf("the files are %q, want those of the commit", got)
	}
	if got := sh(t, slot, "git ls-files -v"); strings.Contains(got, "S ") || strings.Contains(got, "h ") {
		t.Errorf("git still does not look at files:\n%s", got)
	}
}

// TestCheckout_sparse: files that git was told to keep away are there for the next task, except
// those outside the sparse checkout of the repository's own worktree.
func TestCheckout_sparse(t *testing.T) {
	for name, c := range map[string]struct{ before, agent, want string }{
		"sparse, as a task left it":       {"", "git sparse-checkout set --no-cone /one", "one sub/in two"},
		"sparse in cone mode":             {"", "git sparse-checkout set --cone --sparse-index sub", "one sub/in two"},
		"skipped and deleted":             {"", "git update-index --skip-worktree two && rm two", "one sub/in two"},
		"skipped, assumed and deleted":    {"", "git update-index --skip-worktree --assume-unchanged two && rm two", "one sub/in two"},
		"a sparse repository":             {"git sparse-checkout set --no-cone /one /two", "true", "one two"},
		"less of a sparse repository":     {"git sparse-checkout set --no-cone /one /two", "git sparse-checkout set --no-cone /sub", "one two"},
		"all of a sparse repository":      {"git sparse-checkout set --cone --sparse-index", "git sparse-checkout disable", "one two"},
		"skipped in a sparse repository":  {"git sparse-checkout set --cone", "git update-index --skip-worktree two && rm two", "one two"},
		"a repository sparse in the past": {"git sparse-checkout set --no-cone /one && git sparse-checkout disable", "git sparse-checkout set --no-cone /two", "one sub/in two"},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			sh(t, dir, "echo two > two && mkdir sub && echo in > sub/in && git add . && git commit -qm more && "+cmp.Or(c.before, "true"))
			slot := filepath.Join(filepath.Dir(dir), "slot")
			w, err := r.AddWorktree(t.Context(), slot, "main", nil)
			if err != nil {
				t.Fatal(err)
			}
			sh(t, slot, c.agent)
			if err := r.ShareSparse(w); err != nil {
				t.Fatal(err)
			}
			if err := w.Checkout(t.Context(), "bossman/web-1", "main", false, nil); err != nil {
				t.Fatal(err)
			}
			if got := sh(t, slot, "git status --porcelain; find * -type f | sort"); strings.Join(strings.Fields(got), " ") != c.want {
				t.Errorf("the next task has %q, want %q", got, c.want)
			}
		})
	}
}

// TestCheckout_special: pipes and sockets, which git clean does not see, do not stay for the next
// task. What a symbolic link leads to does.
func TestCheckout_special(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no pipes in directories here")
	}
	r, dir := newRepo(t)
	sh(t, dir, "mkdir -p a/b && echo in > a/b/in && echo /cache > .gitignore && git add . && git commit -qm more")
	slot := filepath.Join(filepath.Dir(dir), "slot")
	w, err := r.AddWorktree(t.Context(), slot, "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, slot, "mkdir new cache ../outside && mkfifo pipe a/pipe a/b/pipe new/pipe cache/pipe ../outside/pipe && ln -s ../outside link && rm one && mkfifo one")
	t.Chdir(slot) // for a short name of the socket
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := w.Checkout(t.Context(), "bossman/web-1", "main", false, nil); err != nil {
		t.Fatal(err)
	}
	const want = ".git .gitignore a a/b a/b/in cache cache/pipe one ../outside/pipe"
	if got := strings.Join(strings.Fields(sh(t, slot, "find . -mindepth 1 | sed 's:^./::' | sort; ls ../outside/pipe; git status --porcelain")), " "); got != want {
		t.Errorf("the next task has %q, want %q", got, want)
	}
}
