package landcli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
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
exactly these commits, and refuses every other push to that branch, whoever makes it. Other
branches are not concerned. If the board does not answer, it refuses, too.

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
			target, err := board.ParseTarget(p.Land)
			if err != nil || target.Kind != board.TargetRemote {
				return nil // nothing is pushed to it
			}
			for _, u := range updates {
				if u.ref != "refs/heads/"+target.Branch {
					continue
				}
				if err := o.announced(ctx, target, u); err != nil {
					return err
				}
			}
			return nil
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
