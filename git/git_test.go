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

// sh runs a script in a directory, as a user would, and returns what it prints.
func sh(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+filepath.Join(dir, "none"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// newRepo makes a repository with one commit.
func newRepo(t *testing.T) (*git.Repo, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "repo")
	sh(t, base, "mkdir repo && cd repo && git init -q -b main . && echo one > one && git add . && git commit -qm one")
	return find(t, dir), dir
}

func find(t *testing.T, dir string) *git.Repo {
	t.Helper()
	r, err := git.Find(dir)
	if err != nil {
		t.Fatalf("Find(%s): %v", dir, err)
	}
	return r
}

func TestFind(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "mkdir -p a/b && git worktree add -q ../"+filepath.Base(dir)+"-two && git clone -q --bare . ../"+filepath.Base(dir)+"-bare.git")
	two, bare := dir+"-two", dir+"-bare.git"
	t.Cleanup(func() { os.RemoveAll(two); os.RemoveAll(bare) })
	for _, c := range []struct {
		from, root, common, name string
		bare                     bool
	}{
		{dir, dir, r.Common, filepath.Base(dir), false},
		{dir + "/a/b", dir, r.Common, filepath.Base(dir), false},
		{two, two, r.Common, filepath.Base(dir), false},
		{bare, bare, bare, strings.TrimSuffix(filepath.Base(bare), ".git"), true},
	} {
		got := find(t, c.from)
		if got.Root != c.root || got.Common != c.common || got.Bare != c.bare || got.Name() != c.name {
			t.Errorf("Find(%s) = %+v, name %s, want %+v", c.from, got, got.Name(), c)
		}
	}
	if r, err := git.Find(filepath.Dir(dir)); !errors.Is(err, git.ErrNoRepo) {
		t.Errorf("Find outside a repository = %+v, %v", r, err)
	}
}

// TestHead compares what is read from files with what git says, in every state that a
// worktree can be in.
func TestHead(t *testing.T) {
	r, dir := newRepo(t)
	check := func(state string) {
		t.Helper()
		want := git.Head{
			Commit: sh(t, dir, "git rev-parse -q --verify HEAD || true"),
			Branch: sh(t, dir, "git symbolic-ref -q --short HEAD || true"),
		}
		if got, err := r.Head(); err != nil || got != want {
			t.Errorf("%s: Head = %+v, %v, want %+v", state, got, err, want)
		}
	}
	check("on a branch")
	sh(t, dir, "git pack-refs --all")
	check("packed")
	sh(t, dir, "git commit -q --allow-empty -m two")
	check("loose over packed")
	sh(t, dir, "git checkout -q -b feature/x")
	check("a branch with a slash")
	sh(t, dir, "git checkout -q --detach")
	check("detached")
	sh(t, dir, "git checkout -q --orphan new")
	check("before the first commit")
	sh(t, dir, "git symbolic-ref refs/heads/alias refs/heads/main")
	if got, want := r.Branch("alias"), sh(t, dir, "git rev-parse main"); got != want {
		t.Errorf("Branch(alias) = %s, want %s", got, want)
	}
	for _, bad := range []string{"../../HEAD", "", "a..b", "x.lock", "a b", "nosuch"} {
		if got := r.Branch(bad); got != "" {
			t.Errorf("Branch(%q) = %s", bad, got)
		}
	}
}

func TestTips(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `git tag -a v1 -m v1; git branch old; git pack-refs --all
git commit -q --allow-empty -m two; git branch x; git commit -q --allow-empty -m three; git checkout -q --detach
git commit -q --allow-empty -m four; git worktree add -q --detach wt HEAD~1; git update-ref refs/bossman/web-1/1 HEAD~2`)
	want := strings.Fields(sh(t, dir, "git for-each-ref --format='%(objectname) %(*objectname)'; git rev-parse HEAD; git -C wt rev-parse HEAD"))
	slices.Sort(want)
	want = slices.Compact(want)
	if got := r.Tips(); !slices.Equal(got, want) {
		t.Errorf("Tips = %q, want %q", got, want)
	}
}

func TestCommit(t *testing.T) {
	r, dir := newRepo(t)
	head := sh(t, dir, "git rev-parse HEAD")
	blob := sh(t, dir, "git rev-parse HEAD:one")
	sh(t, dir, "git tag -a -m v v1 && git branch Topic")
	for _, name := range []string{head, head[:7], strings.ToUpper(head[:12]), " " + head + "\n", "main", "HEAD", "v1", "Topic", "HEAD~0"} {
		if got, err := r.Commit(t.Context(), name); err != nil || got != head {
			t.Errorf("Commit(%q) = %s, %v", name, got, err)
		}
	}
	for _, name := range []string{
		"", "--all", "--version", "-h", "deadbeef", blob, strings.Repeat("0", 40), "v1;touch x", "^HEAD", "HEAD^@", "HEAD..main", "HEAD:one", "HEAD\nHEAD", strings.Repeat("a", 1000),
	} {
		if got, err := r.Commit(t.Context(), name); !errors.Is(err, git.ErrNoCommit) {
			t.Errorf("Commit(%q) = %s, %v, want ErrNoCommit", name, got, err)
		}
	}
}

func TestIsNew(t *testing.T) {
	r, dir := newRepo(t)
	ctx := t.Context()
	old := sh(t, dir, "git rev-parse HEAD")
	sh(t, dir, "git checkout -q -b other && git commit -q --allow-empty -m other && git checkout -q main")
	other := sh(t, dir, "git rev-parse other")
	tips := append(r.Tips(), strings.Repeat("1", 40)) // one that is gone
	sh(t, dir, "git commit -q --allow-empty -m new")
	fresh := sh(t, dir, "git rev-parse HEAD")
	for commit, want := range map[string]bool{old: false, other: false, fresh: true} {
		if got, err := r.IsNew(ctx, commit, tips); err != nil || got != want {
			t.Errorf("IsNew(%s) = %v, %v, want %v", commit, got, err, want)
		}
	}
	for tip, want := range map[string]bool{fresh: true, old: false, other: false} {
		if got, err := r.Contains(ctx, tip, fresh); err != nil || got != want {
			t.Errorf("Contains(%s, %s) = %v, %v, want %v", tip, fresh, got, err, want)
		}
	}
}

// TestSnapshot: the tree has committed, staged, changed, deleted and new files, and not
// the ignored ones; branch, index and files stay as they are.
func TestSnapshot(t *testing.T) {
	r, dir := newRepo(t)
	ctx := t.Context()
	sh(t, dir, `echo ignored > .gitignore; mkdir sub; echo a > sub/a; echo gone > gone; git add .; git commit -qm two
echo changed >> one; rm gone; echo staged > staged; git add staged; echo x > ignored; echo new > sub/new; chmod +x sub/a`)
	before := sh(t, dir, "git status --porcelain=v2 --branch; cat .git/HEAD; sha256sum .git/index")
	s, err := r.Snapshot(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if after := sh(t, dir, "git status --porcelain=v2 --branch; cat .git/HEAD; sha256sum .git/index"); after != before {
		t.Errorf("the snapshot has changed the repository:\n%s\nbefore:\n%s", after, before)
	}
	if got, want := sh(t, dir, "git ls-tree -r --name-only "+s.Tree), ".gitignore\none\nstaged\nsub/a\nsub/new"; got != want {
		t.Errorf("the tree has\n%s\nwant\n%s", got, want)
	}
	if s.Base != sh(t, dir, "git rev-parse HEAD") {
		t.Errorf("Base = %s", s.Base)
	}
	again, err := r.Snapshot(ctx, nil)
	if err != nil || again != s {
		t.Errorf("a second snapshot = %+v, %v, want %+v", again, err, s)
	}
	sh(t, dir, "echo more >> one")
	other, err := r.Snapshot(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Changed(ctx, s.Tree, other.Tree, 10); err != nil || !slices.Equal(got, []string{"one"}) {
		t.Errorf("Changed = %q, %v", got, err)
	}
}

// TestSnapshot_sameSize: a file that changes within the second in which the index was
// written, and keeps its size, is seen as changed. Many builds of git compare seconds.
func TestSnapshot_sameSize(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `git config core.trustctime false
echo aaa > f; touch -d @1700000000 f; git add f; touch -d @1700000000 .git/index
echo bbb > f; touch -d @1700000000 f`)
	s, err := r.Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := sh(t, dir, "git show "+s.Tree+":f"); got != "bbb" {
		t.Errorf("the snapshot has %q, want bbb", got)
	}
}

// TestSnapshot_stat: nor does the time of modification hide a change, whatever is configured.
func TestSnapshot_stat(t *testing.T) {
	for _, set := range []string{"core.trustctime false", "core.checkStat minimal", "core.ignoreStat true", "user.name Ada"} {
		r, dir := newRepo(t)
		sh(t, dir, "echo bad > f; touch -d @1700000000 f; git add f; git commit -qm f; git config "+set+"; git status")
		sh(t, dir, "echo new > f; touch -d @1700000000 f") // in the same second, mostly
		s, err := r.Snapshot(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := sh(t, dir, "git show "+s.Tree+":f"); got != "new" {
			t.Errorf("%s: the snapshot has %q, want new", set, got)
		}
	}
}

// TestSnapshot_flags: flags of the index do not hide a change.
func TestSnapshot_flags(t *testing.T) {
	for _, flag := range []string{"--assume-unchanged", "--skip-worktree"} {
		r, dir := newRepo(t)
		sh(t, dir, "git update-index "+flag+" one; echo changed > one")
		s, err := r.Snapshot(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := sh(t, dir, "git show "+s.Tree+":one"); got != "changed" {
			t.Errorf("%s: the snapshot has %q, want changed", flag, got)
		}
	}
}

// TestSnapshot_states: before the first commit, and in the middle of a merge.
func TestSnapshot_states(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, "git init -q -b main . && echo one > one")
	s, err := find(t, dir).Snapshot(t.Context(), nil)
	if err != nil || s.Base != "" || sh(t, dir, "git ls-tree --name-only "+s.Tree) != "one" {
		t.Errorf("before the first commit: %+v, %v", s, err)
	}
	r, dir := newRepo(t)
	sh(t, dir, `git checkout -q -b b; echo b > one; git commit -qam b; git checkout -q main; echo m > one; git commit -qam m; git merge -q b || true`)
	s, err = r.Snapshot(t.Context(), nil)
	if err != nil || !strings.Contains(sh(t, dir, "git show "+s.Tree+":one"), "<<<<<<<") {
		t.Errorf("in a merge: %+v, %v", s, err)
	}
	if out := sh(t, dir, "git status"); !strings.Contains(out, "both modified") {
		t.Errorf("the merge is no longer open:\n%s", out)
	}
}

// TestRun_hostile: reading runs nothing that the repository or the environment names.
func TestRun_hostile(t *testing.T) {
	r, dir := newRepo(t)
	canary := filepath.Join(t.TempDir(), "canary")
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$0 $*\" >> "+canary+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, `git config core.fsmonitor `+program+`; git config filter.x.clean `+program+`; git config filter.x.smudge `+program+`
git config core.pager `+program+`; git config diff.external `+program+`; git config core.sshCommand `+program+`
git config alias.rev-parse '!`+program+`'; git config alias.merge-base '!`+program+`'; git config credential.helper '!`+program+`'
mkdir hooks; for h in post-index-change reference-transaction pre-commit post-checkout; do cp `+program+` hooks/$h; done; git config core.hooksPath hooks
echo '* filter=x diff=x' > .gitattributes; git config diff.x.textconv `+program+`; echo changed > one`)
	t.Setenv("GIT_DIR", "/nonexistent")
	t.Setenv("GIT_EXTERNAL_DIFF", program)
	t.Setenv("GIT_TRACE", canary)
	ctx := t.Context()
	head, err := r.Head()
	if err != nil || head.Branch != "main" {
		t.Fatalf("Head = %+v, %v", head, err)
	}
	if _, err := r.Commit(ctx, head.Commit); err != nil {
		t.Error(err)
	}
	if _, err := r.Contains(ctx, head.Commit, head.Commit); err != nil {
		t.Error(err)
	}
	if _, err := r.IsNew(ctx, head.Commit, r.Tips()); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(canary); err == nil {
		t.Errorf("something was run:\n%s", text)
	}
}

// Where the file system tells cases apart, so does a snapshot.
func TestSnapshot_case(t *testing.T) {
	r, dir := newRepo(t)
	if _, err := os.Stat(filepath.Join(dir, "ONE")); err == nil {
		t.Skip("the file system does not tell cases apart")
	}
	sh(t, dir, "git config core.ignoreCase true; echo other > One")
	s, err := r.Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sh(t, dir, "git ls-tree --name-only "+s.Tree), "One\none"; got != want {
		t.Errorf("the snapshot has %q, want %q", got, want)
	}
}
