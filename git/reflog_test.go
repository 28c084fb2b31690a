package git_test

import "testing"

// TestFetched: what was pulled is told from what was made here.
func TestFetched(t *testing.T) {
	_, dir := newRepo(t)
	sh(t, dir, "git clone -q . ../clone-of-it && cd ../clone-of-it && git commit -q --allow-empty -m there && cd - && git pull -q --ff-only ../clone-of-it HEAD")
	r := find(t, dir)
	pulled := sh(t, dir, "git rev-parse HEAD")
	sh(t, dir, "git commit -q --allow-empty -m here")
	made := sh(t, dir, "git rev-parse HEAD")
	sh(t, dir, "git commit -q --amend --allow-empty -m again")
	amended := sh(t, dir, "git rev-parse HEAD")
	for commit, want := range map[string]bool{pulled: true, made: false, amended: false} {
		if got := r.Fetched(commit); got != want {
			t.Errorf("Fetched(%.7s) = %v, want %v", commit, got, want)
		}
	}
}

// TestLeft: a worktree that had a branch is found by its log.
func TestLeft(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "git worktree add -q -b a ../wt-a && git worktree add -q -b b ../wt-b && cd ../wt-a && git checkout -q -b a2 && cd ../wt-b && git branch -m b2")
	for branch, want := range map[string]string{"a": "a2", "b": "b2"} {
		w := r.Left(branch)
		if w == nil {
			t.Errorf("Left(%s) = nil", branch)
			continue
		}
		if head, err := w.Head(); err != nil || head.Branch != want {
			t.Errorf("Left(%s) has %v, %v, want %s", branch, head, err, want)
		}
	}
	if w := r.Left("nothing"); w != nil {
		t.Errorf("Left(nothing) = %v", w)
	}
}
