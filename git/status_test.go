package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

func TestStatus(t *testing.T) {
	r, dir := newRepo(t)
	check := func(what string, want git.Status) {
		t.Helper()
		got, err := r.Status(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if want.Head == "HEAD" {
			want.Head = strings.TrimSpace(sh(t, dir, "git rev-parse HEAD"))[:12]
		}
		if got != want {
			t.Errorf("%s: Status = %+v, want %+v", what, got, want)
		}
	}
	check("a commit", git.Status{Branch: "main", Head: "HEAD"})
	sh(t, dir, "echo x >> one; printf x > 'a name\nwith a line break'; mkdir d; touch d/1 d/2")
	check("changed and untracked files", git.Status{Branch: "main", Head: "HEAD", Uncommitted: 3})
	sh(t, dir, "git config status.showUntrackedFiles no")
	check("untracked files that git is told not to show", git.Status{Branch: "main", Head: "HEAD", Uncommitted: 3})
	sh(t, dir, "git add one && git mv one two && git checkout -q --detach")
	check("detached, with a renamed file", git.Status{Head: "HEAD", Uncommitted: 4})
	sh(t, dir, "git checkout -q --orphan new && git rm -rfq --cached . && rm -rf d two a*")
	check("no commit yet", git.Status{Branch: "new"})
}

// Nothing that a repository configures runs when its state is read.
func TestStatus_runsNothing(t *testing.T) {
	r, dir := newRepo(t)
	canary := filepath.Join(t.TempDir(), "canary")
	program := filepath.Join(dir, "run")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+canary+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, `
		git config filter.a=b.clean "$PWD/run" && git config filter.a=b.required true
		git config filter.p.process "$PWD/run" && git config filter.P.smudge "$PWD/run"
		printf '[filter "q"]\n\tclean = "'"$PWD"'/run"\n\trequired\n' > .git/more && git config include.path more
		git config core.fsmonitor "$PWD/run" && git config core.pager "$PWD/run" && git config core.hooksPath "$PWD"
		git config core.sshCommand "$PWD/run" && git config diff.external "$PWD/run" && git config core.editor "$PWD/run"
		git config core.alternateRefsCommand "$PWD/run" && git config gpg.program "$PWD/run" && git config status.submoduleSummary true
		git config alias.status '!./run' && git config alias.config '!./run' && cp run post-index-change
		printf '* filter=a=b\none filter=q\n' > .gitattributes
		echo y > two; touch -d '2001-01-01' one`) // git reads a file whose time alone has changed
	got, err := r.Status(t.Context())
	if err != nil || got.Uncommitted < 2 {
		t.Errorf("Status = %+v, %v, want uncommitted files", got, err)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("Status ran a program of the repository")
	}
	sh(t, dir, "git -c core.fsmonitor=false -c core.hooksPath=/dev/null status >/dev/null 2>&1; true") // the control
	if _, err := os.Stat(canary); err != nil {
		t.Error("git status did not run the filter: this test shows nothing")
	}
}

// TestStatus_submodule: a file in a submodule is one of the worktree, and what a submodule
// configures does not run.
func TestStatus_submodule(t *testing.T) {
	r, dir := newRepo(t)
	canary := filepath.Join(filepath.Dir(dir), "canary")
	sh(t, dir, "git init -q ../lib && cd ../lib && echo s > s && echo '* filter=f' > .gitattributes && git add . && git commit -qm s && cd "+dir+
		" && git -c protocol.file.allow=always submodule --quiet add ../lib sub && git commit -qm sub && git -C sub config filter.f.clean 'touch "+canary+"; cat'")
	before, err := r.Loose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s, err := r.Status(t.Context()); err != nil || s.Uncommitted != 0 {
		t.Errorf("Status = %+v, %v; want nothing uncommitted", s, err)
	}
	sh(t, dir, "echo more >> sub/s && echo new > sub/lib.c")
	if s, err := r.Status(t.Context()); err != nil || s.Uncommitted != 2 {
		t.Errorf("Status = %+v, %v; want two uncommitted files of the submodule", s, err)
	}
	if after, err := r.Loose(t.Context()); err != nil || after.Sum() == before.Sum() {
		t.Errorf("Loose is the same, %v", err)
	}
	if _, err := os.Lstat(canary); err == nil {
		t.Error("a filter of the submodule ran")
	}
}

// A file to which a filter applies is uncommitted once somebody has written it, and not before: also
// in a worktree that is as new as its files.
func TestStatus_filtered(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `
		git config filter.case.clean 'tr A-Z a-z' && git config filter.case.smudge 'tr a-z A-Z'
		echo '*.x filter=case' > .gitattributes && mkdir d
		for n in 1 2 3; do echo HELLO > d/$n.x; done; for n in $(seq 300); do echo A > "a $n.x"; done
		git add . && git commit -qm files && git worktree add -q ../two && rm -r d *.x && git checkout -q .`)
	if got, err := r.Status(t.Context()); err != nil || got.Uncommitted != 0 {
		t.Errorf("after a checkout: Status = %+v, %v, want no uncommitted file", got, err)
	}
	two := find(t, filepath.Join(dir, "../two"))
	if got, err := two.Status(t.Context()); err != nil || got.Uncommitted != 0 {
		t.Errorf("new worktree: Status = %+v, %v, want no uncommitted file", got, err)
	}
	sh(t, two.Root, `echo HALLO > d/1.x; cp -p d/2.x new; mv new d/2.x; echo B > 'a 3.x'; echo two > one; rm d/3.x`)
	if got, err := two.Status(t.Context()); err != nil || got.Uncommitted != 5 {
		t.Errorf("files written: Status = %+v, %v, want 5 uncommitted files", got, err)
	}
}
