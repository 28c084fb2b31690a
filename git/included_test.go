package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing of git that could run a filter reads its configuration from a file in a worktree: whoever
// may write nothing else could exchange it between two runs.
func TestSnapshot_configurationInWorktree(t *testing.T) {
	const filter = `printf '[filter "x"]\n\tclean = touch %s; cat\n' "$CANARY"`
	for name, c := range map[string]struct {
		prepare string
		line    string // in the error; empty if git is to run
	}{
		"plain":                {filter + ` > .gitconfig; git config include.path ../.gitconfig`, `include.path = ../.gitconfig`},
		"not there":            {`git config include.path ../.gitconfig`, `include.path = ../.gitconfig`},
		"absolute":             {`git config include.path "$PWD/sub/more"`, "include.path = "},
		"tilde":                {`git config include.path '~/repo/more'`, `include.path = ~/repo/more`},
		"condition":            {`git config includeIf.gitdir:/nowhere/.path ../more`, `includeif.gitdir:/nowhere/.path = ../more`},
		"nested":               {`git config include.path more; git config -f .git/more include.path again; git config -f .git/again include.path ../../repo/more`, `include.path = ../../repo/more`},
		"from outside":         {`git config include.path ../../more; git config -f ../more include.path repo/more`, `include.path = repo/more`},
		"of the worktree":      {`git config extensions.worktreeConfig true; git config --worktree include.path ../more`, `include.path = ../more`},
		"of another worktree":  {`git worktree add -q ../two; git config include.path ../../two/more`, `include.path = ../../two/more`},
		"of one without .git":  {`git worktree add -q ../two; rm ../two/.git; git config include.path ../../two/more`, `include.path = ../../two/more`},
		"linked":               {`touch more; ln -s repo/more ../link; git config include.path ../../link`, `include.path = ../../link`},
		"linked into nothing":  {`ln -s repo/more ../link; git config include.path ../../link`, `include.path = ../../link`},
		"through the worktree": {`mkdir ../safe; touch ../safe/more; ln -s ../safe in; ln -s repo/in/more ../link; git config include.path ../../link`, `include.path = ../../link`},
		"there and back":       {`mkdir ../safe; touch ../safe/more; ln -s ../safe in; git config include.path ../in/../safe/more`, `include.path = ../in/../safe/more`},
		"of the user":          {`printf '[include]\n\tpath = repo/more\n' > ../.gitconfig`, `include.path = repo/more`},
		"of the user, in XDG":  {`mkdir -p ../.config/git; printf '[include]\n\tpath = ~/repo/more\n' > ../.config/git/config`, `include.path = ~/repo/more`},
		"the file itself":      {`git init -q in; cp .git/config in/.git/config; ln -sf ../in/.git/config .git/config`, `/repo/.git/config`},
		"too many":             {`printf '[include]\n\tpath = config\n\tpath = config\n' >> .git/config`, `name more than`},
		"below .git":           {`touch .git/more; git config include.path more`, ""},
		"below .git, by name":  {`touch .git/more; git config include.path "$PWD/.git/more"`, ""},
		"outside":              {`touch ../more; git config include.path ../../more`, ""},
		"of the user, outside": {`touch ../more; printf '[include]\n\tpath = more\n' > ../.gitconfig`, ""},
		"temporary":            {`git config include.path ../../temporary/more`, `include.path = ../../temporary/more`},
		"of the installation":  {`git config include.path '%(prefix)/../repo/more'`, `include.path = %(prefix)/../repo/more`},
		"a tab":                {`git config include.path '../a	b'`, "include.path = ../a\\tb"},
		"a backslash, the end": {`printf '[include]\n\tpath = ../more\\' >> .git/config`, `line 7 of`},
		"a carriage return":    {`printf '[include]\n\tpath = ../more\r' >> .git/config`, `line 7 of`},
		"a NUL":                {`printf '[include]\n\tpath = ../more\000/x\n' >> .git/config`, `line 7 of`},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			up := filepath.Dir(dir)
			canary := filepath.Join(up, "canary")
			t.Setenv("HOME", up)
			t.Setenv("TMPDIR", filepath.Join(up, "temporary"))
			t.Setenv("XDG_CONFIG_HOME", "")
			t.Setenv("CANARY", canary)
			sh(t, dir, c.prepare+`; echo '* filter=x' > .git/info/attributes; echo two > one; touch -d 2001-01-01 one`)
			_, err := r.Snapshot(t.Context(), func(string) bool { return true })
			status, failed := r.Status(t.Context())
			if failed != nil || status.Branch != "main" || status.Head == "" {
				t.Errorf("Status = %+v, %v", status, failed)
			}
			if c.line == "" {
				if err != nil || status.Uncommitted == 0 {
					t.Errorf("Snapshot: %v; Status = %+v", err, status)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.line) {
				t.Errorf("Snapshot: %v, want an error with %q", err, c.line)
			}
			if _, err := r.Filters(t.Context()); err == nil {
				t.Error("Filters lists what may be exchanged meanwhile")
			}
			if status.Uncommitted != 0 {
				t.Errorf("Status = %+v, want no files counted", status)
			}
			if _, err := os.Stat(canary); err == nil {
				t.Error("the filter ran")
			}
		})
	}
}

// An agent in the worktree of a repository writes the configuration that a submodule includes, too.
func TestSnapshot_configurationInSuperproject(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `git init -q sub && cd sub && echo a > a && git add a && git commit -qm a && cd .. && git add sub && `+absorb("sub")+` && git -C sub config include.path ../../../more`)
	if _, err := r.Snapshot(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "include.path = ../../../more") {
		t.Errorf("Snapshot: %v, want an error that names the line", err)
	}
	sh(t, dir, `git -C sub config include.path ../../more; touch .git/more`)
	if _, err := find(t, dir).Snapshot(t.Context(), nil); err != nil {
		t.Errorf("Snapshot with a file below .git: %v", err)
	}
}
