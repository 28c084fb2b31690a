package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrite_links: git writes nothing through a symbolic link in a repository, wherever it is, and
// deletes nothing.
func TestWrite_links(t *testing.T) {
	for name, plant := range map[string]string{
		"log of a branch":      "mkdir -p .git/logs/refs/heads/bossman && ln -s ../../../../../../outside/file .git/logs/refs/heads/bossman/web-1",
		"logs of branches":     "mkdir -p .git/logs/refs/heads && ln -s ../../../../../outside .git/logs/refs/heads/bossman",
		"log of a ref":         "mkdir -p .git/logs/refs/bossman/web-1 && ln -s ../../../../../../outside/file .git/logs/refs/bossman/web-1/1",
		"logs":                 "rm -rf .git/logs && mkdir ../outside/refs && cp ../outside/file ../outside/HEAD && ln -s ../../outside .git/logs",
		"worktrees":            "ln -s ../../outside .git/worktrees",
		"branches":             "ln -s ../../../../outside .git/refs/heads/bossman",
		"refs":                 "mkdir .git/refs/bossman && ln -s ../../../../outside .git/refs/bossman/web-1",
		"packed refs":          "echo 0000000000000000000000000000000000000001 refs/bossman/web-1/1 > ../outside/file && ln -s ../../outside/file .git/packed-refs",
		"branches of another":  "git init -q ../other && mkdir ../other/.git/refs/heads/bossman && ln -s ../../../../other/.git/refs/heads/bossman .git/refs/heads/bossman",
		"refs of another":      "git init -q ../other && mkdir ../other/.git/refs/bossman && ln -s ../../../other/.git/refs/bossman .git/refs/bossman",
		"state":                "ln -s ../../outside .git/bossman",
		"pipe":                 "mkdir -p .git/logs/refs/heads/bossman && mkfifo .git/logs/refs/heads/bossman/web-1",
		"a branch by its name": "mkdir -p .git/refs/heads/bossman && echo 'ref: refs/heads/main' > .git/refs/heads/bossman/web-1",
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			base := filepath.Dir(dir)
			sh(t, dir, "mkdir -p ../outside/inside && echo mine | tee ../outside/file > ../outside/inside/file && "+plant)
			look := func() string {
				return sh(t, base, "find outside other ! -name '*.sample' -type f 2>/dev/null | sort | xargs cksum; find outside other 2>/dev/null | sort; cat repo/.git/refs/heads/main")
			}
			before := look()
			main := r.Branch("main")
			w, err := r.AddWorktree(t.Context(), filepath.Join(base, "slot"), "main", nil)
			if err == nil {
				err = w.Checkout(t.Context(), "bossman/web-1", "main", false, nil)
			}
			if err == nil {
				sh(t, w.Root, "git checkout -q --detach")
				err = w.SetRef(t.Context(), "refs/bossman/web-1/1", main, "")
			}
			if err == nil || !strings.Contains(err.Error(), "nothing is written through it") && !strings.Contains(err.Error(), "names another ref") && !strings.Contains(err.Error(), "symbolic link") {
				t.Errorf("the writes ended with %v", err)
			}
			if after := look(); after != before {
				t.Errorf("something outside was changed.\nbefore:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// TestShareSparse_links: neither in a worktree whose git directory leads elsewhere.
func TestShareSparse_links(t *testing.T) {
	for name, plant := range map[string]string{
		"info, written":        "cd .git && mkdir -p info && echo '/*' > info/sparse-checkout && ln -s ../../../../outside worktrees/slot/info",
		"info, deleted":        "rm -f .git/info/sparse-checkout && echo mine > ../outside/sparse-checkout && ln -s ../../../../outside .git/worktrees/slot/info",
		"info of another":      "git init -q ../other && mkdir -p ../other/.git/info && echo mine > ../other/.git/info/sparse-checkout && ln -s ../../../../other/.git/info .git/worktrees/slot/info",
		"info of the main one": "mkdir -p .git/info && echo mine > .git/info/sparse-checkout && ln -s ../../info .git/worktrees/slot/info",
		"logs":                 "cp ../outside/file ../outside/HEAD && rm -rf .git/worktrees/slot/logs && ln -s ../../../../outside .git/worktrees/slot/logs",
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			base := filepath.Dir(dir)
			w, err := r.AddWorktree(t.Context(), filepath.Join(base, "slot"), "main", nil)
			if err != nil {
				t.Fatal(err)
			}
			sh(t, dir, "mkdir ../outside && echo mine > ../outside/file && rm -rf .git/worktrees/slot/info && "+plant)
			look := func() string {
				return sh(t, base, "find outside other repo/.git/info ! -name '*.sample' -type f 2>/dev/null | sort | xargs cksum")
			}
			before := look()
			for what, err := range map[string]error{
				"ShareSparse": r.ShareSparse(w), "Checkout": w.Checkout(t.Context(), "", "main", false, nil),
			} {
				if err == nil || !strings.Contains(err.Error(), "nothing is written through it") {
					t.Errorf("%s = %v", what, err)
				}
			}
			if _, err := r.Linked(w.Root); err == nil {
				t.Error("Linked accepts the worktree")
			}
			if after := look(); after != before {
				t.Errorf("something outside was changed.\nbefore:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// TestShareSparse_source: nor is a file from outside copied into the repository.
func TestShareSparse_source(t *testing.T) {
	for name, plant := range map[string]string{
		"file": "mkdir -p .git/info && ln -sf ../../../outside/key .git/info/sparse-checkout",
		"info": "rm -rf .git/info && cp ../outside/key ../outside/sparse-checkout && ln -s ../../outside .git/info",
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			base := filepath.Dir(dir)
			w, err := r.AddWorktree(t.Context(), filepath.Join(base, "slot"), "main", nil)
			if err != nil {
				t.Fatal(err)
			}
			sh(t, dir, "mkdir ../outside && echo secret > ../outside/key && "+plant)
			if err := r.ShareSparse(w); err == nil || !strings.Contains(err.Error(), "symbolic link") {
				t.Errorf("ShareSparse = %v", err)
			}
			if got := sh(t, base, "grep -rl secret repo/.git/worktrees || true"); got != "" {
				t.Errorf("it was copied to %s", got)
			}
		})
	}
}

// TestWrite_extensions: a repository whose format has an extension that is not known is neither
// read nor written by git, which may be newer and write elsewhere then. Refs in tables are not
// written.
func TestWrite_extensions(t *testing.T) {
	for name, test := range map[string]struct {
		prepare     string
		read, write string // what the errors have, empty if there are none
	}{
		"known":            {"git config core.repositoryFormatVersion 1; git config extensions.objectFormat sha1; git config extensions.worktreeConfig true; git config extensions.noop yes; git config extensions.partialClone origin", "", ""},
		"refs elsewhere":   {"git config extensions.refStorage files:///tmp/elsewhere", "refstorage", "refstorage"},
		"twice":            {"git config extensions.refStorage files://.git/p; git config --add extensions.refStorage files", "refstorage", "refstorage"},
		"of a worktree":    {"git config extensions.worktreeConfig true; git config --worktree Extensions.refStorage files://p", "refstorage", "refstorage"},
		"of a later git":   {"git config extensions.later true", "later", "later"},
		"with a name":      {"git config extensions.x.noop true", "x.noop", "x.noop"},
		"refs in tables":   {"git config extensions.refStorage reftable", "", "reftable"},
		"tables elsewhere": {"git config extensions.refStorage reftable:///tmp/elsewhere", "refstorage", "refstorage"},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			main := r.Branch("main")
			sh(t, dir, test.prepare)
			_, err := r.Commit(t.Context(), main)
			if name == "refs in tables" {
				err = nil // this version of git may not know them
			}
			if !says(err, test.read) {
				t.Errorf("Commit: %v, want %q", err, test.read)
			}
			if err := r.CanSet("refs/bossman/web-1/1"); !says(err, test.write) {
				t.Errorf("CanSet: %v, want %q", err, test.write)
			}
			if err := r.SetRef(t.Context(), "refs/bossman/web-1/1", main, ""); !says(err, test.write) {
				t.Errorf("SetRef: %v, want %q", err, test.write)
			}
		})
	}
}

// says reports whether an error has a text, or is nil if the text is empty.
func says(err error, text string) bool {
	return (err == nil) == (text == "") && (err == nil || strings.Contains(err.Error(), text))
}

// TestWrite_hooks: no hook runs, neither one that is a file nor, with a git that has them, one of the
// configuration, whatever worktree it is for.
func TestWrite_hooks(t *testing.T) {
	for name, file := range map[string]string{"always": "config", "in worktrees": "more"} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			base := filepath.Dir(dir)
			canary := filepath.Join(base, "canary")
			sh(t, dir, `mkdir -p .git/hooks; git config 'includeIf.gitdir:**/worktrees/**.path' more
for event in reference-transaction post-index-change post-checkout pre-commit; do
  git config --file .git/`+file+` --add hook.h.event $event
  printf '#!/bin/sh\necho $0 >> `+canary+`\n' > .git/hooks/$event; chmod +x .git/hooks/$event
done
git config --file .git/`+file+` hook.h.command 'echo hook >> `+canary+`'`)
			os.Remove(canary) // a newer git has run it just now
			w, err := r.AddWorktree(t.Context(), filepath.Join(base, "slot"), "main", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Checkout(t.Context(), "bossman/web-1", "main", false, nil); err != nil {
				t.Fatal(err)
			}
			sh(t, w.Root, "echo new > new && mkdir inner && cd inner && git init -q . && git commit -q --allow-empty -m inner")
			s, err := w.Snapshot(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			commit, err := w.CommitTree(t.Context(), s.Tree, []string{s.Base}, "work")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []string{commit, ""} {
				if err := w.SetRef(t.Context(), "refs/bossman/web-1/1", c, ""); err != nil {
					t.Fatal(err)
				}
			}
			if text, err := os.ReadFile(canary); err == nil {
				t.Errorf("hooks ran:\n%s", text)
			}
		})
	}
}

// TestAddWorktree_conditional: a filter that only linked worktrees have runs no more than others.
func TestAddWorktree_conditional(t *testing.T) {
	r, dir := newRepo(t)
	canary, slot := filepath.Join(filepath.Dir(dir), "canary"), filepath.Join(filepath.Dir(dir), "slot")
	sh(t, dir, `echo '* filter=f' > .gitattributes && git add . && git commit -qm attributes
git config 'includeIf.gitdir:**/worktrees/**.path' more && git config --file .git/more filter.f.smudge 'touch `+canary+`; cat'`)
	if _, err := r.AddWorktree(t.Context(), slot, "main", nil); err == nil || !strings.Contains(err.Error(), "filter.f.smudge") {
		t.Errorf("AddWorktree = %v, want the filter", err)
	}
	if _, err := os.Lstat(canary); err == nil {
		t.Error("the filter ran, and nobody accepted it")
	}
	if got := sh(t, dir, "ls .. .git/worktrees"); got != "..:\nrepo\n\n.git/worktrees:" {
		t.Errorf("it left something:\n%s", got)
	}
}

// TestAddWorktree_gone: a worktree whose directory was deleted is forgotten if another one is made
// there; others stay. What is made is what git makes.
func TestAddWorktree_gone(t *testing.T) {
	r, dir := newRepo(t)
	base := filepath.Dir(dir)
	sh(t, dir, "git worktree add -q --detach ../slot && git worktree add -q -b away ../away && rm -r ../slot ../away && mkdir sub && touch sub/file && git add . && git commit -qm sub && git sparse-checkout set --cone sub")
	w, err := r.AddWorktree(t.Context(), filepath.Join(base, "slot"), "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := sh(t, base, "ls repo/.git/worktrees; git -C slot status --porcelain --branch; git -C slot sparse-checkout list; git -C slot fsck 2>&1; git -C repo worktree list --porcelain | grep -A2 slot"); got != "away\nslot\n## HEAD (no branch)\nsub\nworktree "+w.Root+"\nHEAD "+r.Branch("main")+"\ndetached" {
		t.Errorf("the worktree:\n%s", got)
	}
}

// TestLinked: only a worktree of this very repository is one, and not by a link.
func TestLinked(t *testing.T) {
	r, dir := newRepo(t)
	base := filepath.Dir(dir)
	sh(t, dir, `git worktree add -q ../linked
git clone -q . ../clone
git clone -q . ../other && git -C ../other worktree add -q --detach ../of-other
mkdir ../main ../copy ../dotlink ../gitlink
echo "gitdir: $PWD/.git" > ../main/.git
cp ../linked/.git ../copy/.git
ln -s ../linked/.git ../dotlink/.git
ln -s ../repo/.git ../gitlink/.git
ln -s linked ../link`)
	if w, err := r.Linked(filepath.Join(base, "linked")); err != nil || w.Root != filepath.Join(base, "linked") {
		t.Errorf("Linked = %v, %v", w, err)
	}
	for _, name := range []string{"clone", "of-other", "main", "copy", "dotlink", "gitlink", "link", "repo", "none"} {
		if w, err := r.Linked(filepath.Join(base, name)); err == nil {
			t.Errorf("%s is taken for the linked worktree %+v", name, w)
		}
	}
}
