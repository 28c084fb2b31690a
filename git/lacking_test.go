package git_test

import (
	"fmt"
	"slices"
	"testing"
)

// TestLacking shows which submodules should be checked out and are not, and that a setup counts as undone when one is not any more.
func TestLacking(t *testing.T) {
	r, dir := newRepo(t)
	const allow = "git -c protocol.file.allow=always "
	deep, lib := t.TempDir(), t.TempDir()
	sh(t, deep, "git init -q -b main . && echo deep > deep && git add . && git commit -qm deep")
	sh(t, lib, "git init -q -b main . && echo lib > lib && git add . && git commit -qm one && "+allow+"submodule add -q "+deep+" deep && git commit -qm two")
	sh(t, dir, allow+"submodule add -q --name named "+lib+" lib && "+allow+"submodule add -q "+lib+" other && git commit -qm lib && git tag first")
	before := ""
	lacks := func(state string, want ...string) {
		t.Helper()
		list, err := find(t, dir).Lacking(t.Context(), before)
		var got []string
		for _, s := range list {
			got = append(got, s.Path+"="+s.Name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: Lacking = %q, %v, want %q", state, got, err, want)
		}
	}
	empty := func(state string, want ...string) {
		t.Helper()
		if got, err := find(t, dir).Empty(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: Empty = %q, %v, want %q", state, got, err, want)
		}
	}
	print, err := r.Prepared(t.Context(), "x")
	if err != nil || print != "x" {
		t.Errorf("Prepared with all checked out = %q, %v", print, err)
	}
	lacks("all checked out, but for one inside that nobody has initialized")
	empty("the one inside", "lib/deep", "other/deep")
	sh(t, dir, allow+"submodule --quiet update --init --recursive")
	lacks("all")
	sh(t, dir, "git -C lib submodule --quiet deinit -f deep && git -C lib config submodule.deep.url "+deep)
	lacks("one inside", "lib/deep=deep")
	sh(t, dir, "git -C lib "+allow[4:]+"submodule --quiet update")
	sh(t, dir, "git -C other checkout -q HEAD~1")
	lacks("another commit", "other=other")
	sh(t, dir, "git add other && git commit -qm other")
	lacks("another commit, recorded")

	sh(t, dir, "rm -rf lib/* lib/.git other/* other/.git other/.gitmodules lib/.gitmodules")
	lacks("emptied", "lib=named", "other=other")
	empty("emptied", "lib", "other")
	if now, err := find(t, dir).Prepared(t.Context(), "x"); err != nil || now == print {
		t.Errorf("Prepared with empty ones = %q, %v", now, err)
	}
	sh(t, dir, "git config submodule.active lib && git config --unset submodule.other.active")
	lacks("only one is active", "lib=named")
	sh(t, dir, "git config submodule.named.active false")
	lacks("none is active")
	before = "first"
	lacks("none is active, and one has another commit", "other=other")
	sh(t, dir, "git config submodule.other.update none")
	lacks("it is not to be checked out")
}

// TestInside shows which repositories in a worktree have files that no commit has.
func TestInside(t *testing.T) {
	r, dir := newRepo(t)
	lib := t.TempDir()
	sh(t, lib, "git init -q -b main . && echo lib > lib && git add . && git commit -qm lib")
	sh(t, dir, "git -c protocol.file.allow=always submodule add -q "+lib+" lib && git commit -qm lib && git init -q app && git -C app commit -q --allow-empty -m app")
	got, err := r.Inside(t.Context())
	if want := "[app lib]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("Inside = %v, %v, want %s", got, err, want)
	}
}
