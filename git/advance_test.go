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

// advance is a move of main to branch next.
func advance(t *testing.T, dir string) git.Advance {
	t.Helper()
	return git.Advance{Branch: "main", Old: commitOf(t, dir, "main"), New: commitOf(t, dir, "next"), Why: "bossman: landed web-1"}
}

// held returns the files of a *HeldError, and whether err is one.
func held(err error) ([]string, bool) {
	e, ok := errors.AsType[*git.HeldError](err)
	if !ok {
		return nil, false
	}
	return e.Files, true
}

// newNext makes a repository with a branch next that changes, adds and removes files, and main
// checked out.
func newNext(t *testing.T) (*git.Repo, string) {
	t.Helper()
	r, dir := newRepo(t)
	sh(t, dir, `seq 9 > keep; seq 20 > change; seq 30 > gone; mkdir d; echo x > d/x; printf 'ignored\n' > .gitignore; git add -A; git commit -qm base
		git checkout -qb next; seq 21 > change; git rm -q gone; mkdir e; echo y > e/y; chmod +x d/x; ln -s keep link; git add -A; git commit -qm next; git checkout -q main`)
	return r, dir
}

// left lists what git and Bossman have left in a git directory.
func left(t *testing.T, dir string) string {
	t.Helper()
	return sh(t, dir, "find .git -name '*.lock' -not -path '.git/bossman/*'; find .git -name 'bossman-*'")
}

func TestAdvance_notCheckedOut(t *testing.T) {
	r, dir := newNext(t)
	sh(t, dir, "git checkout -q --detach; echo mine > keep")
	a := advance(t, dir)
	before := sh(t, dir, "git status --porcelain; git rev-parse HEAD")
	done, err := r.Advance(t.Context(), a, nil)
	if err != nil || done.Dir != "" || commitOf(t, dir, "main") != a.New {
		t.Fatalf("Advance = %+v, %v", done, err)
	}
	if after := sh(t, dir, "git status --porcelain; git rev-parse HEAD"); after != before {
		t.Errorf("the worktree was %q and is %q", before, after)
	}
	if log := sh(t, dir, "git reflog -1 --format=%gs main"); log != "bossman: landed web-1" {
		t.Errorf("the log says %q", log)
	}
	_, err = r.Advance(t.Context(), a, nil)
	if e, ok := errors.AsType[*git.MovedError](err); !ok || e.Now != a.New {
		t.Errorf("once more: %v", err)
	}
	a.Old, a.New = a.New, a.Old
	if _, err := r.Advance(t.Context(), a, nil); err == nil || commitOf(t, dir, "main") != a.Old {
		t.Errorf("backwards: %v", err)
	}
	fresh := git.Advance{Branch: "fresh", New: a.Old, Why: "w"}
	if _, err := r.Advance(t.Context(), fresh, nil); err != nil || commitOf(t, dir, "fresh") != a.Old {
		t.Errorf("a new branch: %v", err)
	}
	if got := left(t, dir); got != "" {
		t.Errorf("left: %s", got)
	}
}

// TestAdvance_layouts: the checkout is found wherever it is, and several are refused.
func TestAdvance_layouts(t *testing.T) {
	_, dir := newNext(t)
	base := filepath.Dir(dir)
	sh(t, base, `git clone -q --bare repo bare.git; git -C bare.git worktree add -q ../of-bare main
		git clone -q --separate-git-dir=apart.git repo apart; git -C apart branch -q next origin/next; git -C apart worktree add -q --detach ../of-apart
		mkdir hidden; git clone -q --bare repo hidden/.bare; echo 'gitdir: ./.bare' > hidden/.git; git -C hidden worktree add -q main main
		git clone -q repo linked; cd linked; git branch -q next origin/next; git checkout -q --detach; git worktree add -q ../of-linked main`)
	for from, checkout := range map[string]string{"bare.git": "of-bare", "of-bare": "of-bare", "hidden": "hidden/main", "linked": "of-linked"} {
		at := filepath.Join(base, checkout)
		r := find(t, filepath.Join(base, from))
		on, err := r.CheckedOut("main")
		if err != nil || len(on) != 1 || on[0].Root != at {
			t.Errorf("%s: CheckedOut = %v, %v, want %s", from, on, err, at)
			continue
		}
		if commitOf(t, at, "main") == commitOf(t, at, "next") {
			continue // from the other one
		}
		a := advance(t, at)
		a.Leave = true
		if _, err := r.Advance(t.Context(), a, nil); func() bool { _, ok := held(err); return !ok }() {
			t.Errorf("%s: with Leave: %v", from, err)
		}
		a.Leave = false
		if done, err := r.Advance(t.Context(), a, nil); err != nil || done.Dir != at || len(done.Left) > 0 {
			t.Errorf("%s: Advance = %+v, %v", from, done, err)
		}
		if got := sh(t, at, "git status --porcelain; git diff HEAD next; cat e/y; git log -1 --format=%H"); got != "y\n"+a.New {
			t.Errorf("%s: %s", from, got)
		}
	}
	two := find(t, dir)
	sh(t, dir, "git worktree add -q --force ../second main")
	_, err := two.Advance(t.Context(), advance(t, dir), nil)
	if _, ok := held(err); !ok || !strings.Contains(err.Error(), "second") || !strings.Contains(err.Error(), dir) {
		t.Errorf("checked out twice: %v", err)
	}
	sh(t, dir, "git checkout -q --detach; rm -rf ../second")
	if _, err := two.Advance(t.Context(), advance(t, dir), nil); err == nil || !strings.Contains(err.Error(), "worktree prune") {
		t.Errorf("checked out in a worktree that is not there: %v", err)
	}
	if _, err := find(t, filepath.Join(base, "of-apart")).CheckedOut("main"); func() bool { _, ok := held(err); return !ok }() {
		t.Errorf("checked out in a worktree that cannot be found: %v", err)
	}
}

// TestAdvance_user: what the user has changed stays, or is named if it is in the way.
func TestAdvance_user(t *testing.T) {
	for name, test := range map[string]struct {
		change string
		held   []string // if it is in the way
		why    string   // or another reason
		check  string   // a command that succeeds afterwards
	}{
		"nothing":                {},
		"other file":             {change: "echo mine > keep", check: "[ $(cat keep) = mine ] && git diff --cached --quiet"},
		"other file staged":      {change: "echo mine > keep; git add keep; echo more >> keep", check: "git diff --cached --quiet -- change && [ \"$(git show :keep)\" = mine ] && grep more keep"},
		"other file deleted":     {change: "rm keep", check: "! test -e keep && ! git diff --quiet"},
		"staged new":             {change: "echo new > new; git add new", check: "[ \"$(git show :new)\" = new ]"},
		"intent to add":          {change: "echo new > new; git add -N new", check: "git status --porcelain | grep '^ A new'"},
		"untracked":              {change: "echo u > untracked; echo i > ignored", check: "grep u untracked && grep i ignored"},
		"touched":                {change: "touch -d yesterday change keep d/x"},
		"changed":                {change: "echo mine >> change", held: []string{"change"}},
		"changed, same size":     {change: "t=$(stat -c %y change); sed -i s/1/2/ change; touch -d \"$t\" change", held: []string{"change"}},
		"staged":                 {change: "echo mine >> change; git add change", held: []string{"change"}},
		"staged, then restored":  {change: "echo mine >> change; git add change; git show HEAD:change > change", held: []string{"change"}},
		"deleted":                {change: "rm change", held: []string{"change"}},
		"changed, to be removed": {change: "echo mine >> gone", held: []string{"gone"}},
		"mode":                   {change: "chmod +x change", held: []string{"change"}},
		"untracked in the way":   {change: "echo u > link; mkdir -p e; echo u > e/y", held: []string{"e/y", "link"}},
		"file for a directory":   {change: "echo u > e", held: []string{"e/y"}},
		"directory for a file":   {change: "mkdir link; echo u > link/u", held: []string{"link"}},
		"ignored in the way":     {change: "echo link >> .git/info/exclude; echo u > link", held: []string{"link"}},
		"ignored directory":      {change: "echo link >> .git/info/exclude; mkdir link; echo u > link/u", held: []string{"link"}},
		"ignored for directory":  {change: "echo e >> .git/info/exclude; echo u > e", held: []string{"e/y"}},
		"assumed unchanged":      {change: "git update-index --assume-unchanged change; echo mine >> change", held: []string{"change"}},
		"skipped and there":      {change: "git update-index --skip-worktree change; echo mine >> change", held: []string{"change"}},
		"staged as it will be":   {change: "git show next:change > change; git add change; echo mine >> change", check: "grep mine change && git diff --cached --quiet"},
		"removed as it will be":  {change: "git rm -q gone", check: "! test -e gone && git diff --cached --quiet"},
		"as it will be":          {change: "git show next:change > change; mkdir e; echo y > e/y; ln -s keep link; chmod +x d/x; rm gone"},
		"ignored, as it will be": {change: "echo link >> .git/info/exclude; ln -s keep link"},
		"one as it will be":      {change: "git show next:change > change; mkdir e; echo u > e/y", held: []string{"e/y"}},
		"but for the mode":       {change: "git show next:change > change; chmod +x change", held: []string{"change"}},
		"staged something else":  {change: "echo mine >> change; git add change; git show next:change > change", held: []string{"change"}},
		"split index":            {change: "git update-index --split-index; echo mine > keep; git add keep", check: "[ \"$(git show :keep)\" = mine ]"},
		"empty directory":        {change: "mkdir link e"},
		"merge":                  {change: "git checkout -qb other; echo o > o; git add o; git commit -qm o; git checkout -q main; git merge -q --no-commit --no-ff other", why: "a merge is under way"},
		"bisect":                 {change: "git bisect start >/dev/null", why: "a bisect"},
		"rebase":                 {change: "GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -qi HEAD^ 2>/dev/null || true", why: "a rebase"},
		"conflict":               {change: "b=$(git rev-parse :keep); { echo \"0 $(echo $b | tr 0-9a-f 0)\tkeep\"; for n in 1 2 3; do echo \"100644 $b $n\tkeep\"; done; } | git update-index --index-info", held: []string{"keep"}},
		"another git":            {change: "touch .git/index.lock", why: "git is running"},
		"HEAD locked":            {change: "touch .git/HEAD.lock", why: "git is running"},
		"ref locked":             {change: "touch .git/refs/heads/main.lock", why: "is locked"},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newNext(t)
			sh(t, dir, "true; "+test.change)
			a := advance(t, dir)
			look := func() string {
				return sh(t, dir, "git rev-parse main HEAD; git status --porcelain --ignored; git ls-files -s; find . -path ./.git -prune -o -type f -exec cksum {} + | sort")
			}
			before := look()
			done, err := r.Advance(t.Context(), a, nil)
			files, ok := held(err)
			if test.held != nil || test.why != "" {
				if !ok || !slices.Equal(files, test.held) || !strings.Contains(err.Error(), test.why) {
					t.Errorf("Advance = %+v, %v, want held by %q %s", done, err, test.held, test.why)
				}
				if after := look(); after != before {
					t.Errorf("it was\n%s\nand is\n%s", before, after)
				}
				sh(t, dir, "rm -f .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock")
			} else {
				if err != nil || done.Dir != dir || len(done.Left) > 0 || commitOf(t, dir, "main") != a.New {
					t.Fatalf("Advance = %+v, %v", done, err)
				}
				sh(t, dir, "true; "+test.check)
				sh(t, dir, "test -f e/y; test -L link; test -x d/x; ! test -e gone; git diff --cached --quiet -- e link d gone")
				if test.check == "" && sh(t, dir, "git status --porcelain") != "" {
					t.Errorf("status: %s", sh(t, dir, "git status --porcelain"))
				}
				if got := sh(t, dir, "git reflog -1 --format='%H %gs'"); got != a.New+" bossman: landed web-1" {
					t.Errorf("the log of HEAD says %q", got)
				}
			}
			if got := left(t, dir); got != "" {
				t.Errorf("left: %s", got)
			}
		})
	}
}

// TestAdvance_unborn: the first commit of a branch that is checked out.
func TestAdvance_unborn(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "git checkout -q --orphan empty; git rm -rqf .; echo u > untracked")
	a := git.Advance{Branch: "empty", New: commitOf(t, dir, "main"), Why: "w"}
	if done, err := r.Advance(t.Context(), a, nil); err != nil || done.Dir != dir {
		t.Fatalf("Advance = %+v, %v", done, err)
	}
	if got := sh(t, dir, "git status --porcelain; cat one; git rev-parse HEAD"); got != "?? untracked\none\n"+a.New {
		t.Errorf("got %s", got)
	}
}

// TestAdvance_sparse: files outside a sparse checkout stay outside.
func TestAdvance_sparse(t *testing.T) {
	for _, cone := range []string{"--cone", "--cone --sparse-index", "--no-cone"} {
		t.Run(cone, func(t *testing.T) {
			r, dir := newNext(t)
			sh(t, dir, "git checkout -q next; mkdir in; echo i > in/i; echo z > d/z; echo w > e/w; git add -A; git commit -qm more; git checkout -q main; git sparse-checkout init "+cone+"; git sparse-checkout set in /change 2>/dev/null || git sparse-checkout set in")
			if done, err := r.Advance(t.Context(), advance(t, dir), nil); err != nil || len(done.Left) > 0 {
				t.Fatalf("Advance = %+v, %v", done, err)
			}
			if got := sh(t, dir, "git status --porcelain; ls -d d e in 2>/dev/null || true; git diff --cached HEAD"); got != "in" {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestAdvance_filters: a filter that is not accepted, or fails, is found before anything has changed.
func TestAdvance_filters(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	canary := filepath.Join(home, "canary")
	t.Setenv("RUN", "touch "+canary+"; tr a-z A-Z")
	for name, test := range map[string]struct {
		prepare string
		accept  bool
		want    string // the content of f afterwards
	}{
		"own":      {`git config filter.x.smudge "$RUN"`, false, ""},
		"accepted": {`git config filter.x.smudge "$RUN"; git config filter.x.clean 'tr A-Z a-z'`, true, "NEW"},
		"mine":     {`git config -f $HOME/.gitconfig filter.x.smudge "$RUN"; git config -f $HOME/.gitconfig filter.x.clean 'tr A-Z a-z'`, false, "NEW"},
		"fails":    {`git config -f $HOME/.gitconfig filter.x.smudge false; git config -f $HOME/.gitconfig filter.x.required true`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			os.Remove(filepath.Join(home, ".gitconfig"))
			os.Remove(canary)
			sh(t, dir, `git checkout -qb next; echo new > f; echo 'f filter=x' > .gitattributes; git add -A; git commit -qm next; git checkout -q main; `+test.prepare)
			before := sh(t, dir, "git rev-parse HEAD; git status --porcelain; git ls-files -s")
			done, err := r.Advance(t.Context(), advance(t, dir), func(string) bool { return test.accept })
			if test.want != "" {
				if err != nil || sh(t, dir, "cat f") != test.want {
					t.Errorf("Advance = %+v, %v", done, err)
				}
				return
			}
			if _, ok := errors.AsType[*git.FilterError](err); err == nil || ok != (name == "own") {
				t.Errorf("Advance = %+v, %v", done, err)
			}
			if _, err := os.Stat(canary); err == nil {
				t.Error("the filter ran")
			}
			if after := sh(t, dir, "git rev-parse HEAD; git status --porcelain; git ls-files -s"); after != before {
				t.Errorf("it was\n%s\nand is\n%s", before, after)
			}
			if got := left(t, dir); got != "" {
				t.Errorf("left: %s", got)
			}
		})
	}
}

// TestAdvance_switch: a user who switches in the same moment keeps their branch and their files.
func TestAdvance_switch(t *testing.T) {
	for _, at := range []string{"before journal", "before lock index.lock", "before lock HEAD.lock", "before try", "before move the branch", "after move the branch", "before update", "before put the index"} {
		t.Run(at, func(t *testing.T) {
			r, dir := newNext(t)
			sh(t, dir, "echo mine > keep")
			a := advance(t, dir)
			switched := ""
			defer git.SetLandStep(func(step string) {
				if step == at {
					switched = sh(t, dir, "git switch -q -c topic && echo yes || echo no")
				}
			})()
			_, err := r.Advance(t.Context(), a, nil)
			locked := !strings.HasPrefix(at, "before journal") && !strings.HasPrefix(at, "before lock")
			if got := strings.HasSuffix(switched, "yes"); got == locked {
				t.Errorf("the switch: %s", switched)
			}
			if _, ok := held(err); ok != !locked || locked && err != nil {
				t.Errorf("Advance: %v", err)
			}
			if got := sh(t, dir, "git status --porcelain; cat keep"); got != "M keep\nmine" {
				t.Errorf("got %q", got)
			}
			if got := left(t, dir); got != "" {
				t.Errorf("left: %s", got)
			}
		})
	}
}

// TestAdvance_checkedOutMeanwhile: a worktree that gets the branch just before it moves follows.
func TestAdvance_checkedOutMeanwhile(t *testing.T) {
	r, dir := newNext(t)
	sh(t, dir, "git checkout -q --detach")
	a := advance(t, dir)
	// A git that is asked to move the branch first checks it out elsewhere.
	real, bin := sh(t, dir, "command -v git"), t.TempDir()
	script := "#!/bin/sh\ncase \" $* \" in *' update-ref '*) env -u GIT_DIR -u GIT_WORK_TREE " + real + " -C " + dir + " checkout -q main;; esac\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if done, err := r.Advance(t.Context(), a, nil); err != nil || done.Dir != dir || len(done.Left) > 0 {
		t.Errorf("Advance = %+v, %v", done, err)
	}
	t.Setenv("PATH", filepath.Dir(real)+":"+os.Getenv("PATH"))
	if got := sh(t, dir, "git status --porcelain; git symbolic-ref --short HEAD; git rev-parse HEAD"); got != "main\n"+a.New {
		t.Errorf("got %q", got)
	}
}

// TestAdvance_partial: a partial clone without the new files is left as it is.
func TestAdvance_partial(t *testing.T) {
	_, dir := newNext(t)
	base := filepath.Dir(dir)
	sh(t, dir, "git config uploadpack.allowFilter true")
	sh(t, base, "git clone -q --filter=blob:none file://$PWD/repo partial; git -C partial branch next origin/next")
	part := filepath.Join(base, "partial")
	a := advance(t, part)
	_, err := find(t, part).Advance(t.Context(), a, nil)
	if _, ok := errors.AsType[*git.HistoryError](err); !ok || commitOf(t, part, "main") != a.Old {
		t.Errorf("Advance = %v", err)
	}
	if got := sh(t, part, "git status --porcelain") + left(t, part); got != "" {
		t.Errorf("left: %s", got)
	}
}

// TestAdvance_twice: of two moves at the same time one succeeds.
func TestAdvance_twice(t *testing.T) {
	r, dir := newNext(t)
	a := advance(t, dir)
	errs := make(chan error)
	for range 2 {
		go func() {
			_, err := r.Advance(t.Context(), a, nil)
			errs <- err
		}()
	}
	one, two := <-errs, <-errs
	if one == nil {
		one, two = two, one
	}
	if _, ok := errors.AsType[*git.MovedError](one); !ok || two != nil {
		t.Errorf("Advance = %v and %v", one, two)
	}
	if got := sh(t, dir, "git status --porcelain") + left(t, dir); got != "" {
		t.Errorf("left: %s", got)
	}
}

// TestAdvance_log: the log of HEAD is not written through a link that is put in its place meanwhile.
func TestAdvance_log(t *testing.T) {
	for _, what := range []string{"logs/HEAD", "logs"} {
		t.Run(what, func(t *testing.T) {
			r, dir := newNext(t)
			a := advance(t, dir)
			other := t.TempDir()
			sh(t, other, "echo mine > HEAD")
			to := other
			if what != "logs" {
				to = filepath.Join(other, "HEAD")
			}
			defer git.SetLandStep(func(step string) {
				switch step {
				case "before log":
					sh(t, dir, "mv .git/"+what+" .git/aside && ln -s '"+to+"' .git/"+what)
				case "after log":
					sh(t, dir, "rm .git/"+what+" && mv .git/aside .git/"+what)
				}
			})()
			if _, err := r.Advance(t.Context(), a, nil); err != nil {
				t.Errorf("Advance: %v", err)
			}
			if got := sh(t, other, "cat HEAD"); got != "mine" {
				t.Errorf("the other file has %q", got)
			}
		})
	}
}
