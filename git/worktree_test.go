package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

func TestWorktree(t *testing.T) {
	r, dir := newRepo(t)
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	two, gone := filepath.Join(top, "two"), filepath.Join(top, "gone")
	sh(t, dir, "git worktree add -q -b two "+two+" && git worktree add -q -b gone "+gone+" && git branch nowhere")
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{dir, two} {
		r = find(t, from)
		for branch, want := range map[string]string{"main": dir, "two": two, "gone": "", "nowhere": "", "nosuch": "", "../main": ""} {
			got := ""
			if w := r.Worktree(branch, dir); w != nil {
				got = w.Root
			}
			if got != want {
				t.Errorf("from %s, Worktree(%q) = %q, want %q", from, branch, got, want)
			}
		}
	}
	sh(t, two, "git checkout -q --ignore-other-worktrees main")
	for _, prefer := range []string{dir, two} {
		if w := r.Worktree("main", prefer); w == nil || w.Root != prefer {
			t.Errorf("of two worktrees on main, Worktree prefers %v, want %s", w, prefer)
		}
	}
	// Its files of git are in the worktree, where whoever works there writes the configuration.
	sh(t, two, "d=$(git rev-parse --absolute-git-dir) && cp -R $d own && echo "+r.Common+" > own/commondir && echo gitdir: own > .git")
	if w := r.Worktree("main", two); w == nil || w.Root != dir {
		t.Errorf("Worktree is %+v, with a git directory in the worktree, want %s", w, dir)
	}
}

func TestChanges(t *testing.T) {
	r, dir := newRepo(t)
	for script, want := range map[string]bool{
		"true":                             true, // the first commit
		"git commit -q --allow-empty -m x": false,
		"echo two > one && git commit -qam x && git checkout -q -b side HEAD~1 && echo s > side && git add . && git commit -qm s && git merge -q --no-edit main": true,
	} {
		commit := sh(t, dir, script+" && git rev-parse HEAD")
		if got, err := r.Changes(t.Context(), commit); got != want || err != nil {
			t.Errorf("%s: Changes = %v, %v, want %v", script, got, err, want)
		}
		sh(t, dir, "git checkout -q main && git reset -q --hard $(git rev-list --max-parents=0 HEAD) && git branch -q -D side || true")
	}
}

// A directory whose .git leads to a bare repository in it is no worktree, and the git directory
// of a worktree is no part of its content, whatever its name.
func TestSnapshot_ownDirectory(t *testing.T) {
	_, dir := newRepo(t)
	base := filepath.Dir(dir)
	sh(t, base, `git clone -q --bare repo web/.bare && cd web && echo gitdir: ./.bare > .git && git worktree add -q main main`)
	web := find(t, filepath.Join(base, "web"))
	if !web.Bare || web.Root != filepath.Join(base, "web") {
		t.Fatalf("Find(web) = %+v, want a bare repository", web)
	}
	if inside := find(t, web.Dir); inside.Root != web.Root || !inside.Bare {
		t.Errorf("Find(web/.bare) = %+v, want web", inside)
	}
	if s, err := web.Snapshot(t.Context(), nil); err == nil {
		t.Errorf("Snapshot(web) = %+v, want an error", s)
	}
	if got := web.Worktree("main", web.Root); got == nil || got.Root != filepath.Join(base, "web", "main") {
		t.Errorf("Worktree(main) = %+v, want web/main", got)
	}
	sh(t, web.Root, "git config extensions.worktreeConfig true && git config --unset core.bare && git config --worktree core.bare true")
	if got := find(t, web.Root); !got.Bare {
		t.Errorf("Find(web) with the setting in config.worktree = %+v, want a bare repository", got)
	}

	sh(t, base, `mkdir own && cd own && git init -q --separate-git-dir=.store . && echo one > one && git add one && git commit -qm one`)
	own := find(t, filepath.Join(base, "own"))
	before, err := own.Loose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := own.Snapshot(t.Context(), nil)
		if want := sh(t, dir, "git rev-parse HEAD^{tree}"); err != nil || own.Bare || s.Tree != want {
			t.Errorf("Snapshot(own) = %v, %v; want the tree with one file, %s", s, err, want)
		}
	}
	if after, err := own.Loose(t.Context()); err != nil || after.Sum() != before.Sum() {
		t.Errorf("Loose(own) = %v, %v; want %v as before", after, err, before)
	}
	if s, err := own.Status(t.Context()); err != nil || s.Uncommitted != 0 {
		t.Errorf("Status(own) = %+v, %v; want nothing uncommitted", s, err)
	}
}

// TestLinked_swapped: what was put in the place of a worktree is neither stored nor cleaned.
func TestLinked_swapped(t *testing.T) {
	for name, swap := range map[string]string{
		"link":              "mv slots/slot slots/old; ln -s ../home slots/slot",
		"link with .git":    "mv slots/slot slots/old; cp slots/old/.git home/.git; ln -s ../home slots/slot",
		"directory":         "mv slots/slot slots/old; cp slots/old/.git home/.git; mv home slots/slot; ln -s slots/slot home",
		"directory above":   "mv slots old; mkdir other; cp old/slot/.git home/.git; mv home other/slot; ln -s other slots; ln -s other/slot home",
		"mount in the slot": "mkdir slots/slot/data; mount --bind home slots/slot/data",
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			base := filepath.Dir(dir)
			sh(t, base, "mkdir slots home; echo mine > home/file")
			w, err := r.AddWorktree(t.Context(), filepath.Join(base, "slots", "slot"), "main", nil)
			if err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("sh", "-ec", "cd "+base+"; "+swap).CombinedOutput(); err != nil {
				if name == "mount in the slot" {
					t.Skipf("this user may not mount: %s", out)
				}
				t.Fatalf("%v: %s", err, out)
			}
			t.Cleanup(func() { _ = exec.Command("umount", filepath.Join(base, "slots", "slot", "data")).Run() })
			if _, err := w.Store(t.Context(), nil, git.Snapshot{}, "refs/bossman/web-1/1", "m"); err == nil || !strings.Contains(err.Error(), "left alone") {
				t.Errorf("Store = %v", err)
			}
			if err := w.Checkout(t.Context(), "", "main", true, nil); err == nil || !strings.Contains(err.Error(), "left alone") {
				t.Errorf("Checkout = %v", err)
			}
			if text, err := os.ReadFile(filepath.Join(base, "home", "file")); string(text) != "mine\n" {
				t.Errorf("the file outside is %q, %v", text, err)
			}
		})
	}
}

// TestAside: a worktree that is moved away is one of its own there, with its submodules; and the
// repositories of submodules stay if somebody has deleted the worktree.
func TestAside(t *testing.T) {
	r, dir := newRepo(t)
	slot := filepath.Join(filepath.Dir(dir), "slot")
	added := func() {
		t.Helper()
		w, err := r.AddWorktree(t.Context(), slot, "main", nil)
		if err == nil {
			err = w.Checkout(t.Context(), "work", "main", false, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const add = "git -c protocol.file.allow=always submodule --quiet add ../lib lib && cd lib && git commit -q --allow-empty -m precious && git update-ref refs/bossman/web-1/1 HEAD"
	sh(t, dir, "git init -q ../lib && cd ../lib && git commit -q --allow-empty -m lib")
	added()
	sh(t, slot, add)
	aside := slot + ".aside"
	if modules, err := r.Aside(t.Context(), slot, aside); err != nil || modules != "" {
		t.Fatalf("Aside = %q, %v", modules, err)
	}
	added() // on the same branch
	if got, want := sh(t, aside, "git rev-parse --abbrev-ref HEAD && git status --short && git -C lib log --format=%s && touch lib/new && git -C lib status --short"), "HEAD\nA  .gitmodules\nAM lib\nprecious\nlib\n?? new"; got != want {
		t.Errorf("in the worktree that was moved:\n%s\nwant\n%s", got, want)
	}
	if got := sh(t, slot, "git rev-parse --abbrev-ref HEAD && git status --short"); got != "work" {
		t.Errorf("in the new worktree: %s", got)
	}
	sh(t, slot, add+" && rm -rf "+slot)
	modules, err := r.Aside(t.Context(), slot, slot+".again")
	if err != nil || !strings.HasPrefix(modules, slot+".modules-") {
		t.Fatalf("Aside without a worktree = %q, %v", modules, err)
	}
	if got := sh(t, modules, "git --git-dir=lib log --format=%s refs/bossman/web-1/1"); got != "precious\nlib" {
		t.Errorf("the submodule's repository has %q", got)
	}
	added()
}

// TestLinked_commondir: a worktree whose git directory names another repository meanwhile is not
// written, and nothing is stored there.
func TestLinked_commondir(t *testing.T) {
	r, dir := newRepo(t)
	base := filepath.Dir(dir)
	w, err := r.AddWorktree(t.Context(), filepath.Join(base, "slot"), "main", nil)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, base, "cp -r repo/.git evil; mv evil/objects outside; ln -s ../outside evil/objects; echo $PWD/evil > repo/.git/worktrees/slot/commondir; echo new > slot/new")
	before := sh(t, base, "find outside evil | sort")
	if s, err := w.Snapshot(t.Context(), nil); err != nil || sh(t, dir, "git show "+s.Tree+":new") != "new" {
		t.Errorf("Snapshot = %+v, %v", s, err)
	}
	_, err = w.Store(t.Context(), nil, git.Snapshot{}, "refs/bossman/web-1/1", "m")
	for what, err := range map[string]error{
		"Store": err, "Checkout": w.Checkout(t.Context(), "bossman/web-1", "main", false, nil), "SetRef": w.SetRef(t.Context(), "refs/bossman/web-1/1", r.Branch("main"), ""),
	} {
		if err == nil || !strings.Contains(err.Error(), "names another repository") {
			t.Errorf("%s = %v", what, err)
		}
	}
	if after := sh(t, base, "find outside evil | sort"); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
