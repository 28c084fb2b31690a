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

// What a file in a worktree or among temporary files configures counts as the repository's own, also
// if the user's configuration includes it: an agent that may write nothing else may write it.
func TestSnapshot_configurationInWorktree(t *testing.T) {
	for name, c := range map[string]struct {
		prepare string // makes git read a file with a filter
		users   bool   // it is the user's
	}{
		"plain":                {`cp ../filter .gitconfig; git config include.path ../.gitconfig`, false},
		"tilde":                {`cp ../filter more; git config include.path '~/repo/more'`, false},
		"condition":            {`cp ../filter more; git config includeIf.gitdir:**.path ../more`, false},
		"nested":               {`cp ../filter more; git config include.path more; git config -f .git/more include.path ../../repo/more`, false},
		"of the worktree":      {`cp ../filter more; git config extensions.worktreeConfig true; git config --worktree include.path ../more`, false},
		"below .git":           {`cp ../filter .git/more; git config include.path more`, false},
		"outside":              {`git config include.path ../../filter`, false},
		"the file itself":      {`git init -q in; echo in/ > .git/info/exclude; cat .git/config ../filter > in/.git/config; ln -sf ../in/.git/config .git/config`, false},
		"of the user":          {`cp ../filter more; printf '[include]\n\tpath = repo/more\n' > ../.gitconfig`, false},
		"of the user, in XDG":  {`cp ../filter more; mkdir -p ../.config/git; printf '[include]\n\tpath = ~/repo/more\n' > ../.config/git/config`, false},
		"another worktree":     {`git worktree add -q ../two; cp ../filter ../two/more; printf '[include]\n\tpath = two/more\n' > ../.gitconfig`, false},
		"one without .git":     {`git worktree add -q ../two; rm ../two/.git; cp ../filter ../two/more; printf '[include]\n\tpath = two/more\n' > ../.gitconfig`, false},
		"temporary":            {`mkdir ../temporary; cp ../filter ../temporary/more; printf '[include]\n\tpath = temporary/more\n' > ../.gitconfig`, false},
		"linked":               {`cp ../filter more; ln -s repo/more ../link; printf '[include]\n\tpath = link\n' > ../.gitconfig`, false},
		"through the worktree": {`mkdir ../safe; cp ../filter ../safe/more; ln -s ../safe in; ln -s repo/in/more ../link; printf '[include]\n\tpath = link\n' > ../.gitconfig`, false},
		"there and back":       {`mkdir ../safe; cp ../filter ../safe/more; ln -s ../safe in; printf '[include]\n\tpath = repo/in/../safe/more\n' > ../.gitconfig`, false},
		"of the user, outside": {`printf '[include]\n\tpath = filter\n' > ../.gitconfig`, true},
		"of the user itself":   {`cp ../filter ../.gitconfig`, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			up := filepath.Dir(dir)
			canary := filepath.Join(up, "canary")
			t.Setenv("HOME", up)
			t.Setenv("TMPDIR", filepath.Join(up, "temporary"))
			t.Setenv("XDG_CONFIG_HOME", "")
			t.Setenv("CANARY", canary)
			sh(t, dir, `printf '[filter "x"]\n\tclean = "touch %s; cat"\n' "$CANARY" > ../filter; `+c.prepare+`; echo '* filter=x' > .git/info/attributes; echo two > one; touch -d 2001-01-01 one`)
			if status, err := r.Status(t.Context()); err != nil || status.Uncommitted == 0 {
				t.Errorf("Status = %+v, %v", status, err)
			}
			filters, err := r.Filters(t.Context())
			if err != nil || (len(filters) == 0) != c.users {
				t.Errorf("Filters = %q, %v", filters, err)
			}
			_, err = r.Snapshot(t.Context(), nil)
			if _, ok := errors.AsType[*git.FilterError](err); ok == c.users || !ok && err != nil {
				t.Errorf("Snapshot: %v", err)
			}
			if _, err := os.Stat(canary); (err == nil) != c.users {
				t.Errorf("the filter ran: %v", err == nil)
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

// What git rejects, it says itself.
func TestSnapshot_badConfiguration(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `printf '[include]\n\tpath = config\n\tpath = config\n' >> .git/config`)
	if _, err := r.Snapshot(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "maximum include depth") {
		t.Errorf("Snapshot: %v, want an error about the depth", err)
	}
}
