//go:build unix

package git_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// A git that lies in the repository, in one of its worktrees or beside it in REPO.worktrees is not run, wherever it is in the PATH.
func TestProgram(t *testing.T) {
	_, root := newRepo(t)
	path := os.Getenv("PATH")
	slot := filepath.Join(root+".worktrees", "s1")
	sh(t, root, "git worktree add -q -b s1 "+slot)
	canary := filepath.Join(t.TempDir(), "canary")
	link := filepath.Join(t.TempDir(), "bin")
	dirs := []string{filepath.Join(root, "node_modules", ".bin"), filepath.Join(slot, "bin"), filepath.Join(root+".worktrees", "other", "bin"), filepath.Join(root, ".git", "bin")}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho \"$0 $*\" >> "+canary+"\necho git version 2.99.0\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dirs[0], link); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{root, slot} {
		t.Chdir(at)
		for _, dir := range append(dirs, link) {
			t.Setenv("PATH", dir+string(filepath.ListSeparator)+path)
			if version, _, err := git.Version(); err != nil || version == "2.99.0" {
				t.Errorf("in %s: Version with %s in the PATH = %s, %v", at, dir, version, err)
			}
			repo, err := git.Find(at)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			if _, err := repo.Status(t.Context()); err != nil {
				t.Errorf("in %s: Status with %s in the PATH: %v", at, dir, err)
			}
			t.Chdir(at)
			t.Setenv("PATH", dir)
			if err := git.Installed(); err == nil {
				t.Errorf("in %s: the git in %s counts as installed", at, dir)
			}
			if text, err := os.ReadFile(canary); err == nil {
				t.Fatalf("in %s: with %s in the PATH was run: %s", at, dir, text)
			}
		}
		t.Setenv("PATH", path)
	}
}

// Which directories of the PATH count in which current directory.
func TestPrograms(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(top, "home")
	t.Setenv("HOME", home)
	for _, dir := range []string{"home/.local/bin", "home/web/sub/deep/bin", "home/web/bin", "home/web/sub/bin", "home/archive/lib", "home/plain/lib", "home/lost.worktrees/s1"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, home, "git init -q . && git init -q web && git init -q web/sub && mkdir archive/node_modules && mkdir broken && echo gitdir: nowhere > broken/.git && mkdir broken/x && ln -s web linked")
	all := []string{"web/bin", "web/sub/bin", "web.worktrees/s1/bin", "linked/bin", "archive/bin", "plain/bin", "broken/bin", "lost/bin", "lost.worktrees/s2/bin", ".local/bin", "."}
	for at, left := range map[string][]string{
		"":                  nil, // all is the user's, also if the home directory is a repository
		"web":               all[:4],
		"linked":            all[:4],
		"web/sub/deep":      all[:4],
		"archive/lib":       all[4:5],
		"plain":             all[5:6],
		"plain/lib":         nil, // nothing says that plain is a project
		"broken/x":          all[6:7],
		"lost.worktrees/s1": all[7:9],
	} {
		t.Chdir(filepath.Join(home, at))
		list, want := []string{"", ".", "bin"}, []string{}
		for _, dir := range all {
			list = append(list, home+"/"+dir)
			if !slices.Contains(left, dir) {
				want = append(want, home+"/"+dir)
			}
		}
		if got := git.ProgramsOutside().List(strings.Join(list, ":")); got != strings.Join(want, ":") {
			t.Errorf("in %q: the PATH is\n%s, want\n%s", at, got, strings.Join(want, ":"))
		}
	}
	t.Chdir("/")
	if got := git.ProgramsOutside().List("/opt/x/bin:/usr/bin:"); got != "/opt/x/bin:/usr/bin" {
		t.Errorf("in /: the PATH is %s", got)
	}
	if got := git.ProgramsOutside(filepath.Join(home, "web")).List(home + "/web/bin:/usr/bin"); got != "/usr/bin" {
		t.Errorf("with a directory: the PATH is %s", got)
	}
}

// git itself, and with it ssh, gets the same PATH.
func TestPrograms_environment(t *testing.T) {
	repo, root := newRepo(t)
	bin := filepath.Join(root, "node_modules", ".bin")
	canary := filepath.Join(t.TempDir(), "canary")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ssh", "tool"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho \"$0 $*\" >> "+canary+"\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, root, "git remote add origin ssh://git@127.0.0.1:1/x.git")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if _, err := repo.FetchBranch(t.Context(), "origin", "main", func(string) bool { return true }); err == nil {
		t.Error("Fetch from a port where nobody listens succeeds")
	}
	if text, err := os.ReadFile(canary); err == nil {
		t.Errorf("it ran %s", text)
	}
	cmd, err := git.ProgramsOutside(root).Command(t.Context(), "tool")
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), bin) {
		t.Errorf("Command = %v, %v, want an error that names %s", cmd, err, bin)
	}
	if cmd, err = git.ProgramsOutside(root).Command(t.Context(), "sh", "-c", "tool"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Run(); err == nil {
		t.Error("a program that was started runs tool")
	}
	if text, err := os.ReadFile(canary); err == nil {
		t.Errorf("it ran %s", text)
	}
}

// A project in which the process works stays left out when its directory is gone, or is no repository any more.
func TestWorksIn(t *testing.T) {
	_, root := newRepo(t)
	bin, sub := filepath.Join(root, "node_modules", ".bin"), filepath.Join(root, "packages", "ui")
	for _, dir := range []string{bin, sub} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if git.ProgramsOutside().List(bin) == "" {
		t.Fatal("it is left out already")
	}
	git.WorksIn(sub)
	if err := errors.Join(os.RemoveAll(filepath.Join(root, "packages")), os.RemoveAll(filepath.Join(root, ".git"))); err != nil {
		t.Fatal(err)
	}
	if got := git.ProgramsOutside().List(bin); got != "" {
		t.Errorf("List = %s", got)
	}
}
