package configcli

import (
	"cmp"
	"os"

	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// Link returns bossman link. flags are those of the command line.
func Link(out *console.Console, flags *config.Flags) *cobra.Command {
	var off bool
	cmd := &cobra.Command{
		Use: "link [PATH]", Short: "Use the board of another clone of this repository", Args: cobra.MaximumNArgs(1),
		Long: `Link makes this clone and its worktrees use the board of the clone in PATH. Without PATH it
shows which board is used. The link is a file in the git directory; tasks stay where they
are. Agents that run now use the other board when they are started again.`,
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := config.CurrentLink(*flags, out.Getenv)
			if err != nil {
				return err
			}
			if off && len(args) > 0 {
				return console.Usagef("--off takes no PATH")
			}
			if off || len(args) > 0 {
				if err := out.RefuseAgent(); err != nil {
					return err
				}
			}
			switch { // a link that cannot be used can be removed or replaced
			case off:
				if removed, err := l.Remove(); err != nil || !removed {
					return cmp.Or(err, console.Errorf(console.NothingToDo, "", "this clone has no link"))
				}
			case len(args) > 0:
				if err := l.Set(args[0]); err != nil {
					return err
				}
			default:
				if err := l.Check(); err != nil {
					return err
				}
			}
			if out.JSON {
				return out.PrintJSON(map[string]any{"clone": l.Clone, "board": l.Board, "linked": l.Board != l.Own})
			}
			out.Linef("This clone uses the board in %s.", console.OneLine(l.Board))
			if _, err := os.Stat(l.Own); err == nil && l.Board != l.Own {
				out.Linef("Its own board stays in %s. To bring its tasks along: bossman --board %s task export > tasks.jsonl, then bossman task import tasks.jsonl", console.OneLine(l.Own), console.ShellWords(l.Own))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&off, "off", false, "remove the link, and use this clone's own board again")
	return cmd
}
