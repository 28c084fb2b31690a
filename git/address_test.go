package git_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/git"
)

// TestPush_local: a repository on this machine is used only if a person has accepted exactly its address, in whatever
// spelling; and one in the clone, in a worktree or among temporary files not even then.
func TestPush_local(t *testing.T) {
	r, dir, bare, _ := newClone(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	base, canary := filepath.Dir(dir), filepath.Join(home, "canary")
	evil := filepath.Join(dir, ".git", "evil%zz.git")
	shm := ""
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		if shm, err = os.MkdirTemp("/dev/shm", "x"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(shm) })
		sh(t, dir, "git clone -q --bare . "+shm+"/evil.git")
	}
	sh(t, dir, "git clone -q --bare . '"+evil+"'; mkdir ../away ../file; printf 'gitdir: %s\\n' '"+evil+"' > ../away/.git; printf 'gitdir: ../away/.git\\n' > ../file/.git")
	for _, d := range []string{evil, shm + "/evil.git", bare} {
		if _, err := os.Stat(d); err == nil {
			sh(t, d, "printf '#!/bin/sh\\ntouch "+canary+"\\n' > hooks/pre-receive; chmod +x hooks/pre-receive")
		}
	}
	open, err := os.Open(evil)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	encoded := "file://" + base + "/rep%6f/.git/evil%zz.git"
	pid := fmt.Sprintf("/proc/%d", os.Getpid())
	tip := commitOf(t, dir, "main~1")
	for url, never := range map[string]bool{
		evil: true, encoded: true, "../away": true, base + "/file": true, "file://" + base + "/%61way": true,
		pid + fmt.Sprintf("/fd/%d", open.Fd()): true, "file:///proc/self/c%77d/.git/evil%zz.git": true, pid + "/root" + bare: true,
		shm + "/evil.git": true, "../origin.git": false, bare: false, "file://" + bare: false, "file://" + base + "/origin%2egit": false, "../origin": false,
	} {
		if url == "/evil.git" {
			continue
		}
		for _, key := range []string{"url", "pushurl"} {
			sh(t, dir, "git config --unset-all remote.origin.pushurl || true; git config remote.origin.url https://127.0.0.1:1/x; git config remote.origin."+key+" '"+url+"'")
			text := "remote.origin." + key + "=" + url
			push := func(accept func(string) bool) error {
				return r.Push(t.Context(), "origin", tip, "refs/bossman/web-1/1", accept)
			}
			for _, not := range []func(string) bool{nil, func(c string) bool { return c != text }} {
				err := push(not)
				_, refused := errors.AsType[*git.FilterError](err)
				if !refused && (err == nil || !never) {
					t.Errorf("Push to %s, which nobody has accepted = %v", text, err)
				}
			}
			if _, err := os.Stat(canary); err == nil {
				t.Fatalf("%s: a hook ran", text)
			}
			list, err := r.RemoteCommands(t.Context())
			if err != nil || !slices.Equal(list, []string{text}) {
				t.Errorf("RemoteCommands = %q, %v; want %q", list, err, text)
			}
			err = push(func(c string) bool { return c == text })
			if _, ran := os.Stat(canary); never == (err == nil) || never == (ran == nil) {
				t.Errorf("Push to %s, accepted = %v, the hook: %v", text, err, ran)
			}
			os.Remove(canary)
			sh(t, bare, "git update-ref -d "+git.SharedRef("refs/bossman/web-1/1", tip))
		}
	}
}

// TestPush_asLookedAt: an address that is put in the place of one that was accepted has no effect on a push or a fetch
// that has begun.
func TestPush_asLookedAt(t *testing.T) {
	r, dir, bare, _ := newClone(t)
	sh(t, dir, "git clone -q --bare . ../evil.git; git config credential.helper x")
	tip := commitOf(t, dir, "main")
	change := func(c string) bool {
		sh(t, dir, "git config remote.origin.url ../evil.git; git config remote.origin.pushurl ../evil.git")
		time.Sleep(1200 * time.Millisecond) // what was read of it counts no longer
		return c == "remote.origin.url=../origin.git" || c == "credential.helper=x"
	}
	if err := r.Push(t.Context(), "origin", tip, "refs/bossman/web-1/1", change); err != nil {
		t.Errorf("Push = %v", err)
	}
	if got := sh(t, dir, "git -C ../evil.git for-each-ref refs/bossman; git -C '"+bare+"' for-each-ref --format='%(objectname)' refs/bossman"); got != tip {
		t.Errorf("pushed: %q", got)
	}
	sh(t, dir, "git config --unset remote.origin.pushurl; git config remote.origin.url ../origin.git; git -C ../evil.git update-ref refs/heads/main main~1")
	if got, err := r.FetchBranch(t.Context(), "origin", "main", change); err != nil || got != commitOf(t, bare, "main") {
		t.Errorf("FetchBranch = %s, %v", got, err)
	}
}

// TestRemoteCommands_addresses: the addresses are those that git itself would use.
func TestRemoteCommands_addresses(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	for prepare, want := range map[string]string{
		"":                                   "../origin.git",
		"URL https://example.org/x":          "",
		"URL git@example.org:x.git":          "",
		"URL '[::1]:x.git'":                  "",
		"URL ssh://example.org/x; PUSH /srv": "/srv",
		"URL git://example.org/x":            "",
		"URL ext::sh":                        "",
		"URL FILE:///srv":                    "",
		"URL ./a:b":                          "./a:b",
		"URL x":                              "x",
		"URL https://example.org/x; MINE url./srv/.insteadOf https://example.org/":                                            "/srv/x",
		"URL https://example.org/x; MINE url./srv/.pushInsteadOf https://example.org/":                                        "/srv/x",
		"URL https://example.org/x; PUSH gh:x; MINE url./srv/.pushInsteadOf https://example.org/; MINE url./a/.insteadOf gh:": "/a/x",
		"URL gh:x; MINE url./a/.insteadOf g; MINE url./b/.insteadOf gh:; MINE url./c/.insteadOf gh":                           "/b/x",
		"URL gh:x; MINE url.g://.insteadOf gh:; MINE url./srv/.insteadOf g://":                                                "",
		"URL https://example.org/x; MINE url./srv/.insteadOf ''":                                                              "/srv/https://example.org/x",
		"URL https://example.org/x; MINE url./srv/.pushInsteadOf ''":                                                          "/srv/https://example.org/x",
		"URL https://example.org/x; MINE url./srv/.insteadOf ''; MINE url./a/.insteadOf https:":                               "/a///example.org/x",
		"URL /x; MINE url.https://example.org.insteadOf ''":                                                                   "",
		"URL /x; PUSH ''; MINE url.https://example.org.pushInsteadOf ''":                                                      "/x",
		"URL /x; MINE url.A.insteadOf /X; MINE url./a.insteadOf X":                                                            "/x",
		"URL gh:x; printf '[URL \"/A/\"]\nINSTEADOF=gh:\n' > ~/.gitconfig":                                                    "/A/x",
		"URL gh:x; printf '[url \"\"]\ninsteadOf=gh:\n' > ~/.gitconfig":                                                       "x",
		"URL gh:x; printf '[url]\ninsteadOf=gh:\n[url \"/a/\"]\ninsteadOf=gh:\n' > ~/.gitconfig":                              "/a/x",
		// git takes the settings of one address together, and the first of equally long ones.
		"URL gh:x; printf '[url \"/b/\"]\ninsteadOf=z\n[url \"/a/\"]\ninsteadOf=gh:\n[url \"/b/\"]\ninsteadOf=gh:\n' > ~/.gitconfig":        "/b/x",
		"URL gh:x; printf '[url \"/b/\"]\npushInsteadOf=gh:\n[url \"/a/\"]\ninsteadOf=gh:\n[url \"/b/\"]\ninsteadOf=gh:\n' > ~/.gitconfig":  "/a/x /b/x",
		"URL /a; git config --add remote.origin.url /b; git config --add remote.origin.url https://example.org/c":                           "/a /b",
		"URL /a; git config --add remote.origin.url https://example.org/c; MINE url./srv/.pushInsteadOf https://example.org/":               "/a /srv/c",
		"URL https://example.org/x; mkdir -p .git/remotes; echo 'URL: /srv' > .git/remotes/origin; git config remotes.origin 'other other'": "",
	} {
		_, dir, _, _ := newClone(t)
		os.Remove(filepath.Join(home, ".gitconfig"))
		sh(t, dir, "URL() { git config remote.origin.url \"$1\"; }; PUSH() { git config remote.origin.pushurl \"$1\"; }; MINE() { git config -f ~/.gitconfig \"$@\"; }; "+prepare+"\n:")
		list, err := find(t, dir).RemoteCommands(t.Context())
		var got []string
		for _, text := range list {
			_, url, _ := strings.Cut(text, "=")
			got = append(got, url)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: RemoteCommands = %q, %v; want %s", prepare, list, err, want)
		}
		used := strings.Fields(sh(t, dir, "unset GIT_CONFIG_GLOBAL; git remote get-url origin; git remote get-url --push --all origin"))
		for _, url := range got {
			if !slices.Contains(used, url) {
				t.Errorf("%s: git does not use %q, but %q", prepare, url, used)
			}
		}
		for _, url := range used {
			if local := strings.HasPrefix(url, "/") || strings.HasPrefix(url, "."); local && !slices.Contains(got, url) {
				t.Errorf("%s: git uses %q", prepare, url)
			}
		}
	}
}

// TestFetch_noValue: git refuses a setting without a value. It changes no address here.
func TestFetch_noValue(t *testing.T) {
	for _, name := range []string{"insteadOf", "pushInsteadOf"} {
		r, dir, bare, _ := newClone(t)
		sh(t, dir, `printf '[url "/srv/"]\n`+name+`\n' >> .git/config`)
		all := func(string) bool { return true }
		if got, err := r.FetchBranch(t.Context(), "origin", "main", all); err == nil && got != commitOf(t, bare, "main") {
			t.Errorf("%s: FetchBranch = %s", name, got)
		}
		if err := r.Push(t.Context(), "origin", commitOf(t, dir, "main"), "refs/bossman/web-1/1", all); err == nil {
			commitOf(t, bare, git.SharedRef("refs/bossman/web-1/1", commitOf(t, dir, "main")))
		}
	}
}

// TestFetch_otherFiles: an address that is not in git's configuration, but in a file that older versions of git wrote, is not used.
func TestFetch_otherFiles(t *testing.T) {
	r, dir, bare, _ := newClone(t)
	sh(t, dir, "git config --unset remote.origin.url; mkdir -p .git/remotes .git/branches; echo 'URL: "+bare+"' > .git/remotes/origin; echo '"+bare+"' > .git/branches/origin")
	all := func(string) bool { return true }
	if _, err := r.FetchBranch(t.Context(), "origin", "main", all); err == nil || !strings.Contains(err.Error(), "there is no remote") {
		t.Errorf("FetchBranch = %v", err)
	}
	sh(t, dir, "git config remote.origin.url ''")
	if _, err := r.FetchBranch(t.Context(), "origin", "main", all); err == nil || !strings.Contains(err.Error(), "there is no remote") {
		t.Errorf("FetchBranch = %v", err)
	}
}

// TestApart: what was pushed to one repository is not taken for what another one has.
func TestApart(t *testing.T) {
	r, dir, bare, _ := newClone(t)
	tip := commitOf(t, dir, "main")
	all := func(string) bool { return true }
	apart := func(want bool) {
		t.Helper()
		err := r.Apart(t.Context(), "origin", "main", all)
		if kind, said := remoteKind(err); (kind == git.RemoteElsewhere) != want || !want && err != nil || want && !strings.Contains(said, "pushes go to ../fork.git, and fetches come from ../origin.git, where branch main does not have") {
			t.Errorf("Apart = %v", err)
		}
	}
	apart(false)
	sh(t, dir, "git clone -q --bare ../origin.git ../fork.git; git config remote.origin.pushurl ../fork.git")
	apart(false)
	if err := r.Push(t.Context(), "origin", tip, "refs/heads/main", all); err != nil {
		t.Fatal(err)
	}
	if got := commitOf(t, dir, "origin/main"); got == tip {
		t.Error("origin/main has what origin does not have")
	}
	apart(true)
	sh(t, dir, "git push -q ../origin.git main") // or a mirror has it now
	apart(false)
	sh(t, bare, "git update-ref refs/heads/main main~1")
	apart(true)
	sh(t, dir, `git config remote.origin.pushurl "$PWD/../origin.git"`)
	apart(false)
	sh(t, dir, `git config remote.origin.pushurl ../fork.git; git config --add remote.origin.pushurl ../origin.git`)
	apart(false)
}
