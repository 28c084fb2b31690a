package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// TestPush_hook: the hook pre-push of the main worktree runs as it was accepted, and no other one.
func TestPush_hook(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	ran := filepath.Join(home, "ran")
	says := func(what, file string) string {
		return `mkdir -p $(dirname ` + file + `); printf '#!/bin/sh\necho ` + what + ` >> ` + ran + `\n' > ` + file + `; chmod +x ` + file + "\n"
	}
	for name, test := range map[string]struct{ prepare, change string }{
		"git directory": {says("accepted", ".git/hooks/pre-push"), says("changed", ".git/hooks/pre-push")},
		"worktree":      {says("accepted", ".husky/pre-push") + "git config core.hooksPath .husky", says("changed", ".husky/pre-push")},
		"of the user, in the worktree": {
			says("accepted", ".husky/pre-push") + "git config -f ~/.gitconfig core.hooksPath .husky", says("changed", ".husky/pre-push"),
		},
		"linked": {says("accepted", "tools/push") + "ln -s ../../tools/push .git/hooks/pre-push", says("changed", "tools/push")},
		"husky": {
			says("accepted", ".husky/pre-push") + `mkdir .husky/_; printf '#!/usr/bin/env sh\n. "$(dirname "$0")/h"' > .husky/_/pre-push; chmod +x .husky/_/pre-push
			printf '#!/usr/bin/env sh\nn=$(basename "$0")\ns=$(dirname "$(dirname "$0")")/$n\nsh -e "$s" "$@"\n' > .husky/_/h; git config core.hooksPath .husky/_`,
			says("changed", ".husky/pre-push"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			os.Remove(ran)
			os.Remove(filepath.Join(home, ".gitconfig"))
			_, dir, bare, _ := newClone(t)
			sh(t, dir, test.prepare)
			sh(t, dir, "git worktree add -q ../agent && cd ../agent\n"+says("agent", ".husky/pre-push")+says("agent", ".husky/_/pre-push")+says("agent", ".husky/_/h"))
			tip := commitOf(t, dir, "main")
			r := find(t, filepath.Join(filepath.Dir(dir), "agent"))
			refused := func(accept func(string) bool) {
				t.Helper()
				err := r.Push(t.Context(), "origin", tip, "refs/heads/main", accept)
				if _, ok := errors.AsType[*git.FilterError](err); !ok || commitOf(t, bare, "main") == tip {
					t.Errorf("Push = %v", err)
				}
			}
			refused(origin)
			list, err := r.RemoteCommands(t.Context())
			list = slices.DeleteFunc(list, origin)
			if err != nil || len(list) != 1 || !strings.HasPrefix(list[0], "hook "+dir) {
				t.Fatalf("RemoteCommands = %q, %v", list, err)
			}
			accept := func(c string) bool { return origin(c) || c == list[0] }
			accepted := sh(t, dir, "tar cf ../kept.tar .husky tools .git/hooks 2>/dev/null || true")
			sh(t, dir, test.change)
			refused(accept)
			sh(t, dir, "tar xf ../kept.tar"+accepted)
			if err := r.Push(t.Context(), "origin", tip, "refs/heads/main", accept); err != nil || commitOf(t, bare, "main") != tip {
				t.Errorf("Push = %v", err)
			}
			if got, _ := os.ReadFile(ran); string(got) != "accepted\n" {
				t.Errorf("what ran: %q", got)
			}
		})
	}
}

// TestPush_paths: a remote repository that came with the clone, or that an agent may write, is not used: its
// hooks would run.
func TestPush_paths(t *testing.T) {
	r, dir, bare, _ := newClone(t)
	canary := filepath.Join(t.TempDir(), "canary")
	base := filepath.Dir(dir)
	hook := `printf '#!/bin/sh\ntouch ` + canary + `\n' > hooks/pre-receive; chmod +x hooks/pre-receive`
	sh(t, dir, "git worktree add -q ../agent; git clone -q --bare . x.git; git clone -q --bare . .git/x.git; git clone -q --bare . ../agent/x.git; ln -s repo/x.git ../link.git; for d in x.git .git/x.git ../agent/x.git; do (cd $d; "+hook+"); done")
	tip := commitOf(t, dir, "main~1")
	for _, url := range []string{"./x.git", "x.git", "x", "./x", ".git/x.git", ".", dir, "../agent/x.git", base + "/agent/x", "../link.git", "../link", "file://" + dir + "/x.git", "file://" + base + "/link%2egit", "../other/../repo/x"} {
		for _, key := range []string{"url", "pushurl"} {
			sh(t, dir, "git config --unset-all remote.origin.pushurl || true; git config remote.origin.url ../origin.git; git config remote.origin."+key+" '"+url+"'")
			for _, r := range []*git.Repo{r, find(t, base+"/agent")} {
				if err := r.Push(t.Context(), "origin", tip, "refs/bossman/web-1/1", nil); err == nil || !strings.Contains(err.Error(), "in the repository itself") {
					t.Errorf("Push to %s %s = %v", key, url, err)
				}
			}
		}
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a hook ran")
	}
	sh(t, dir, "git config --unset-all remote.origin.pushurl")
	if os.Geteuid() == 0 {
		sh(t, dir, "git config remote.origin.url ../origin.git; chown 12345 ../origin.git")
		if err := r.Push(t.Context(), "origin", tip, "refs/bossman/web-1/1", nil); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("Push to another user's repository = %v", err)
		}
		sh(t, dir, "chown 0 ../origin.git")
	}
	for _, url := range []string{"../origin.git", "../origin", bare, "file://" + bare} {
		sh(t, dir, "git config remote.origin.url '"+url+"'")
		if err := r.Push(t.Context(), "origin", tip, "refs/bossman/web-1/1", func(c string) bool { return c == "remote.origin.url="+url }); err != nil {
			t.Errorf("Push to %s = %v", url, err)
		}
	}
}
