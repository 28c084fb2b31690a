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
		"in a submodule": `git init -q sub && cd sub && echo a > a && git add a && git commit -qm a && cd .. && git add sub && cd sub && git config filter.x.clean "$RUN" && echo '* filter=x' > .git/info/attributes && echo b > a`,
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
		"a process":       {`git config -f $HOME/.gitconfig filter.x.clean "$MINE"; git config filter.x.process "$RUN"`, true},
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
// it includes, and the user's. A version of git that knows them runs none; an older one passes
// the settings on.
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
	for _, name := range []string{"config", "more", ".gitconfig"} {
		if want := "hook.h." + name + " A.enabled false\n"; !strings.Contains(string(seen), want) {
			t.Errorf("git was not told %q, but %q", want, seen)
		}
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

// TestSnapshot_lfs: settings that git-lfs may read as an extension, whose command it runs, are
// listed and have to be accepted.
func TestSnapshot_lfs(t *testing.T) {
	for _, prepare := range []string{
		`git config lfs.Extension.evil.clean evil`,
		`git config lfs.url "x
lfs.extension.evil.clean=evil"`,
		`git config 'lfs.extension.evil.clean=evil #.x' y`,
		`git config user.note "x
LFS.extension.evil.clean=evil"`,
	} {
		r, dir := newRepo(t)
		sh(t, dir, prepare+"; git config alias.both '!one\ntwo'; echo changed > one")
		filters, err := r.Filters(t.Context())
		if err != nil || len(filters) != 1 || !strings.Contains(filters[0], "evil") {
			t.Errorf("%s: Filters = %q, %v", prepare, filters, err)
		}
		if _, err := r.Snapshot(t.Context(), nil); err == nil {
			t.Errorf("%s: it was not refused", prepare)
		}
		if _, err := r.Snapshot(t.Context(), func(f string) bool { return slices.Contains(filters, f) }); err != nil {
			t.Errorf("%s: accepted: %v", prepare, err)
		}
	}
	r, dir := newRepo(t)
	sh(t, dir, "git config lfs.url https://example.org; git config lfs.https://example.org.access basic; echo changed > one")
	if _, err := r.Snapshot(t.Context(), nil); err != nil {
		t.Errorf("plain settings: %v", err)
	}
}
