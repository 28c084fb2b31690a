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

// A snapshot runs no filter of the repository's own configuration that is not accepted, however
// that names it, and fails only if one applies to a file that it stores.
func TestSnapshot_filters(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	run := "touch " + canary + "; cat"
	for name, prepare := range map[string]string{
		"clean":          `git config filter.x.clean "$RUN"`,
		"process":        `git config filter.x.process "$RUN"`,
		"include":        `git config -f .git/more filter.x.clean "$RUN" && git config include.path more`,
		"worktree":       `git config extensions.worktreeConfig true && git config --worktree filter.x.clean "$RUN"`,
		"twice":          `git config filter.x.clean "" && git config --add filter.x.clean "$RUN"`,
		"odd name":       `git config 'filter.a=b.C.clean' "$RUN"; echo '* filter=a=b.C' > .git/info/attributes`,
		"not required":   `git config filter.x.clean "$RUN"; git config filter.x.required false`,
		"in a submodule": `git init -q sub && cd sub && echo a > a && git add a && git commit -qm a && cd .. && git add sub && ` + absorb("sub") + ` && git -C sub config filter.x.clean "$RUN" && echo '* filter=x' > .git/modules/sub/info/attributes && echo b > sub/a`,
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			t.Setenv("RUN", run)
			sh(t, dir, "git update-index --refresh -q; touch -d tomorrow .git/index; echo '* filter=x' > .git/info/attributes")
			sh(t, dir, prepare)
			if _, err := r.Snapshot(t.Context(), nil); name != "in a submodule" && err != nil {
				t.Errorf("nothing has changed: %v", err) // no filter has to run
			}
			sh(t, dir, "echo changed > one; touch -d 2001-01-01 one")
			filters, err := r.Filters(t.Context())
			if err != nil || !slices.ContainsFunc(filters, func(f string) bool { return strings.HasSuffix(f, "="+run) }) {
				t.Errorf("Filters = %q, %v", filters, err)
			}
			_, err = r.Snapshot(t.Context(), nil)
			if e, ok := errors.AsType[*git.FilterError](err); !ok || !strings.Contains(e.Error(), "touch ") {
				t.Errorf("Snapshot: %v, want a FilterError", err)
			}
			if _, err := os.Stat(canary); err == nil {
				t.Fatal("the filter ran")
			}
			if name == "process" {
				return // this one does not speak the protocol
			}
			if _, err := r.Snapshot(t.Context(), func(f string) bool { return slices.Contains(filters, f) }); err != nil {
				t.Errorf("accepted: %v", err)
			}
			if err := os.Remove(canary); err != nil {
				t.Error("the accepted filter did not run")
			}
		})
	}
}

// A filter of the user's own configuration runs, also if the clone has another one of that name.
func TestSnapshot_ownFilter(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	canary := filepath.Join(t.TempDir(), "canary")
	t.Setenv("RUN", "touch "+canary+"; cat")
	t.Setenv("MINE", "touch "+canary+"-mine; tr a-z A-Z")
	for name, test := range map[string]struct {
		prepare string
		refused bool
	}{
		"only the user's": {`git config -f $HOME/.gitconfig filter.x.clean "$MINE"`, false},
		"both":            {`git config -f $HOME/.gitconfig filter.x.clean "$MINE"; git config filter.x.clean "$RUN"; git config filter.x.required false`, false},
		"a process":       {`git config -f $HOME/.gitconfig filter.x.clean "$MINE"; git config filter.x.process "$RUN"`, false},
		"an empty one":    {`git config -f $HOME/.gitconfig filter.x.clean ""; git config filter.x.clean "$RUN"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			defer os.Remove(filepath.Join(home, ".gitconfig"))
			defer os.Remove(canary + "-mine")
			sh(t, dir, "echo '* filter=x' > .git/info/attributes; echo changed > one; "+test.prepare)
			_, err := r.Snapshot(t.Context(), nil)
			if e, ok := errors.AsType[*git.FilterError](err); test.refused != ok || !ok && err != nil {
				t.Errorf("Snapshot: %v, %v", err, e)
			}
			if _, err := os.Stat(canary); err == nil {
				t.Error("the clone's filter ran")
			}
			if _, err := os.Stat(canary + "-mine"); test.refused == (err == nil) {
				t.Errorf("the user's own filter ran: %v", err == nil)
			}
		})
	}
}

// TestSnapshot_hooks: hooks that are settings, not files, are off: those of the clone, of what
// it includes, and the user's. No git is told of them, whether it knows them or not.
func TestSnapshot_hooks(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	canary, off := filepath.Join(t.TempDir(), "canary"), filepath.Join(t.TempDir(), "off")
	t.Setenv("RUN", "touch "+canary)
	t.Setenv("SEE", "(git config --get-regexp '^hook.*enabled'; echo transports $GIT_ALLOW_PROTOCOL) > "+off+"; cat")
	r, dir := newRepo(t)
	sh(t, dir, `git config -f $HOME/.gitconfig filter.x.clean "$SEE"; mkdir -p .git/info; echo '* filter=x' > .git/info/attributes
		for f in .git/config .git/more $HOME/.gitconfig; do
			n="h.$(basename $f) A"
			git config -f $f "hook.$n.event" post-index-change; git config -f $f --add "hook.$n.event" reference-transaction
			git config -f $f "hook.$n.command" "$RUN"; git config -f $f "hook.$n.enabled" true
		done
		git config include.path more; echo changed > one`)
	if _, err := r.Snapshot(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a hook ran")
	}
	seen, err := os.ReadFile(off)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(seen), "transports none\n") {
		t.Errorf("git may fetch what is missing: %q", seen)
	}
	if strings.Contains(string(seen), "hook.") {
		t.Errorf("git was told of hooks: %q", seen)
	}
}

// TestFilters_oneText: a filter whose name imitates another setting has a text of its own.
func TestFilters_oneText(t *testing.T) {
	texts := map[string]bool{}
	for _, prepare := range []string{
		`git config filter.a.clean 'cat;:.clean=evil'`,
		`git config 'filter.a.clean=cat;:.clean' evil`,
		`git config 'filter.lfs.clean=git-lfs clean #.clean' evil`,
		`git config filter.lfs.clean 'git-lfs clean #.clean=evil'`,
	} {
		r, dir := newRepo(t)
		sh(t, dir, prepare)
		filters, err := r.Filters(t.Context())
		if err != nil || len(filters) != 1 || texts[filters[0]] {
			t.Errorf("%s: %q, %v", prepare, filters, err)
		}
		for _, f := range filters {
			texts[f] = true
		}
	}
}

// TestFilters_reach: settings of the clone with which a filter of the user's, such as git-lfs, runs a
// program or writes elsewhere are listed and have to be accepted, if such a filter applies to a
// file.
func TestFilters_reach(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	canary := filepath.Join(home, "canary")
	mine := "git config -f $HOME/.gitconfig filter.x.clean 'touch " + canary + "; cat'; git config -f $HOME/.gitconfig filter.x.smudge 'touch " + canary + "; cat'\n"
	for _, prepare := range []string{
		`git config lfs.Extension.evil.clean evil`,
		`git config lfs.url "x
lfs.extension.evil.clean=evil"`,
		`git config 'lfs.extension.evil.clean=evil #.x' y`,
		`git config 'lfs.standalonetransferagent=evil.url' y`,
		`git config user.note "x
LFS.customTransfer.evil.path=evil"`,
		`git config hook.x.command "x
lfs.storage=/evil"`,
		`git config lfs.customtransfer.evil.path sh`,
		`git config lfs.standalonetransferagent evil`,
		`git config lfs.https://evil/.standalonetransferagent evil`,
		`git config lfs.storage /evil`,
		`git config core.sshCommand evil`,
		`git config core.askPass evil`,
		`git config credential.helper '!evil'`,
		`git config credential.https://evil/.helper '!evil'`,
		`git config url.ext::evil.insteadOf https://example.org`,
		`git config http.proxy http://evil`,
		`git config http.https://evil/.sslCert evil`,
		`git config annex.freezecontent-command evil`,
		`git config remote.origin.annex-ssh-options evil`,
		`git config -f .git/more core.sshCommand evil; git config include.path more`,
		`git config extensions.worktreeConfig true; git config --worktree core.sshCommand evil`,
	} {
		r, dir := newRepo(t)
		_ = os.Remove(filepath.Join(home, ".gitconfig"))
		sh(t, dir, prepare+"; git config alias.both '!one\ntwo'; echo changed > one")
		if filters, err := r.Filters(t.Context()); err != nil || len(filters) != 0 {
			t.Errorf("%s: without a filter: %q, %v", prepare, filters, err)
		}
		sh(t, dir, mine)
		if _, err := r.Snapshot(t.Context(), nil); err != nil {
			t.Errorf("%s: where the filter does not apply: %v", prepare, err)
		}
		sh(t, dir, "echo '* filter=x' > .git/info/attributes; echo again > one")
		filters, err := r.Filters(t.Context())
		if err != nil || len(filters) != 1 || !strings.Contains(filters[0], "evil") && !strings.Contains(filters[0], "=sh") {
			t.Errorf("%s: Filters = %q, %v", prepare, filters, err)
		}
		accept := func(f string) bool { return slices.Contains(filters, f) }
		_, err = r.Snapshot(t.Context(), nil)
		if e, ok := errors.AsType[*git.FilterError](err); !ok || !slices.Equal(e.Filters, filters) || !strings.Contains(err.Error(), "bossman trust") {
			t.Errorf("%s: Snapshot = %v, want a refusal", prepare, err)
		}
		_, err = r.AddWorktree(t.Context(), filepath.Join(filepath.Dir(dir), "refused"), "main", nil)
		if _, ok := errors.AsType[*git.FilterError](err); !ok && !strings.Contains(prepare, "--worktree") { // which other worktrees do not have
			t.Errorf("%s: AddWorktree = %v, want a refusal", prepare, err)
		}
		if _, err := os.Lstat(canary); err == nil && !strings.Contains(prepare, "--worktree") {
			t.Errorf("%s: the filter ran", prepare)
		}
		if _, err := r.Snapshot(t.Context(), accept); err != nil {
			t.Errorf("%s: accepted: %v", prepare, err)
		}
		if _, err := r.AddWorktree(t.Context(), filepath.Join(filepath.Dir(dir), "accepted"), "main", accept); err != nil {
			t.Errorf("%s: accepted: %v", prepare, err)
		}
		if err := os.Remove(canary); err != nil {
			t.Errorf("%s: accepted, and the filter did not run", prepare)
		}
	}
	r, dir := newRepo(t)
	sh(t, dir, "git config lfs.url https://example.org; git config lfs.https://example.org.access basic; git config remote.origin.lfsurl https://example.org; git config http.https://example.org/.extraheader x; git config lfs.repositoryformatversion 0; git config remote.origin.url https://example.org; echo '* filter=x' > .git/info/attributes; echo changed > one")
	if _, err := r.Snapshot(t.Context(), nil); err != nil {
		t.Errorf("plain settings: %v", err)
	}
	if filters, err := r.Filters(t.Context()); err != nil || len(filters) != 0 {
		t.Errorf("plain settings: Filters = %q, %v", filters, err)
	}
	sh(t, dir, "mkdir -p .git/lfs/objects ../outside; ln -s ../../../../outside .git/lfs/objects/ab; echo more > one")
	if _, err := r.Snapshot(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("Snapshot = %v, though objects of git-lfs would be written through a link", err)
	}
}

// TestFilterError: what is shown of a setting has no password.
func TestFilterError(t *testing.T) {
	err := &git.FilterError{Filters: []string{"url.https://me:secret@example.org/.insteadof=https://example.org/"}}
	if s := err.Error(); strings.Contains(s, "secret") || !strings.Contains(s, "url.https://…@example.org/") {
		t.Error(s)
	}
}

// A filter of the user's own that is a module of Python is not taken from the worktree.
func TestSnapshot_pythonFilter(t *testing.T) {
	if err := exec.Command("python3", "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run(); err != nil {
		t.Skip("needs Python 3.11")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("PYTHONPATH", filepath.Join(home, "lib"))
	r, dir := newRepo(t)
	canary := filepath.Join(home, "canary")
	sh(t, dir, `mkdir $HOME/lib && echo 'print("clean")' > $HOME/lib/strip.py && git config -f $HOME/.gitconfig filter.strip.clean 'python3 -m strip'
		echo 'open("`+canary+`", "w")' > strip.py && echo '*.txt filter=strip' > .gitattributes && echo dirty > a.txt`)
	s, err := r.Snapshot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a file of the worktree ran")
	}
	if text := sh(t, dir, "git show "+s.Tree+":a.txt"); text != "clean" {
		t.Errorf("the file is stored as %q", text)
	}
}
