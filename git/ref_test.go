package git_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/git"
)

// HEAD and refs that are symbolic links are read as git reads them, unless they lead to a file
// outside: its digits would be shown as a commit.
func TestHead_links(t *testing.T) {
	secret := strings.Repeat("5ec7e7", 10) + "5ec7"
	for _, c := range []struct {
		name, script, branch string
		commit               bool // it is that of main
	}{
		{"HEAD names a branch", "ln -sf refs/heads/main HEAD", "main", true},
		{"a branch names another", "ln -s refs/heads/main refs/heads/other && echo ref: refs/heads/other > HEAD", "other", true},
		{"HEAD of another repository", "cp -R . ../../repo2 && ln -sf ../../repo2/HEAD HEAD", "main", true},
		{"HEAD leads outside", "ln -sf ../../secret HEAD", "", false},
		{"HEAD leads outside, by a name like a branch's", "ln -sf refs/../../../secret HEAD", "", false},
		{"HEAD leads into the worktree", "cp ../../secret ../digits && ln -sf ../digits HEAD", "", false},
		{"a branch leads outside", "ln -sf ../../../../secret refs/heads/main", "main", false},
		{"branches are outside", "mkdir ../../out && cp ../../secret ../../out/main && rm -r refs/heads && ln -s ../../../out refs/heads", "main", false},
		{"packed refs are outside", `rm refs/heads/main && echo "$(cat ../../secret) refs/heads/main" > ../../packed && ln -s ../../packed packed-refs`, "main", false},
	} {
		r, dir := newRepo(t)
		main := sh(t, dir, "git rev-parse main")
		if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "secret"), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		sh(t, r.Dir, c.script)
		want := git.Head{Branch: c.branch}
		if c.commit {
			want.Commit = main
		}
		if got, err := r.Head(); got != want || err == nil && want == (git.Head{}) {
			t.Errorf("%s: Head = %+v, %v, want %+v", c.name, got, err, want)
		}
		for _, tip := range r.Tips() {
			if tip != main {
				t.Errorf("%s: Tips has %s", c.name, tip)
			}
		}
	}
}

// TestCommit_shadowed: a branch cannot take the place of a commit that is named by its first digits.
func TestCommit_shadowed(t *testing.T) {
	r, dir := newRepo(t)
	main := r.Branch("main")
	sh(t, dir, "git checkout -q -b "+git.Short(main)+" && git commit -q --allow-empty -m evil && git checkout -q main")
	if got, err := r.Commit(t.Context(), git.Short(main)); err != nil || got != main {
		t.Errorf("Commit = %s, %v, want %s", got, err, main)
	}
	if r.Shadowed("main") {
		t.Error("nothing else is called main")
	}
	sh(t, dir, "git tag main refs/heads/"+git.Short(main))
	if !r.Shadowed("main") {
		t.Error("a tag of the name of a branch is not noticed")
	}
	sh(t, dir, "git branch deadbeef refs/heads/main")
	if got, err := r.Commit(t.Context(), "deadbeef"); err != nil || got != main {
		t.Errorf("a branch with digits as its name: %s, %v", got, err)
	}
	if got, err := r.Abbreviated(t.Context(), "deadbeef"); err != nil || got != "" {
		t.Errorf("Abbreviated takes a branch for a commit: %s, %v", got, err)
	}
	if got, err := r.Abbreviated(t.Context(), git.Short(main)); err != nil || got != main {
		t.Errorf("Abbreviated = %s, %v, want %s", got, err, main)
	}
}

// TestTracking: the remote-tracking branch of a branch is found, packed or not, that of origin first.
func TestTracking(t *testing.T) {
	r, dir := newRepo(t)
	main := r.Branch("main")
	for _, c := range []struct{ ref, want string }{
		{"refs/remotes/fork/x", ""},
		{"refs/remotes/fork/feat/1", "fork/feat/1"},
		{"refs/remotes/origin/feat/1", "origin/feat/1"},
	} {
		sh(t, dir, "git update-ref "+c.ref+" "+main)
		for range 2 {
			if name, commit := r.Tracking("feat/1"); name != c.want || (commit == main) != (name != "") {
				t.Errorf("with %s: Tracking = %q, %q, want %q", c.ref, name, commit, c.want)
			}
			sh(t, dir, "git pack-refs --all")
		}
	}
}

// TestSetRef_locked: whatever the repository configures, nobody waits for ever for the lock of a ref.
func TestSetRef_locked(t *testing.T) {
	r, dir := newRepo(t)
	commit := sh(t, dir, "git config core.filesRefLockTimeout -1 && git config core.packedRefsTimeout -1 && mkdir -p .git/refs/bossman && touch .git/refs/bossman/one.lock && git rev-parse HEAD")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := r.SetRef(ctx, "refs/bossman/one", commit, ""); err == nil || ctx.Err() != nil {
		t.Errorf("SetRef = %v, want that it is locked", err)
	}
}

func TestRepo_Leads(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `git branch -M main; git branch dir/topic; git branch packed; git pack-refs --all; git branch loose
		git symbolic-ref refs/heads/one refs/heads/main; git symbolic-ref refs/heads/two refs/heads/one; git symbolic-ref refs/heads/loop refs/heads/loop2; git symbolic-ref refs/heads/loop2 refs/heads/loop
		ln -s refs/heads/main .git/refs/heads/link`)
	for ref, want := range map[string]string{
		"refs/heads/main": "refs/heads/main", "refs/heads/packed": "refs/heads/packed", "refs/heads/loose": "refs/heads/loose", "refs/heads/none": "refs/heads/none", "refs/heads/main/x": "refs/heads/main/x",
		"refs/heads/dir": "refs/heads/dir", "refs/heads/one": "refs/heads/main", "refs/heads/two": "refs/heads/main", "refs/heads/link": "refs/heads/main", "refs/heads/../x": "refs/heads/../x",
	} {
		if got, err := r.Leads(t.Context(), ref); err != nil || got != want {
			t.Errorf("Leads(%s) = %q, %v; want %q", ref, got, err, want)
		}
	}
	if got, err := r.Leads(t.Context(), "refs/heads/loop"); err == nil {
		t.Errorf("Leads of a cycle = %q", got)
	}
}
