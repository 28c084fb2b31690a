package land

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// pulled is the only pull request of a remote repository.
type pulled struct{ Pull }

func (p *pulled) View(context.Context, string) (Pull, error) { return p.Pull, nil }

func (p *pulled) Create(context.Context, string, string, string, string) (string, error) {
	p.Pull = Pull{State: PullOpen, URL: "https://example.org/1"}
	return p.URL, nil
}

// However a pull request was merged, its own commits are undone, and no others.
func TestUndo_pull(t *testing.T) {
	const fix = "echo 2 > fix; git add fix; git commit -qm fix; "
	const people = "git checkout -q main; echo 3 > people; git add people; git commit -qm people; git tag theirs; "
	const update = people + "git push -q origin main; git checkout -q pull; git merge -q -m 'Merge branch main' main; "
	for name, c := range map[string]struct {
		merge   string // in a clone, on the branch of the pull request
		unknown bool
		want    string // what Undo says
	}{
		"rebase":       {merge: fix + "git tag head; " + people + "git checkout -q pull; git rebase -q main; git checkout -q main; git merge -q --ff-only pull"},
		"updated":      {merge: fix + update + "git tag head; git rebase -q --force-rebase main; git checkout -q main; git merge -q --ff-only pull"},
		"updated one":  {merge: update + "git tag head; git rebase -q --force-rebase main; git checkout -q main; git merge -q --ff-only pull"},
		"up, squashed": {merge: fix + update + "git checkout -q main; git merge -q --squash pull; git commit -qm squashed --date=@2000000000"},
		"left out":     {merge: fix + "git commit -q --allow-empty -m empty; git tag head; " + people + "git checkout -q pull; git reset -q --hard HEAD^; git rebase -q main; git checkout -q main; git merge -q --ff-only pull", want: "it is not known which of the commits"},
		"two lines":    {merge: "echo 2 > fix; git add fix; printf 'fix\nit\n' | git commit -qF -; git tag head; " + people + "git checkout -q pull; git rebase -q main; git checkout -q main; git merge -q --ff-only pull", want: "it is not known which of the commits"},
		"merge":        {merge: fix + people + "git merge -q --no-ff -m merge pull"},
		"up, forward":  {merge: fix + update + "git checkout -q main; git merge -q --ff-only pull"},
		"up, and on":   {merge: update + fix + "git checkout -q main; git merge -q --ff-only pull"},
		"straight":     {merge: fix + people + "git checkout -q pull; git tag head; git merge -q -m merge main; git checkout -q main; git merge -q --ff-only pull"},
		"squash":       {merge: fix + people + "git merge -q --squash pull; git commit -qm squashed --date=@2000000000"},
		"one":          {merge: "git tag head; " + people + "git checkout -q pull; git rebase -q main; git checkout -q main; git merge -q --ff-only pull"},
		"not known":    {merge: fix + people + "git merge -q --squash pull; git commit -qm squashed --date=@2000000000", unknown: true, want: "it is not known which of the commits"},
		"there before": {merge: "", want: "has changed nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
			if err := y.board.SetLand(t.Context(), y.actor, "web", "pr:main"); err != nil {
				t.Fatal(err)
			}
			y.o.Target = board.Target{Kind: board.TargetPR, Remote: "origin", Branch: "main"}
			pulls := &pulled{}
			y.o.Pulls = pulls
			one := y.task("one", "main", map[string]string{"one": "1\n"})
			clone := filepath.Join(t.TempDir(), "clone")
			y.git("clone", "-q", origin, clone)
			const who = "set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; "
			if c.merge == "" {
				if err := os.WriteFile(filepath.Join(clone, "one"), []byte("1\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				sh(t, clone, who+"git add one; git commit -qm same; echo 3 > people; git add people; git commit -qm people; git push -q origin main")
			}
			y.land()
			if c.merge != "" {
				sh(t, clone, who+"git tag init; git fetch -q; git checkout -q -b pull $(git branch -r --list 'origin/bossman/web-1-1-*'); "+c.merge+"; git push -q origin main")
				pulls.State, pulls.Merged = PullMerged, y.git("-C", clone, "rev-parse", "main")
				head := "pull"
				if strings.Contains(c.merge, "git tag head") { // before it was rebased
					head = "head"
				}
				pulls.Head = y.git("-C", clone, "rev-parse", head)
				log := y.git("-C", clone, "log", "--reverse", "--topo-order", "--format=%H %at %s", "init.."+head, "^theirs", "--")
				for line := range strings.Lines(log) {
					commit, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
					at, subject, _ := strings.Cut(rest, " ")
					authored, err := strconv.ParseInt(at, 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					pulls.Commits = append(pulls.Commits, PullCommit{commit, strings.TrimSuffix(subject, " it"), authored}) // gh has one line
				}
				if c.unknown {
					pulls.Commits = nil
				}
				y.land()
			}
			y.status(one, board.Done)
			if name == "squash" { // the project may push by itself since then
				if err := y.board.SetLand(t.Context(), y.actor, "web", "origin/main"); err != nil {
					t.Fatal(err)
				}
				y.o.Target.Kind = board.TargetRemote
			}
			done, err := Undo(t.Context(), &y.o, y.board, person, one, "", true)
			if c.want != "" {
				if e, ok := errors.AsType[*NotUndoneError](err); !ok || !strings.Contains(e.Why, c.want) {
					t.Errorf("Undo = %+v, %v, want %q", done, err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tip := y.status(done.Undo, board.Landing).Doc.Result.Tip.Commit
			if files := y.git("-C", y.o.Repo.Root, "ls-tree", "--name-only", tip); files != "a\npeople" {
				t.Errorf("the undo has %q", files)
			}
		})
	}
}
