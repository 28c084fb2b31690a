package git_test

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestHidden(t *testing.T) {
	r, dir := newRepo(t)
	check := func(what string, want ...string) {
		t.Helper()
		got, err := r.Hidden(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: Hidden = %q, %v, want %q", what, got, err, want)
		}
	}
	check("a plain repository")
	sh(t, dir, "echo '*.log' > .gitignore && touch a.log sneaky.py && mkdir d && touch d/x")
	check("what .gitignore leaves out")
	sh(t, dir, "mkdir -p .git/info && printf '# a comment\nsneaky.py\nd/\n' > .git/info/exclude")
	check("info/exclude", `.git/info/exclude leaves out "d/", "sneaky.py"`)
	sh(t, dir, "printf '# a comment\n' > .git/info/exclude; echo sneaky.py > .git/mine && git config core.excludesFile .git/mine")
	check("core.excludesFile", `core.excludesFile of this clone leaves out "sneaky.py"`)
	sh(t, dir, "git config --unset core.excludesFile && git config filter.old.clean 'git show HEAD:one' && echo 'one filter=old' > .git/info/attributes")
	check("a filter", ".git/info/attributes sets attributes", `filter "old" of this clone's configuration rewrites files`)
	sh(t, dir, "git config --remove-section filter.old; rm .git/info/attributes; mkdir -p gen/deep && echo '*' > gen/.gitignore && touch gen/a gen/deep/b")
	check("a .gitignore that leaves out itself", `files are left out by a .gitignore that leaves out itself: "gen/.gitignore"`)
	sh(t, dir, "rm -r gen; mkdir part; printf 'x\n.gitignore\n' > part/.gitignore; touch part/x part/y")
	check("with other files beside it", `files are left out by a .gitignore that leaves out itself: "part/.gitignore"`)
	sh(t, dir, "rm -r part; HOME=$PWD/.git git config core.excludesFile '~/mine'; export HOME=$PWD/.git")
	t.Setenv("HOME", filepath.Join(dir, ".git"))
	check("core.excludesFile in the home directory", `core.excludesFile of this clone leaves out "sneaky.py"`)
	sh(t, dir, "git config --unset core.excludesFile")
	sh(t, dir, "mkdir -p logs/deep full/deep .hidden && touch full/deep/file")
	check("empty directories", `no commit has directories without a file, such as ".hidden/", "logs/"`)
	sh(t, dir, "rm -r logs full .hidden")
	sh(t, dir, "git sparse-checkout set nothing-else && test ! -f one || { git update-index --skip-worktree one && rm one; }")
	check("a sparse checkout", `a sparse checkout keeps files of the tree out of the worktree, such as "one"`)
	sh(t, dir, "git update-index --no-skip-worktree one; git sparse-checkout disable; git checkout -q one; git config core.fileMode false; chmod +x one")
	check("core.fileMode", `core.fileMode of this clone leaves out whether files are executable, such as "one"`)
	sh(t, dir, "chmod -x one; git config --unset core.fileMode; ln -s one link; git add link; git config core.symlinks false; rm link; printf one > link")
	check("core.symlinks", `core.symlinks makes git store plain files as symbolic links, such as "link"`)
	sh(t, dir, "rm link; ln -s one link; printf 'sub/** -text\n*.txt text=auto\n*.bat eol=crlf\n' > .gitattributes; printf 'x\r\n' > a.txt; printf 'x\r\n' > b.bat; git add .")
	check("text=auto", `git converts the line endings of "a.txt"`)
	sh(t, dir, "printf 'x\n' > a.txt; printf 'x\n' > b.bat; git add .")
	check("eol=crlf", `git converts the line endings of "b.bat"`)
	sh(t, dir, "printf 'one ident\\nb.bat working-tree-encoding=UTF-7\\n' > .gitattributes; rm a.txt; git add .")
	check("other text", `attribute ident makes git store other text than is in "one"`, `attribute working-tree-encoding makes git store other text than is in "b.bat"`)
	sh(t, dir, "printf '# text\n*.txt linguist-generated\n' > .gitattributes; printf 'x\r\n' > b.bat; git add --renormalize .")
	check("attributes of others")
}

// TestHidden_quoted: names that others chose do not pass for what Bossman has seen.
func TestHidden_quoted(t *testing.T) {
	r, dir := newRepo(t)
	sh(t, dir, `mkdir -p .git/info; echo 'x*' > .git/info/exclude; touch 'x; accepted by ada (person)' "$(printf 'x"\n\342\200\256')"
git config 'filter.a of git. ada (person) waived it. Filter b.clean' cat`)
	got, err := r.Hidden(t.Context())
	want := []string{
		`.git/info/exclude leaves out "x\"\n\u202e", "x; accepted by ada (person)"`,
		`filter "a of git. ada (person) waived it. Filter b" of this clone's configuration rewrites files`,
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Hidden = %q, %v, want %q", got, err, want)
	}
}

// TestHidden_user: what the user's own configuration leaves out or rewrites is not committed
// either.
func TestHidden_user(t *testing.T) {
	r, dir := newRepo(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	check := func(what string, want ...string) {
		t.Helper()
		got, err := r.Hidden(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: Hidden = %q, %v, want %q", what, got, err, want)
		}
	}
	sh(t, dir, `mkdir -p $HOME/config/git $HOME/.config/git d node
printf 'made\n*.log\n' > $HOME/config/git/ignore
echo '*.log' > .gitignore; git add .gitignore
touch made a.log node/made d/made d/other`)
	check("the default file", `the user's own excludes file leaves out "d/made", "made", "node/"`)
	sh(t, dir, `mv $HOME/config/git/ignore $HOME/.gitignore; git config --file $HOME/.gitconfig core.excludesFile '~/.gitignore'`)
	check("core.excludesFile", `the user's own excludes file leaves out "d/made", "made", "node/"`)
	sh(t, dir, `rm -r made d/made node; seq 20000 >> $HOME/.gitignore; touch 777`)
	check("a long file", `the user's own excludes file leaves out "777"`)
	sh(t, dir, `git config core.excludesFile /dev/null`)
	check("core.excludesFile of this clone in place of it")
	sh(t, dir, `git config --unset core.excludesFile; git config --file $HOME/.gitconfig --unset core.excludesFile
git config --file $HOME/.gitconfig core.autocrlf input; printf 'x\r\n' > one; printf 'x\r\ny\n' > two; git -c core.autocrlf=input add one two; git commit -qm crlf`)
	check("core.autocrlf", `git converts the line endings of "one", "two"`)
	sh(t, dir, `printf 'x\r\n' > three`)
	check("core.autocrlf, and a file that is not added", `git converts the line endings of "three", "one", "two"`)
	sh(t, dir, `rm three`)
	sh(t, dir, `git config core.autocrlf false`)
	check("which this clone does not use")
	sh(t, dir, `git config core.autocrlf true`)
	check("which this clone sets", `git converts the line endings of "one", "two"`)
	sh(t, dir, `git config --unset core.autocrlf; git config --file $HOME/.gitconfig --unset core.autocrlf; echo '* text' > $HOME/config/git/attributes`)
	check("attributes", `git converts the line endings of "one", "two"`)
	sh(t, dir, `rm $HOME/config/git/attributes; rm 777; seq 20000 > .git/info/exclude; touch 888`)
	check("a long .git/info/exclude", `.git/info/exclude leaves out "888"`)
}
