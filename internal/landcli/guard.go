package landcli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// Guard returns bossman guard.
func Guard(out *console.Console, open func(ctx context.Context) (*Office, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: "guard", Short: "Hooks for git that keep a target to work that has landed",
	}
	cmd.AddCommand(preReceive(out, open))
	return cmd
}

// preReceive returns bossman guard pre-receive.
func preReceive(out *console.Console, open func(ctx context.Context) (*Office, error)) *cobra.Command {
	return &cobra.Command{
		Use: "pre-receive", Short: "A git server's hook: the target takes only pushes that the board knows of", Args: cobra.NoArgs,
		Long: `Pre-receive is the hook pre-receive of a git server, for the repository in which the target of
a project is. It asks the board whether a lander has announced to move the target from and to
exactly these commits, and refuses every other push to that branch, whoever makes it, also by
way of a symbolic ref. Other branches are not concerned. If the board does not answer, it
refuses, too. With a target that gets pull requests it refuses every push to that branch.

The hook is a file with these lines, and needs a key with the role viewer:

  #!/bin/sh
  export BOSSMAN_BOARD=https://bossman.example.org BOSSMAN_KEY=...
  exec bossman guard pre-receive --project web`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			updates, err := readUpdates(out)
			if err != nil {
				return err
			}
			o, err := open(ctx)
			if err != nil {
				return err
			}
			p, err := o.Board.Project(ctx, o.Project)
			if err != nil {
				return err
			}
			return o.guard(ctx, p.Land, updates)
		},
	}
}

// An update is a line that git hands to the hook: a ref moves from a commit to another one.
type update struct{ old, new, ref string }

// maxUpdates bounds the refs of one push.
const maxUpdates = 100_000

// readUpdates reads what is pushed.
func readUpdates(out *console.Console) (list []update, err error) {
	lines := bufio.NewScanner(out.Stdin)
	for lines.Scan() {
		f := strings.SplitN(lines.Text(), " ", 3)
		if len(f) != 3 || len(list) == maxUpdates {
			return nil, console.Usagef("this is a hook of git, which gets lines with two commits and a ref")
		}
		list = append(list, update{f[0], f[1], f[2]})
	}
	return list, lines.Err()
}

// guard refuses updates of the target that are not those of a lander.
func (o *Office) guard(ctx context.Context, land string, updates []update) error {
	if land == "" || len(updates) == 0 {
		return nil
	}
	target, err := board.ParseTarget(land)
	if err != nil {
		return console.Errorf(console.Denied, fmt.Sprintf("set it again: bossman project set --project %s --land BRANCH; or use the version of bossman that the board has", o.Project),
			"work of %s lands on %.80q, which is not known here as a branch, so nothing can be pushed: %v", o.Project, land, err)
	}
	if target.Kind == board.TargetLocal {
		return nil // it is in a clone
	}
	dir, err := filepath.Abs(cmp.Or(os.Getenv("GIT_DIR"), "."))
	if err != nil {
		return err
	}
	repo, ok := git.At(dir)
	if !ok {
		return console.Errorf(console.Denied, "run it as the hook pre-receive, in the directory in which git runs that", "this is not a git repository, so it is not known which branches lead to %s", target.Branch)
	}
	for _, u := range updates {
		ref, err := repo.Leads(ctx, u.ref)
		if err != nil {
			return err
		}
		switch {
		case ref != "refs/heads/"+target.Branch && u.ref != "refs/heads/"+target.Branch:
			continue
		case target.Kind == board.TargetPR:
			return console.Errorf(console.Denied, "push another branch, and merge its pull request; if this server runs its hooks for that, too, remove the guard, and protect the branch with the server's own rules",
				"%s of %s takes only pull requests", target.Branch, o.Project)
		}
		if err := o.announced(ctx, target, u); err != nil {
			return err
		}
	}
	return nil
}

// announced refuses an update of the target that no open intent announces.
func (o *Office) announced(ctx context.Context, target board.Target, u update) error {
	line, err := o.Board.Line(ctx, o.Project)
	if err != nil {
		return err
	}
	old := u.old
	if strings.Trim(old, "0") == "" { // there was no such branch
		old = ""
	}
	// An intent whose lander has lost its lease is for the next lander to settle.
	if i := line.Open; i != nil && i.Nonce == line.Lander.Nonce && line.Lander.Until.After(line.Now) && i.Old == old && i.New == u.new {
		return nil
	}
	return console.Errorf(console.Denied, fmt.Sprintf("push another branch, and let bossman land its work; or lift the guard: bossman project set --project %s --land off", o.Project),
		"%s of %s takes only what bossman land has announced", target.Branch, o.Project)
}
