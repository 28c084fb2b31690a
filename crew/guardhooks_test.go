package crew

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// TestRefusePush: the addresses of servers are compared by host and path.
func TestRefusePush(t *testing.T) {
	dir := t.TempDir()
	ssh := "#!/bin/sh\nfor host; do :; done\ncase $host in work) echo hostname git.example.com ;; git.example.com) echo hostname ssh.example.com ;; *) echo hostname $host ;; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(ssh), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, args := range [][]string{{"init", "-q", dir}, {"-C", dir, "remote", "add", "origin", "https://git.example.com/acme/web.git"}} {
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatal(string(out))
		}
	}
	script := refusePush(board.Target{Kind: board.TargetRemote, Remote: "origin", Branch: "main"}, dir+"/.git", dir) + chain("")
	push := func(address, line string) bool {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script, "pre-push", "x", address)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(line+"\n")
		out, err := cmd.CombinedOutput()
		if (err != nil) != strings.Contains(string(out), "by landing only") {
			t.Errorf("push %q to %s: %v, %s", line, address, err, out)
		}
		return err == nil
	}
	for address, refused := range map[string]bool{
		"https://git.example.com/acme/web.git": true, "https://git.example.com/acme/web/": true, "https://ada@git.example.com:443/acme/web": true,
		"ssh://git@git.example.com/acme/web.git": true, "git@git.example.com:acme/web.git": true, "git@git.example.com:/acme/web": true,
		"git.example.com:acme/web": true, "ssh://git@git.example.com:2222/acme/web.git/": true, "https://GIT.Example.com./Acme//web.git": true,
		"https://ada:s%40cret@git.example.com/acme/w%65b.git": true, "git+ssh://git.example.com/~/acme/web": true, "https://git.example.com/acme/../acme/./web": true,
		"[git@git.example.com:22]:acme/web.git": true, "[git.example.com]:acme/web.git": true, "[git@git.example.com]:/acme/web.git": true, "ssh://[git.example.com]/acme/web.git": true,
		"ssh://git@[git.example.com]:22/acme/web": true, "ssh://[git@git.example.com]:22/acme/web": true, "[work]:acme/web.git": true, "[::1]:acme/web": false,
		"git@work:acme/web.git": true, "https::https://git.example.com/acme/web": true, "git://git.example.com:9418/acme/web.git": true,
		"https://git.example.com/acme/web2": false, "https://example.com/acme/web.git": false, "git@git.example.com:web": false, "git@home:acme/web.git": false,
		"https://git.example.com/acme/web/..": false, "[git.example.com]:2/acme/web": false, "ssh://[::1]:22/acme/web": false,
		dir: false, "/": false, "nowhere": false, "": false, "-h": false, "file://" + dir: false,
	} {
		if push(address, "refs/heads/a 1 refs/heads/main 0") == refused {
			t.Errorf("a push to %s is refused: %t", address, !refused)
		}
		if !push(address, "refs/heads/a 1 refs/heads/topic 0") || !push(address, "refs/heads/main 1 refs/heads/topic 0") {
			t.Errorf("a push of another branch to %s is refused", address)
		}
	}
	for _, line := range []string{"(delete) 0 refs/heads/main 1", "HEAD@{1 day ago} 1 refs/heads/main 0", "main^{/a b c d} 1 refs/heads/main 0", "refs/heads/a 1 refs/heads/a 0\nrefs/heads/b 2 refs/heads/main 1"} {
		if push("git@git.example.com:acme/web", line) {
			t.Errorf("%q is pushed", line)
		}
	}
}

// TestGuard_clones: a clone is guarded by whatever address the agent made it.
func TestGuard_clones(t *testing.T) {
	for _, target := range []string{"main", "origin/main"} {
		// main is checked out nowhere, so that git itself would take the push.
		g, main, slot := newGuarded(t, "plain", target, `git init -q -b main --bare "../srv.git" && git remote add origin "$PWD/../srv.git" && git push -q origin main && git checkout -q --detach && ln -s . ../link && mkdir -p ../deep/er && ln -s deep/er ../far`)
		top := filepath.Dir(main)
		addresses := []string{"$T/web", "../web", "../web/.git", "./../web/", "file://$T/web", "$T/link/web", "$T//./web", "../slot", ".", "file://$T/we%62", "file://localhost$T/web", "$T/link/link/slot/.git", "$T/far/../../web"}
		if target != "main" {
			addresses = []string{"$T/srv.git", "$T/srv", "../srv.git/", "../srv", "file://$T/srv.git", "file://$T/srv", "$T/link/srv", "$T//srv.git/.", "$T/far/../../srv"}
		}
		free := guarded{t, append(slices.Clone(g.env), parametersVariable+"=")}
		tip, _ := free.sh(top, "git --git-dir=srv.git rev-parse main; git -C web rev-parse main")
		refused := func(dir, script string) {
			t.Helper()
			out, ok := g.sh(dir, "T="+top+"; "+script)
			if now, _ := free.sh(top, "git --git-dir=srv.git rev-parse main; git -C web rev-parse main"); ok || !strings.Contains(out, "by landing only") || now != tip {
				t.Errorf("target %s: %s: %t, %s", target, script, ok, out)
			}
		}
		for n, address := range addresses {
			clone := withCommit(address)
			refused(slot, clone+"git push -q origin HEAD:main")
			if n > 0 {
				continue
			}
			refused(slot, clone+"git remote set-url origin https://example.com/else && git remote set-url --push origin $T/web && git push -q $T/link/"+strings.TrimPrefix(addresses[0], "$T/")+" 'HEAD^{/my own work}:main'")
			refused(slot, clone+"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=none git push -q origin HEAD:main")
			refused(slot, `c=$(mktemp -d) && git clone -q --bare "`+address+`" "$c/b" && git -C "$c/b" worktree add -q ../w main && cd "$c/w" && git commit -q --allow-empty -m mine && git push -q origin HEAD:main`)
		}
		refused(slot, `git push -q `+addresses[1]+` HEAD:main`)
		// git itself reads a user's home directory in front of a path.
		refused(slot, withCommit(addresses[0])+`up=$(eval echo "~$(id -un)" | sed 's,/[^/]*,/..,g') && git push -q "~$(id -un)$up`+addresses[0]+`" HEAD:main`)
	}
}

// withCommit begins a script with a clone that has a commit of its own.
func withCommit(address string) string {
	return `c=$(mktemp -d) && git clone -q -b main "` + address + `" "$c/c" && cd "$c/c" && git commit -q --allow-empty -m "my own work" && `
}

// TestGuard_ownHooks: all hooks of another repository still run, with what git tells them, wherever they are.
func TestGuard_ownHooks(t *testing.T) {
	for _, own := range []string{".git/hooks", "own", ".git/own hooks"} {
		g, main, slot := newGuarded(t, "plain", "main", "true")
		clone := t.TempDir()
		script := `git clone -q ` + main + ` ` + clone + ` && cd ` + clone + ` && mkdir -p "` + own + `" && git config core.hooksPath "` + own + `" &&
for hook in post-checkout pre-commit prepare-commit-msg commit-msg post-commit reference-transaction post-index-change post-rewrite pre-push; do printf '#!/bin/sh\necho %s ran "$@" >>"$LOG"; cat >>"$LOG"\n' $hook >"` + own + `/$hook"; chmod +x "` + own + `/$hook"; done
git worktree add -q -b wt .git/wt </dev/null && git add . && git commit -q --allow-empty -m mine </dev/null && git commit -q --amend --no-edit --allow-empty </dev/null && git push -q origin HEAD:refs/heads/mine </dev/null`
		read := func(env []string) string {
			log := filepath.Join(t.TempDir(), "log")
			if out, ok := (guarded{t, append(slices.Clone(env), "LOG="+log, "GIT_AUTHOR_DATE=@1000000000 +0000", "GIT_COMMITTER_DATE=@1000000000 +0000")}).sh(slot, script); !ok {
				t.Fatal(out)
			}
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(clone); err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		want := read(append(slices.Clone(g.env), parametersVariable+"="))
		if out, ok := g.sh(main, "GIT_CONFIG_PARAMETERS= git branch -D mine"); !ok {
			t.Fatal(out)
		}
		if got := read(g.env); got != want || !strings.Contains(got, "post-checkout ran") || !strings.Contains(got, "pre-push ran origin "+main) || !strings.Contains(got, "reference-transaction ran committed") {
			t.Errorf("in %s: the hooks wrote\n%s\nand without the guard\n%s", own, got, want)
		}
	}
}

// TestGitParameters: the settings of the guard come after those that were there, and git reads them.
func TestGitParameters(t *testing.T) {
	for _, before := range []string{"X=y", "GIT_CONFIG_PARAMETERS=", "GIT_CONFIG_PARAMETERS='a.b'='c'"} {
		vars := gitParameters([]string{before}, [][2]string{{"a.it's.x", "p=q 'r' \\"}, {"a.b", "d"}, {"a.x=y.z", "e=f"}})
		cmd := exec.CommandContext(t.Context(), "git", "-c", "a.e=f", "config", "--get-regexp", `^a\.`)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), vars}
		out, err := cmd.CombinedOutput()
		want := "a.it's.x p=q 'r' \\\na.b d\na.x=y.z e=f\na.e f\n"
		if strings.HasSuffix(before, "'c'") {
			want = "a.b c\n" + want
		}
		if err != nil || string(out) != want {
			t.Errorf("with %s: git reads %q, %v", before, out, err)
		}
	}
}
