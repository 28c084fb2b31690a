package crew

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// A guarded clone is one in which the agent of a slot runs git.
type guarded struct {
	t   *testing.T
	env []string
}

// sh runs a script in a directory as an agent does, and returns whether it succeeded.
func (g guarded) sh(dir, script string) (out string, ok bool) {
	cmd := exec.CommandContext(g.t.Context(), "sh", "-c", script)
	cmd.Dir, cmd.Env = dir, g.env
	text, err := cmd.CombinedOutput()
	return string(text), err == nil
}

// layouts make a repository with the branch main in a directory, a commit on a branch other that main does not have, and a
// worktree slot of that branch. The result is where its main worktree, or another one with main, is.
var layouts = map[string]struct{ script, main string }{
	"plain": {`git init -q -b main web && cd web && git commit -q --allow-empty -m one && git worktree add -q -b other ../slot`, "web"},
	"bare": {
		`git init -q -b main seed && git -C seed commit -q --allow-empty -m one && mkdir web && git clone -q --bare seed web/.bare && cd web && echo gitdir: ./.bare > .git &&
git -C .bare worktree add -q ../main main && git -C .bare worktree add -q -b other ../../slot main`, "web/main",
	},
	"submodule": {
		`git init -q -b main seed && git -C seed commit -q --allow-empty -m one && git init -q -b main all && cd all &&
git -c protocol.file.allow=always submodule --quiet add "$PWD/../seed" web && cd web && git worktree add -q -b other ../../slot`, "all/web",
	},
}

// newGuarded makes a repository, and the guard of a job in its slot. before runs in the main worktree first.
func newGuarded(t *testing.T, layout, target, before string) (g guarded, main, work string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, ".gitconfig"), []byte("[user]\n\tname = Ada\n\temail = a@b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+top, "GIT_CONFIG_NOSYSTEM=1")
	free := guarded{t, env}
	main, work = filepath.Join(top, layouts[layout].main), filepath.Join(top, "slot")
	for _, step := range [][2]string{{top, layouts[layout].script}, {main, before}, {work, "echo x > x && git add x && git commit -qm two"}} {
		if out, ok := free.sh(step[0], step[1]); !ok {
			t.Fatal(out)
		}
	}
	tree, err := git.Find(work)
	if err != nil {
		t.Fatal(err)
	}
	repo, err := git.Find(main)
	if err != nil {
		t.Fatal(err)
	}
	at, err := board.ParseTarget(target)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{slot: &slot{r: &Runner{o: Options{Repo: repo, Target: at, Environ: env}}}, tree: tree}
	vars, err := j.guard(t.Context(), makeDesk(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	return guarded{t, slices.Concat(env, vars)}, main, work
}

// An agent does not move a local target, in whichever worktree of the repository it runs git, and whatever for.
func TestGuard_local(t *testing.T) {
	for layout := range layouts {
		t.Run(layout, func(t *testing.T) {
			g, main, slot := newGuarded(t, layout, "main", "true")
			free := guarded{t, append(slices.Clone(g.env), parametersVariable+"=")}
			tip, _ := g.sh(main, "git rev-parse main")
			refused := func(dir, script string) {
				t.Helper()
				out, ok := g.sh(dir, script)
				if ok || !strings.Contains(out, "by landing only") {
					t.Errorf("%s in %s: %v\n%s", script, filepath.Base(dir), ok, out)
				}
				if now, _ := g.sh(main, "git rev-parse main"); now != tip {
					t.Errorf("%s in %s moved the target to %s", script, filepath.Base(dir), now)
				}
				free.sh(main, "git rebase --quit; git symbolic-ref HEAD refs/heads/main && git reset -q --hard "+tip)
			}
			for _, script := range []string{
				"git merge other", "git merge --no-ff -m m other", "git commit -q --allow-empty -m mine", "git cherry-pick other",
				"git reset -q --hard other", "git rebase -q other", "git pull -q . other", "git update-ref refs/heads/main other", "git checkout -q -B main other",
			} {
				refused(main, script)
			}
			clone := filepath.Join(t.TempDir(), "clone")
			for _, script := range []string{
				"git update-ref refs/heads/main other", "git update-ref -d refs/heads/main", "git update-ref -d refs/heads/main " + tip,
				"git push . other:main", `git push "$PWD" other:main`, `git push "file://$PWD/" +other:main`, `git push "$(git rev-parse --git-common-dir)" other:main`, "git push . :main",
				"rm -rf " + clone + `; git clone -q "$PWD" ` + clone + " && cd " + clone + " && git push -q origin origin/other:refs/heads/main",
			} {
				refused(slot, script)
				refused(main, script)
				free.sh(slot, "git pack-refs --all")
				refused(slot, script)
			}
			if layout == "bare" {
				refused(filepath.Dir(main), "git update-ref refs/heads/main other")
				refused(filepath.Join(filepath.Dir(main), ".bare"), "git update-ref refs/heads/main other")
			}
			for _, script := range []string{
				"git commit -q --allow-empty -m mine", "git branch topic main", "git tag v1", "git push -q . other:mine",
				// What packs refs moves none, whether the target is a file or packed already.
				"git pack-refs --all", "git gc -q", "git pack-refs --all --no-prune", "rm -rf " + clone + `; git clone -q "$PWD" ` + clone + " && cd " + clone + " && git push -q origin HEAD:refs/heads/theirs",
			} {
				free.sh(main, "git update-ref refs/heads/main other && git update-ref refs/heads/main "+tip) // its ref is a file again
				if out, ok := g.sh(slot, script); !ok {
					t.Errorf("%s: %s", script, out)
				}
			}
		})
	}
}

// An agent does not push to a target of a remote repository, in whichever worktree it runs git.
func TestGuard_remote(t *testing.T) {
	for layout := range layouts {
		t.Run(layout, func(t *testing.T) {
			g, main, slot := newGuarded(t, layout, "origin/main", `r=$(mktemp -d) && git init -q --bare "$r" && { git remote remove origin; git remote add origin "$r"; } && git push -q origin main`)
			tip, _ := g.sh(main, "git ls-remote origin main")
			for _, dir := range []string{slot, main} {
				for _, script := range []string{
					"git push -q origin other:main", `git push -q "$(git remote get-url origin)" other:main`, "git push -q --force origin other:main", "git push -q origin :main",
					`git push -q "file://$(git remote get-url origin)" other:main`, `git push -q "$(git remote get-url origin)/" other:main`, `git push -q "$(git remote get-url origin)/." other:main`,
					`c=$(mktemp -d) && git clone -q -b main "$(git remote get-url origin)" "$c" && cd "$c" && git commit -q --allow-empty -m mine && git push -q origin HEAD:main`,
				} {
					out, ok := g.sh(dir, script)
					if now, _ := g.sh(main, "git ls-remote origin main"); ok || now != tip || !strings.Contains(out, "by landing only") {
						t.Errorf("%s in %s: %v, %s\n%s", script, filepath.Base(dir), ok, now, out)
					}
				}
				for _, script := range []string{"git push -q origin other:topic", "git commit -q --allow-empty -m mine"} {
					if out, ok := g.sh(dir, script); !ok {
						t.Errorf("%s in %s: %s", script, filepath.Base(dir), out)
					}
				}
			}
		})
	}
}

// Other repositories of the agent are not guarded: one elsewhere, one in its worktree, and a submodule.
func TestGuard_elsewhere(t *testing.T) {
	for _, target := range []string{"main", "origin/main"} {
		g, main, slot := newGuarded(t, "plain", target, `git init -q -b main ../lib && git -C ../lib commit -q --allow-empty -m one && git -C ../lib config receive.denyCurrentBranch ignore &&
git -c protocol.file.allow=always submodule --quiet add "$PWD/../lib" lib && git init -q -b main ../web.git`)
		if out, ok := g.sh(slot, `git -c protocol.file.allow=always submodule --quiet add "$(git -C ../web remote get-url origin 2>/dev/null || echo "$PWD/../lib")" lib`); !ok {
			t.Fatal(out)
		}
		for _, dir := range []string{filepath.Join(main, "lib"), filepath.Join(slot, "lib"), filepath.Join(filepath.Dir(slot), "lib"), filepath.Join(filepath.Dir(slot), "web.git")} {
			if out, ok := g.sh(dir, "git commit -q --allow-empty -m mine && git branch -f main HEAD 2>/dev/null || git update-ref refs/heads/main HEAD"); !ok {
				t.Errorf("target %s, %s: %s", target, dir, out)
			}
		}
		if out, ok := g.sh(filepath.Join(slot, "lib"), "git push -q --force origin HEAD:main"); !ok {
			t.Errorf("target %s: %s", target, out)
		}
	}
}
