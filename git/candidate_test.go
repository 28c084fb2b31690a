package git_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// commitOf returns the full name of a commit.
func commitOf(t *testing.T, dir, name string) string {
	t.Helper()
	return sh(t, dir, "git rev-parse --verify --end-of-options '"+name+"^{commit}'")
}

// candidate merges branch work into main.
func candidate(t *testing.T, r *git.Repo, c git.Candidate) git.Merged {
	t.Helper()
	if c.Target == "" {
		c.Target = commitOf(t, r.Root, "main")
	}
	if c.Tip == "" {
		c.Tip = commitOf(t, r.Root, "work")
	}
	if c.Message == "" {
		c.Message = "The work\n\nBossman-Task: web-1\n"
	}
	m, err := r.Candidate(t.Context(), c, nil)
	if err != nil {
		t.Fatalf("Candidate(%+v): %v", c, err)
	}
	return m
}

func TestCandidate(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `git checkout -qb work && echo two > two && git add two && GIT_AUTHOR_NAME='Zoë <o> O.' GIT_AUTHOR_EMAIL=zoe@example.org GIT_AUTHOR_DATE='@1700000000 +0130' git commit -qm two
		echo three > three && git add three && GIT_AUTHOR_NAME='Zoë O' GIT_AUTHOR_EMAIL=zoe@example.org GIT_AUTHOR_DATE='@1700000001 +0130' git commit -qm 'three

body'
		git checkout -q main && echo more >> one && git commit -qam more`)
	look := func() string {
		return sh(t, dir, "git for-each-ref; git status --porcelain; git rev-parse HEAD; cksum .git/index")
	}
	before := look()
	for style, want := range map[git.Style]string{
		git.Squash: "Zoë O <zoe@example.org> 1700000001 +0130|The work|one parent|Bossman-Task: web-1",
		git.Rebase: "Zoë O <zoe@example.org> 1700000001 +0130|three|one parent|body",
		git.Merge:  "Zoë O <zoe@example.org> 1700000001 +0130|The work|two parents|Bossman-Task: web-1",
	} {
		m := candidate(t, r, git.Candidate{Style: style})
		parents := map[int]string{1: "one parent", 2: "two parents"}[len(strings.Fields(sh(t, dir, "git log -1 --format=%P "+m.Commit)))]
		got := sh(t, dir, "git log -1 --date=raw --format='%an <%ae> %ad|%s|' "+m.Commit) + parents + "|" + sh(t, dir, "git log -1 --format=%b "+m.Commit)
		if got != want || m.Same || m.Style != style || len(m.Conflicts) > 0 {
			t.Errorf("%s: %s, %+v, want %s", style, got, m, want)
		}
		if files := sh(t, dir, "git ls-tree -r --name-only "+m.Commit+"; git cat-file blob "+m.Commit+":one"); files != "one\nthree\ntwo\none\nmore" {
			t.Errorf("%s has %q", style, files)
		}
		if tree := sh(t, dir, "git rev-parse "+m.Commit+"^{tree}"); tree != m.Tree {
			t.Errorf("%s: the tree is %s, not %s", style, tree, m.Tree)
		}
		if in := sh(t, dir, "git merge-base --is-ancestor main "+m.Commit+" && echo in"); in != "in" {
			t.Errorf("%s is not on top of the target", style)
		}
	}
	if got := sh(t, dir, "git log --reverse --format=%s main.."+candidate(t, r, git.Candidate{Style: git.Rebase}).Commit); got != "two\nthree" {
		t.Errorf("Rebase makes %q", got)
	}
	if after := look(); after != before {
		t.Errorf("the repository was\n%s\nand is\n%s", before, after)
	}
	first := candidate(t, r, git.Candidate{})
	if m := candidate(t, r, git.Candidate{Target: first.Commit}); !m.Same || m.Commit != first.Commit {
		t.Errorf("once more: %+v", m)
	}
	if _, err := r.Candidate(t.Context(), git.Candidate{Target: first.Commit, Tip: "main"}, nil); err == nil {
		t.Error("a branch counts as a commit")
	}
	if _, err := r.Candidate(t.Context(), git.Candidate{Target: first.Commit, Tip: strings.Repeat("1", 40)}, nil); !errors.Is(err, git.ErrNoCommit) {
		t.Errorf("a commit that is not there: %v", err)
	}
	if _, err := r.Candidate(t.Context(), git.Candidate{Target: commitOf(t, dir, "main"), Tip: commitOf(t, dir, "work"), Style: "octopus"}, nil); err == nil {
		t.Error("an unknown style is accepted")
	}
}

func TestCandidate_conflict(t *testing.T) {
	for name, test := range map[string]struct {
		prepare string
		want    []string
	}{
		"content":          {`echo a > one; git add -A; git commit -qm a; git checkout -q main; echo b > one; git commit -qam b`, []string{"one"}},
		"odd names":        {`n=$(printf 'new\nline "q" \\ \303\251 \377'); for f in "$n" ' x' -- ; do echo a > "./$f"; done; git add -A; git commit -qm a; git checkout -q main; for f in "$n" ' x' -- ; do echo b > "./$f"; done; git add -A; git commit -qm b`, []string{" x", "--", "new\nline \"q\" \\ é \xff"}},
		"binary":           {`printf '\000a' > bin; git add -A; git commit -qm a; git checkout -q main; printf '\000b' > bin; git add -A; git commit -qm b`, []string{"bin"}},
		"delete":           {`git rm -q one; git commit -qm a; git checkout -q main; echo b > one; git commit -qam b`, []string{"one"}},
		"symlink":          {`ln -s a link; git add -A; git commit -qm a; git checkout -q main; ln -s b link; git add -A; git commit -qm b`, []string{"link"}},
		"renamed in two":   {`git mv one two; git commit -qm a; git checkout -q main; git mv one three; git commit -qm b`, []string{"one", "three", "two"}},
		"split directory":  {`git checkout -q main; mkdir d; for n in 1 2 3 4; do seq $n$n $n${n}9 > d/$n; done; git add -A; git commit -qm base; git checkout -qB work; mkdir e f; git mv d/1 d/2 e; git mv d/3 d/4 f; git commit -qm a; git checkout -q main; seq 7 90 > d/new; git add -A; git commit -qm b`, []string{"d", "e", "f"}},
		"submodule":        {`git update-index --add --cacheinfo 160000,` + strings.Repeat("1", 40) + `,sub; git commit -qm a; git checkout -q main; git update-index --add --cacheinfo 160000,` + strings.Repeat("2", 40) + `,sub; git commit -qm b`, []string{"sub"}},
		"file, directory":  {`echo a > x; git add -A; git commit -qm a; git checkout -q main; mkdir x; echo b > x/y; git add -A; git commit -qm b`, []string{"x~work"}},
		"an empty message": {`printf a > one; git commit -qam a; git checkout -q main; printf b > one; git commit -qam b`, []string{"one"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			sh(t, dir, "git checkout -qb work; "+test.prepare)
			tip := commitOf(t, dir, "work")
			m := candidate(t, r, git.Candidate{})
			want := slices.Clone(test.want)
			for i := range want { // git names such a file after the commit
				want[i] = strings.Replace(want[i], "~work", "~"+tip, 1)
			}
			if name == "split directory" && len(m.Conflicts) > 0 && m.Commit == "" {
				return // versions of git differ in what they name
			}
			if !slices.Equal(m.Conflicts, want) || m.Commit != "" {
				t.Errorf("%+v, want conflicts %q", m, want)
			}
		})
	}
}

// TestCandidate_kinds: modes, links, renames, binary files, submodules and the empty tree get through.
func TestCandidate_kinds(t *testing.T) {
	r, dir := newRepo(t)
	link := strings.Repeat("1", 40)
	sh(t, dir, `seq 50 > long; printf '\000\001' > bin; echo x > run; git add -A; git commit -qm base
		git checkout -qb work; git mv long moved; chmod +x run; ln -s one link; printf '\000\002' > bin; git add -A; git update-index --add --cacheinfo 160000,`+link+`,sub; git commit -qm work
		git checkout -qf main; seq 51 > long; git commit -qam main`)
	m := candidate(t, r, git.Candidate{})
	got := sh(t, dir, "git ls-tree -r "+m.Commit+" | cut -d' ' -f1,2 | sort | uniq -c | tr -s ' '; git cat-file blob "+m.Commit+":moved | tail -1; git cat-file blob "+m.Commit+":bin | od -An -c; git ls-tree "+m.Commit+" run sub")
	for _, want := range []string{"120000 blob", "160000 commit", "\n51\n", "002", "100755 blob"} {
		if !strings.Contains(got, want) {
			t.Errorf("the merge has no %q:\n%s", want, got)
		}
	}
	sh(t, dir, "git checkout -q --orphan none && git rm -rqf . && git commit -q --allow-empty -m none")
	sh(t, dir, "git checkout -q -B gone main && git rm -qr . && git commit -qm gone")
	if m := candidate(t, r, git.Candidate{Tip: commitOf(t, dir, "gone")}); sh(t, dir, "git ls-tree "+m.Commit) != "" || m.Same {
		t.Errorf("all files deleted: %+v", m)
	}
	if _, err := r.Candidate(t.Context(), git.Candidate{Target: commitOf(t, dir, "main"), Tip: commitOf(t, dir, "none")}, nil); !errors.Is(err, git.ErrUnrelated) {
		t.Errorf("another history: %v, want ErrUnrelated", err)
	}
}

// TestCandidate_unborn: a target without a commit gets the work as it is.
func TestCandidate_unborn(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, "echo two > two && git add two && git commit -qm two")
	tip := commitOf(t, dir, "HEAD")
	for style, commits := range map[git.Style]string{git.Squash: "1", git.Rebase: "2", git.Merge: "2"} {
		m, err := r.Candidate(t.Context(), git.Candidate{Tip: tip, Style: style, Message: "first"}, nil)
		if err != nil || m.Same || m.Tree != sh(t, dir, "git rev-parse HEAD^{tree}") || sh(t, dir, "git rev-list --count "+m.Commit) != commits {
			t.Errorf("%s: %+v, %v", style, m, err)
		}
	}
}

func TestCandidate_sha256(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "repo")
	sh(t, base, `git init -q -b main --object-format=sha256 repo && cd repo && echo one > one && git add . && git commit -qm one
		git checkout -qb work && echo two > two && git add . && git commit -qm two && git checkout -q main && echo more >> one && git commit -qam more`)
	for _, style := range []git.Style{git.Squash, git.Rebase, git.Merge} {
		if m := candidate(t, find(t, dir), git.Candidate{Style: style}); len(m.Commit) != 64 || m.Style != style {
			t.Errorf("%s: %+v", style, m)
		}
	}
}

// TestCandidate_landedBefore: work that goes on from a tip which landed as another commit does not
// conflict with itself, in any style; without that knowledge it does.
func TestCandidate_landedBefore(t *testing.T) {
	for _, style := range []git.Style{git.Squash, git.Rebase, git.Merge} {
		for name, more := range map[string]string{
			"goes on":           "",
			"merged the target": "git checkout -q work && git merge -q -X ours -m merge main && seq 12 > one && git commit -qam twelve",
			"target went on":    "git checkout -q main && echo other > other && git add . && git commit -qm other",
		} {
			t.Run(string(style)+", "+name, func(t *testing.T) {
				r, dir := newRepo(t)
				sh(t, dir, "git checkout -qb work && seq 9 > one && git commit -qam nine")
				first := candidate(t, r, git.Candidate{})
				landed := []git.Landing{{Commit: first.Commit, Tip: commitOf(t, dir, "work")}}
				sh(t, dir, "git update-ref refs/heads/main "+first.Commit+" && seq 11 > one && git commit -qam eleven; "+more)
				if m := candidate(t, r, git.Candidate{Style: style}); name == "goes on" && len(m.Conflicts) == 0 {
					t.Errorf("without knowing what landed: %+v", m)
				}
				m := candidate(t, r, git.Candidate{Style: style, Landed: landed})
				if len(m.Conflicts) > 0 || m.Commit == "" {
					t.Fatalf("%+v", m)
				}
				want := sh(t, dir, "git cat-file blob work:one")
				if got := sh(t, dir, "git cat-file blob "+m.Commit+":one"); got != want {
					t.Errorf("one is %q, want %q", got, want)
				}
				if name == "target went on" && sh(t, dir, "git cat-file blob "+m.Commit+":other") != "other" {
					t.Error("what the target has besides is gone")
				}
				if style != git.Merge && sh(t, dir, "git rev-list --count main.."+m.Commit) != "1" {
					t.Errorf("more than the new commit: %s", sh(t, dir, "git log --format=%s main.."+m.Commit))
				}
			})
		}
	}
}

// TestCandidate_landedFork: work that went apart from work which landed as another commit, before that
// was finished, neither brings back what the other dropped nor loses what it dropped itself.
func TestCandidate_landedFork(t *testing.T) {
	for _, style := range []git.Style{git.Squash, git.Rebase, git.Merge} {
		for name, test := range map[string]struct{ first, work, want string }{
			"the first drops it": {"git rm -q tmp && seq 9 > one && echo p > p", "echo q > q", "one p q"},
			"the work drops it":  {"echo p > p", "git rm -q tmp && seq 9 > one && echo q > q", "one p q"},
			"nobody drops it":    {"echo p > p", "echo q > q", "one p q tmp"},
		} {
			t.Run(string(style)+", "+name, func(t *testing.T) {
				r, dir := newRepo(t)
				sh(t, dir, "seq 9 > one && git add . && git commit -qm nine; git checkout -qb first && echo t > tmp && seq 10 > one && git add . && git commit -qm wip; git branch -f work")
				sh(t, dir, test.first+" && git add . && git commit -qm first")
				tip := commitOf(t, dir, "first")
				m := candidate(t, r, git.Candidate{Tip: tip})
				sh(t, dir, "git update-ref refs/heads/main "+m.Commit+" && git checkout -q work && "+test.work+" && git add . && git commit -qm work")
				m = candidate(t, r, git.Candidate{Style: style, Landed: []git.Landing{{Commit: m.Commit, Tip: tip}}})
				if len(m.Conflicts) > 0 {
					t.Fatalf("%+v", m)
				}
				if got := strings.Join(strings.Fields(sh(t, dir, "git ls-tree --name-only "+m.Commit)), " "); got != test.want {
					t.Errorf("the files are %s, want %s", got, test.want)
				}
				want := map[bool]string{true: "10", false: "9"}[strings.HasSuffix(test.want, "tmp")]
				if got := sh(t, dir, "git cat-file blob "+m.Commit+":one | wc -l"); got != want {
					t.Errorf("one has %s lines, want %s", got, want)
				}
			})
		}
	}
}

// TestCandidate_undone: what was undone is not taken for landed because of work that was built on it: done again,
// it gets into the target.
func TestCandidate_undone(t *testing.T) {
	r, dir := newRepo(t)
	base := commitOf(t, dir, "main")
	sh(t, dir, "git checkout -qb first && echo a > a && git add . && git commit -qm a; git checkout -qb second && echo b > b && git add . && git commit -qm b")
	first, second := commitOf(t, dir, "first"), commitOf(t, dir, "second")
	sh(t, dir, "git checkout -q main && echo b > b && git add . && git commit -qm 'both, and the first undone'")
	target := commitOf(t, dir, "main")
	sh(t, dir, "git checkout -q -B work first && echo c > c && git add . && git commit -qm again")
	m := candidate(t, r, git.Candidate{Landed: []git.Landing{{Commit: target, Tip: second}}, Undone: []string{first}})
	if got := strings.Join(strings.Fields(sh(t, dir, "git diff --name-only "+base+" "+m.Commit)), " "); got != "a b c" {
		t.Errorf("the target has %s, want a b c", got)
	}
}

// TestCandidate_rebase: where commits cannot be made again one by one, they are one commit.
func TestCandidate_rebase(t *testing.T) {
	for name, test := range map[string]struct {
		prepare string
		style   git.Style
		log     string
	}{
		"fast-forward":        {"echo a > a; git add .; git commit -qm a; echo b > b; git add .; git commit -qm b", git.Rebase, "a\nb"},
		"one is there":        {"echo a > a; git add .; git commit -qm a; echo b > b; git add .; git commit -qm b; git checkout -q main; git cherry-pick work^ >/dev/null; echo c > c; git add .; git commit -qm c", git.Rebase, "b"},
		"a merge":             {"echo a > a; git add .; git commit -qm a; git checkout -q main; echo c > c; git add .; git commit -qm c; git checkout -q work; git merge -q -m merge main; git checkout -q main; echo d > d; git add .; git commit -qm d", git.Squash, "The work"},
		"conflict on the way": {"echo a > one; git commit -qam a; echo one > one; git commit -qam back; echo b > b; git add .; git commit -qm b; git checkout -q main; echo c > one; git commit -qam c", git.Squash, "The work"},
		"encoding":            {"echo a > a; git add .; printf 'caf\\351' | git -c i18n.commitEncoding=ISO-8859-1 commit -qF -; git checkout -q main; echo c > c; git add .; git commit -qm c", git.Rebase, "café"},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			sh(t, dir, "git checkout -qb work; "+test.prepare)
			m := candidate(t, r, git.Candidate{Style: git.Rebase})
			if m.Style != test.style {
				t.Errorf("the style is %q, want %q", m.Style, test.style)
			}
			if log := sh(t, dir, "git log --encoding=UTF-8 --reverse --format=%s main.."+m.Commit); log != test.log {
				t.Errorf("log: %q, want %q", log, test.log)
			}
		})
	}
}

// TestCandidate_history: what a shallow or partial clone lacks is not a conflict.
func TestCandidate_history(t *testing.T) {
	_, dir := newRepo(t)
	base := filepath.Dir(dir)
	sh(t, dir, `git config uploadpack.allowFilter true; git config uploadpack.allowAnySHA1InWant true
		git checkout -qb work; seq 3 > one; git commit -qam work; git checkout -q main; echo x > x; git add .; git commit -qm x; seq 4 > one; git commit -qam main`)
	sh(t, base, `git clone -q --no-single-branch --depth 1 file://$PWD/repo shallow; git -C shallow branch work origin/work
		git clone -q --no-checkout --filter=blob:none file://$PWD/repo partial; git -C partial branch work origin/work`)
	for _, name := range []string{"shallow", "partial"} {
		r := find(t, filepath.Join(base, name))
		_, err := r.Candidate(t.Context(), git.Candidate{Target: commitOf(t, r.Root, "main"), Tip: commitOf(t, r.Root, "work")}, nil)
		if e, ok := errors.AsType[*git.HistoryError](err); !ok || !strings.Contains(e.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	bare := filepath.Join(base, "bare.git")
	sh(t, base, "git clone -q --bare repo bare.git")
	if _, err := find(t, bare).Candidate(t.Context(), git.Candidate{Target: commitOf(t, bare, "main"), Tip: commitOf(t, bare, "work")}, nil); !errors.Is(err, git.ErrNoRepo) {
		t.Errorf("in a bare repository: %v", err)
	}
}

// TestCandidate_drivers: of merge drivers, the user's own run, and those of the repository that were
// accepted. The same holds for filters, which git runs if it normalizes files.
func TestCandidate_drivers(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	command := "touch " + canary + "; cat %A %B > %A.new; mv %A.new %A"
	filter := "touch " + canary + "; cat"
	for name, test := range map[string]struct {
		prepare string
		mine    string // the user's own command
		refused bool
	}{
		"own":            {prepare: `git config merge.x.driver "$RUN"`, refused: true},
		"twice":          {prepare: `git config merge.x.driver true; git config --add merge.x.driver "$RUN"`, refused: true},
		"include":        {prepare: `git config -f .git/more merge.x.driver "$RUN"; git config include.path more`, refused: true},
		"worktree":       {prepare: `git config extensions.worktreeConfig true; git config --worktree merge.x.driver "$RUN"`, refused: true},
		"default":        {prepare: `git config merge.x.driver "$RUN"; git config merge.default x; rm .gitattributes`, refused: true},
		"clean":          {prepare: `git config filter.x.clean "$FILTER"; git config filter.x.smudge "$FILTER"; git config merge.renormalize true; echo 'one filter=x' > .git/info/attributes`, refused: true},
		"mine":           {mine: command},
		"mine and own":   {prepare: `git config merge.x.driver "touch ` + canary + `-own"`, mine: command},
		"does not apply": {prepare: `git config merge.y.driver "$RUN"; rm .gitattributes`},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("XDG_CONFIG_HOME", home)
			t.Setenv("RUN", command)
			t.Setenv("FILTER", filter)
			os.Remove(canary)
			r, dir := newRepo(t)
			sh(t, dir, `seq 9 > one; echo 'one merge=x' > .gitattributes; git add -A; git commit -qm base
				git checkout -qb work; sed -i 1s/1/a/ one; git commit -qam work; git checkout -q main; sed -i 9s/9/b/ one; git commit -qam main`)
			sh(t, dir, "true; "+test.prepare)
			if test.mine != "" {
				if err := os.WriteFile(filepath.Join(home, ".gitconfig"), fmt.Appendf(nil, "[merge \"x\"]\n\tdriver = \"%s\"\n", test.mine), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c := git.Candidate{Target: commitOf(t, dir, "main"), Tip: commitOf(t, dir, "work"), Message: "m"}
			m, err := r.Candidate(t.Context(), c, nil)
			_, ok := errors.AsType[*git.FilterError](err)
			if ok != test.refused || !ok && err != nil || len(m.Conflicts) > 0 {
				t.Fatalf("%+v, %v, want refused: %v", m, err, test.refused)
			}
			if _, err := os.Stat(canary); (err == nil) != (test.mine != "") {
				t.Errorf("a command ran: %v", err == nil)
			}
			if _, err := os.Stat(canary + "-own"); err == nil {
				t.Error("the repository's own command ran")
			}
			if !test.refused {
				return
			}
			filters, err := r.Filters(t.Context())
			if err != nil || len(filters) == 0 {
				t.Fatalf("Filters = %q, %v", filters, err)
			}
			m, err = r.Candidate(t.Context(), c, func(f string) bool { return slices.Contains(filters, f) })
			if err != nil || m.Commit == "" {
				t.Errorf("accepted: %+v, %v", m, err)
			}
			if _, err := os.Stat(canary); err != nil {
				t.Error("what was accepted did not run")
			}
		})
	}
}

// TestCandidate_sign: commits are signed where the configuration says so, but not by a command of the
// repository.
func TestCandidate_sign(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	r, dir := newRepo(t)
	sh(t, dir, "git checkout -qb work && echo two > two && git add two && git commit -qm two && git checkout -q main")
	program := filepath.Join(home, "sign")
	script := "#!/bin/sh\ncat > /dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SIGN", program)
	sh(t, dir, `git config -f $HOME/.gitconfig gpg.program "$SIGN"; git config -f $HOME/.gitconfig commit.gpgSign true; git config -f $HOME/.gitconfig user.signingKey x`)
	for _, style := range []git.Style{git.Squash, git.Rebase, git.Merge} {
		if m := candidate(t, r, git.Candidate{Style: style}); !strings.Contains(sh(t, dir, "git cat-file commit "+m.Commit), "gpgsig ") {
			t.Errorf("%s is not signed", style)
		}
	}
	c := git.Candidate{Target: commitOf(t, dir, "main"), Tip: commitOf(t, dir, "work"), Message: "m"}
	sh(t, dir, "git config gpg.program "+filepath.Join(home, "other"))
	if _, err := r.Candidate(t.Context(), c, nil); func() bool { _, ok := errors.AsType[*git.FilterError](err); return !ok }() {
		t.Errorf("with a program of the repository: %v", err)
	}
	sh(t, dir, "git config --unset gpg.program; rm "+program)
	if _, err := r.Candidate(t.Context(), c, nil); func() bool { _, ok := errors.AsType[*git.SignError](err); return !ok }() {
		t.Errorf("without the program: %v", err)
	}
}
