package git_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// newClone makes a repository, a bare one that it is pushed to, and another clone of that.
func newClone(t *testing.T) (r *git.Repo, dir, bare, other string) {
	t.Helper()
	r, dir = newRepo(t)
	base := filepath.Dir(dir)
	sh(t, base, "git clone -q --bare repo origin.git && git clone -q origin.git other && cd repo && git remote add origin ../origin.git && git fetch -q && echo two > two && git add two && git commit -qm two")
	return r, dir, filepath.Join(base, "origin.git"), filepath.Join(base, "other")
}

// origin accepts the address of the remote repository origin.
func origin(command string) bool { return strings.HasPrefix(command, "remote.origin.url=") }

// remoteKind returns the kind of a *RemoteError, and its words.
func remoteKind(err error) (git.RemoteKind, string) {
	e, ok := errors.AsType[*git.RemoteError](err)
	if !ok {
		return "", ""
	}
	return e.Kind, e.Words
}

func TestPush(t *testing.T) {
	r, dir, bare, other := newClone(t)
	tip := commitOf(t, dir, "main")
	first := tip
	push := func(ref string) error { return r.Push(t.Context(), "origin", tip, ref, origin) }
	for range 2 { // also if it is there already
		if err := push("refs/bossman/web-1/1"); err != nil {
			t.Errorf("Push: %v", err)
		}
	}
	if err := push("refs/heads/main"); err != nil || commitOf(t, bare, "main") != tip {
		t.Fatalf("Push: %v", err)
	}
	sh(t, other, "git pull -q; echo three > three; git add three; git commit -qm three; git push -q")
	theirs := commitOf(t, other, "main")
	sh(t, dir, "echo mine > mine; git add mine; git commit -qm mine; git config remote.origin.push +main; git config push.default current; git config push.followTags true; git tag -a -m t t")
	tip = commitOf(t, dir, "main")
	for _, state := range []string{"not fetched", "fetched"} {
		if kind, _ := remoteKind(push("refs/heads/main")); kind != git.RemoteMoved || commitOf(t, bare, "main") != theirs {
			t.Errorf("%s: %v", state, push("refs/heads/main"))
		}
		got, err := r.FetchBranch(t.Context(), "origin", "main", origin)
		if err != nil || got != theirs || commitOf(t, dir, "origin/main") != theirs {
			t.Errorf("FetchBranch = %s, %v, want %s", got, err, theirs)
		}
	}
	sh(t, dir, "git merge -q -m m origin/main")
	tip = commitOf(t, dir, "main")
	if err := push("refs/heads/main"); err != nil || commitOf(t, bare, "main") != tip {
		t.Errorf("Push: %v", err)
	}
	if tags := sh(t, bare, "git tag"); tags != "" {
		t.Errorf("tags were pushed: %s", tags)
	}
	if got, err := r.FetchBranch(t.Context(), "origin", "none", origin); got != "" || err != nil {
		t.Errorf("FetchBranch of none = %q, %v", got, err)
	}
	o := find(t, other)
	for ref, want := range map[string]bool{"refs/bossman/web-1/1": true, "refs/bossman/web-2/1": false} {
		if got, err := o.FetchRef(t.Context(), "origin", ref, first, origin); got != want || err != nil || (o.Ref(ref) != "") != want {
			t.Errorf("FetchRef(%s) = %v, %v", ref, got, err)
		}
	}
	sh(t, other, "git update-ref refs/bossman/web-1/1 $(git commit-tree -m other HEAD^{tree})")
	if _, err := o.FetchRef(t.Context(), "origin", "refs/bossman/web-1/1", first, origin); err == nil {
		t.Error("FetchRef has overwritten a ref")
	}
	for _, bad := range []string{"none", "--all", "../origin.git", ""} {
		if err := r.Push(t.Context(), bad, tip, "refs/heads/main", origin); err == nil {
			t.Errorf("Push to %q", bad)
		}
	}
	for _, ref := range []string{"main", "refs/tags/x", "refs/heads/a b", "refs/heads/x:refs/heads/y", "+refs/heads/main"} {
		if err := push(ref); err == nil {
			t.Errorf("Push of %q", ref)
		}
	}
}

// TestPush_refused: what hooks say is passed on, whether they are here or there.
func TestPush_refused(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	no := `printf '#!/bin/sh\necho "not %s: https://me:secret@example.org" >&2\nexit 1\n' now`
	for name, test := range map[string]struct {
		prepare string
		kind    git.RemoteKind
		says    string
	}{
		"pre-receive":  {no + ` > ../origin.git/hooks/pre-receive; chmod +x ../origin.git/hooks/pre-receive`, git.RemoteRefused, "not now"},
		"update":       {no + ` > ../origin.git/hooks/update; chmod +x ../origin.git/hooks/update`, git.RemoteRefused, "hook declined"},
		"pre-push":     {no + ` > .git/hooks/pre-push; chmod +x .git/hooks/pre-push`, git.RemoteRefused, "not now"},
		"hooksPath":    {`mkdir hk; ` + no + ` > hk/pre-push; chmod +x hk/pre-push; git config core.hooksPath hk`, git.RemoteRefused, "not now"},
		"of the user":  {`mkdir ~/hk; ` + no + ` > ~/hk/pre-push; chmod +x ~/hk/pre-push; git config -f ~/.gitconfig core.hooksPath '~/hk'`, git.RemoteRefused, "not now"},
		"no program":   {no + ` > .git/hooks/pre-push; chmod -x .git/hooks/pre-push`, "", ""},
		"others":       {`for h in reference-transaction post-checkout pre-commit post-index-change; do ` + no + ` > .git/hooks/$h; chmod +x .git/hooks/$h; done`, "", ""},
		"beside":       {`mkdir -p hk/_; echo 'exit 0' > hk/_/h; printf '#!/bin/sh\n. "$(dirname -- "$0")/_/h"\n' > hk/pre-push; chmod +x hk/pre-push; git config core.hooksPath hk`, "", ""},
		"locked there": {`touch ../origin.git/refs/heads/main.lock`, git.RemoteMoved, "main"},
		"rule":         {`git -C ../origin.git config receive.denyUpdates x; git -C ../origin.git config transfer.hideRefs refs/heads/main`, git.RemoteRefused, "hidden ref"},
		"gone":         {`rm -rf ../origin.git`, git.RemoteUnreachable, "origin.git"},
		"no host":      {`git config remote.origin.url https://me:secret@127.0.0.1:1/x`, git.RemoteUnreachable, "127.0.0.1"},
		"no ssh":       {`git config remote.origin.url ssh://127.0.0.1:1/x`, git.RemoteUnreachable, ""},
		"a command":    {`git config remote.origin.url 'ext::touch '$HOME/canary`, git.RemoteUnreachable, "not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir, bare, _ := newClone(t)
			os.Remove(filepath.Join(home, ".gitconfig"))
			sh(t, dir, test.prepare)
			tip := commitOf(t, dir, "main")
			err := r.Push(t.Context(), "origin", tip, "refs/heads/main", func(c string) bool { return origin(c) || strings.HasPrefix(c, "hook "+dir) })
			kind, words := remoteKind(err)
			if kind != test.kind || (err == nil) != (test.kind == "") || !strings.Contains(words, test.says) || strings.Contains(words, "secret") {
				t.Errorf("Push = %v, kind %q, words %q", err, kind, words)
			}
			if name != "gone" && name != "rule" {
				if got := commitOf(t, bare, "main") == tip; got != (err == nil) {
					t.Errorf("pushed: %v", got)
				}
			}
			if _, err := os.Stat(filepath.Join(home, "canary")); err == nil {
				t.Error("the command ran")
			}
			if got := sh(t, os.Getenv("XDG_STATE_HOME"), "ls bossman/git | grep hooks- || true"); got != "" {
				t.Errorf("left: %s", got)
			}
		})
	}
}

// TestPush_commands: commands of the repository's own configuration have to be accepted, and settings by which git sends
// or writes something elsewhere.
func TestPush_commands(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	t.Setenv("RUN", "touch "+canary+"; git-receive-pack")
	for _, prepare := range []string{
		`git config remote.origin.receivepack "$RUN"`,
		`git config core.sshCommand "$RUN"; git config remote.origin.url ssh://127.0.0.1:1/x`,
		`git config credential.helper "!$RUN"`,
		`git config credential.https://example.org.helper "!$RUN"`,
		`git config core.askPass "$RUN"`,
		`git config core.gitProxy "$RUN"; git config remote.origin.url git://127.0.0.1:1/x`,
		`git config remote.origin.vcs x`,
		`git config http.cookieFile ../.profile`,
		`git config http.https://example.org.saveCookies true`,
		`git config http.proxy http://127.0.0.1:1`,
		`git config remote.origin.proxy http://127.0.0.1:1`,
		`git config url.https://example.org/.insteadOf https://example.com/`,
		`git config credential.username ada`,
		`git config ssh.variant simple`,
	} {
		r, dir, _, _ := newClone(t)
		sh(t, dir, prepare)
		tip := commitOf(t, dir, "main")
		err := r.Push(t.Context(), "origin", tip, "refs/heads/main", origin)
		if _, ok := errors.AsType[*git.FilterError](err); !ok {
			t.Errorf("%s: Push = %v", prepare, err)
		}
		if _, err := r.FetchBranch(t.Context(), "origin", "main", origin); func() bool { _, ok := errors.AsType[*git.FilterError](err); return !ok }() {
			t.Errorf("%s: FetchBranch = %v", prepare, err)
		}
		if _, err := os.Stat(canary); err == nil {
			t.Fatalf("%s: it ran", prepare)
		}
		list, err := r.RemoteCommands(t.Context())
		list = slices.DeleteFunc(list, origin)
		if err != nil || len(list) != 1 {
			t.Errorf("%s: RemoteCommands = %q, %v", prepare, list, err)
		}
		err = r.Push(t.Context(), "origin", tip, "refs/heads/main", func(c string) bool { return origin(c) || slices.Contains(list, c) })
		if _, ok := errors.AsType[*git.FilterError](err); ok {
			t.Errorf("%s: accepted: %v", prepare, err)
		}
		os.Remove(canary)
	}
	if list, err := func() ([]string, error) { r, _, _, _ := newClone(t); return r.RemoteCommands(t.Context()) }(); !slices.Equal(list, []string{"remote.origin.url=../origin.git"}) || err != nil {
		t.Errorf("RemoteCommands = %q, %v", list, err)
	}
}

// TestPush_loose: nothing is pushed as a file in a worktree says.
func TestPush_loose(t *testing.T) {
	r, dir, _, _ := newClone(t)
	sh(t, dir, `git config include.path ../more; git config -f more http.proxy http://127.0.0.1:1`)
	tip := commitOf(t, dir, "main")
	if err := r.Push(t.Context(), "origin", tip, "refs/heads/main", origin); err == nil || !strings.Contains(err.Error(), "where an agent can change it") {
		t.Errorf("Push = %v", err)
	}
	sh(t, dir, `git config include.path "$PWD/.git/more"; mv more .git/more`)
	if err := r.Push(t.Context(), "origin", tip, "refs/heads/main", func(c string) bool { return origin(c) || c == "http.proxy=http://127.0.0.1:1" }); err != nil {
		t.Errorf("Push with a file below .git: %v", err)
	}
}

// TestPush_cancelled: a push that takes too long is neither pushed nor refused.
func TestPush_cancelled(t *testing.T) {
	r, dir, _, _ := newClone(t)
	begun := filepath.Join(dir, "begun")
	sh(t, dir, `mkfifo begun; printf '#!/bin/sh\necho > `+begun+`; exec sleep 100\n' > .git/hooks/pre-push; chmod +x .git/hooks/pre-push`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = os.ReadFile(begun)
		cancel()
	}()
	err := r.Push(ctx, "origin", commitOf(t, dir, "main"), "refs/heads/main", func(string) bool { return true })
	if kind, _ := remoteKind(err); kind != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("Push = %v", err)
	}
}

// TestUnpush: only what is as it was seen is deleted, and only what Bossman makes.
func TestUnpush(t *testing.T) {
	r, dir, bare, _ := newClone(t)
	tip, first := commitOf(t, dir, "main"), commitOf(t, dir, "main~1")
	sh(t, dir, "git push -q origin main main:refs/bossman/web-1/1 main:refs/bossman/web-1/2 main:refs/heads/bossman/web-1-1 main:refs/tags/v1")
	states, err := r.RemoteStates(t.Context(), "origin", origin)
	if err != nil || !maps.Equal(states, map[string]string{"web-1/1": tip, "web-1/2": tip}) {
		t.Errorf("RemoteStates = %v, %v", states, err)
	}
	for _, ref := range []string{"refs/heads/main", "refs/tags/v1", "refs/bossman/a b"} {
		if err := r.Unpush(t.Context(), "origin", map[string]string{ref: tip}, origin); err == nil {
			t.Errorf("Unpush of %q", ref)
		}
	}
	err = r.Unpush(t.Context(), "origin", map[string]string{"refs/bossman/web-1/1": tip, "refs/bossman/web-1/2": first, "refs/heads/bossman/web-1-1": tip}, origin)
	if kind, _ := remoteKind(err); kind != git.RemoteMoved {
		t.Errorf("Unpush = %v", err)
	}
	if got := sh(t, bare, "git for-each-ref --format='%(refname)'"); got != "refs/bossman/web-1/2\nrefs/heads/main\nrefs/tags/v1" {
		t.Errorf("the remote has %q", got)
	}
	if err := r.Unpush(t.Context(), "origin", nil, origin); err != nil {
		t.Errorf("Unpush of nothing = %v", err)
	}
}

// TestFetchBranch_atOnce: several fetches of one branch at once all succeed, while it moves.
func TestFetchBranch_atOnce(t *testing.T) {
	_, dir, _, other := newClone(t)
	var wg sync.WaitGroup
	over := make(chan struct{})
	for range 6 {
		wg.Go(func() {
			r := find(t, dir)
			for {
				select {
				case <-over:
					return
				default:
				}
				if _, err := r.FetchBranch(t.Context(), "origin", "main", origin); err != nil {
					t.Errorf("FetchBranch: %v", err)
					return
				}
			}
		})
	}
	for range 20 {
		sh(t, other, "git commit -q --allow-empty -m more && git push -q")
	}
	close(over)
	wg.Wait()
}

// Several boards push states of tasks with the same id to one remote repository: neither replaces or gets the other's.
func TestPush_twoBoards(t *testing.T) {
	r, dir, bare, other := newClone(t)
	o := find(t, other)
	const ref = "refs/bossman/web-1/1"
	mine := commitOf(t, dir, "main")
	sh(t, other, "echo other > other; git add other; git commit -qm other")
	theirs := commitOf(t, other, "main")
	for commit, repo := range map[string]*git.Repo{mine: r, theirs: o} {
		if err := repo.Push(t.Context(), "origin", commit, ref, origin); err != nil {
			t.Fatal(err)
		}
	}
	for _, commit := range []string{mine, theirs} {
		if got := commitOf(t, bare, git.SharedRef(ref, commit)); got != commit {
			t.Errorf("%s is %s, want %s", git.SharedRef(ref, commit), got, commit)
		}
	}
	laptop := filepath.Join(filepath.Dir(dir), "laptop")
	sh(t, filepath.Dir(dir), "git clone -q --no-local origin.git laptop")
	l := find(t, laptop)
	if got, err := l.FetchRef(t.Context(), "origin", ref, git.Short(mine), origin); !got || err != nil || l.Ref(ref) != mine {
		t.Errorf("FetchRef = %v, %v, and has %s, want %s", got, err, l.Ref(ref), mine)
	}
	// As older versions push it: only the commit that is looked for.
	sh(t, bare, "git update-ref refs/bossman/web-2/1 "+theirs)
	for _, x := range []struct {
		commit string
		want   bool
	}{{mine, false}, {"", false}, {theirs, true}} {
		if got, err := l.FetchRef(t.Context(), "origin", "refs/bossman/web-2/1", x.commit, origin); got != x.want || err != nil || (l.Ref("refs/bossman/web-2/1") != "") != x.want {
			t.Errorf("FetchRef of %q = %v, %v, want %v", x.commit, got, err, x.want)
		}
	}
}

func TestParseState(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for name, want := range map[string]int{
		"web-1/2": 2, "web-1/2-0123456789ab": 2, "web-1/2-end": 0, "web-1/2-0123456789ac": 0, "web-1/2-unmerged-0123456789ab": 0, "web-1": 0, "web-1/": 0,
	} {
		task, attempt, ok := git.ParseState(name, commit)
		if ok != (want > 0) || ok && (attempt != want || task != "web-1") {
			t.Errorf("ParseState(%s) = %s, %d, %v", name, task, attempt, ok)
		}
	}
}
