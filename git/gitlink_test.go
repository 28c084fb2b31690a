package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Git does not run itself in the directories of gitlinks: nothing runs that the repositories
// there configure, wherever they have it and however deep they lie, and whether the snapshot
// is made or refused.
func TestSnapshot_gitlinks(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	t.Setenv("RUN", "touch "+canary+"; cat")
	const sub = `git init -q sub && cd sub && echo x > f && git add f && git commit -qm s && cd .. && git add sub && git commit -qm sub;`
	const evil = `config filter.e.clean "$RUN"; echo '* filter=e' > `
	for name, test := range map[string]struct{ prepare, file, want string }{
		"its git directory is elsewhere": {sub + `mv sub/.git evil && git -C evil ` + evil + `evil/info/attributes; echo 'gitdir: ../evil' > sub/.git`, "sub/f", "its .git leads to"},
		"its configuration is elsewhere": {sub + `cp -R sub/.git evil && git -C evil ` + evil + `evil/info/attributes; rm -rf sub/.git/config sub/.git/objects sub/.git/refs; echo ../../evil > sub/.git/commondir`, "sub/f", "its .git/commondir leads to"},
		"a worktree of the same":         {`git worktree add -q sub && git config extensions.worktreeConfig true && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub && git commit -qm sub && git -C sub config --worktree filter.e.clean "$RUN" && echo '* filter=e' > sub/.gitattributes`, "sub/one", ""},
		"twelve deep":                    {`for i in 1 2 3 4 5 6 7 8 9 10 11 12; do git init -q s; cd s; done; echo x > f; git add f; git commit -qm s; git ` + evil + `.git/info/attributes; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cd ..; git add s; git commit -qm s; done; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do ` + absorb("s") + `; cd s; done`, strings.Repeat("s/", 12) + "f", "more than 10 deep"},
		"a name that ends in a space":    {sub + `cd sub; mv .git .e; cp -R .e '.e '; git -C '.e ' ` + evil + `'.e /info/attributes'; printf 'gitdir: .e \n' > .git`, "sub/f", `.e " in the worktree itself`},
		"a name with dots after a link":  {sub + `cd sub; mkdir -p a/b; mv .git a/e; ln -s a/b l; cp -R a/e e; git -C a/e ` + evil + `a/e/info/attributes; echo gitdir: l/../e > .git`, "sub/f", "git takes"},
		"in the git directory":           {`mkdir .gix && git init -q .gix/x && cd .gix/x && echo x > f && git add f && git commit -qm s && git ` + evil + `.git/info/attributes; cd ../..; git add -A; mv .gix/x .git/x; LC_ALL=C sed -i 's/\.gix.x/.git\/x/' .git/index`, ".git/x/f", "where git allows none"},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			sh(t, dir, test.prepare)
			sh(t, dir, "git update-index --refresh -q; rm -f "+canary)
			file := filepath.Join(dir, test.file)
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.Repeat("y", int(info.Size()))), 0o644); err != nil { // of equal size
				t.Fatal(err)
			}
			if err := os.Chtimes(file, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
				t.Fatal(err)
			}
			_, err = r.Snapshot(t.Context(), nil)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Snapshot: %v, want %q", err, test.want)
			}
			_, _ = r.Status(t.Context())
			_, _ = r.Loose(t.Context())
			_, _ = r.Hidden(t.Context())
			_, _ = r.Filters(t.Context())
			if _, err := os.Stat(canary); err == nil {
				t.Error("a filter of the submodule ran")
			}
			sh(t, dir, "cp .git/index .git/i; GIT_INDEX_FILE=$PWD/.git/i git add --all; true") // the control
			if _, err := os.Stat(canary); err != nil {
				t.Error("git add did not run the filter: this test shows nothing")
			}
		})
	}
}
