package cli

import (
	"context"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/spf13/cobra"
)

// A Source is where completion finds ids.
type Source struct {
	Board    access.Board
	Project  string // the project of the command, or empty
	Projects []board.Project
	Keys     *auth.Authenticator // nil if the board is on a server
}

// Complete adds suggestions, help and completion to all commands; a command that only has others
// below it prints its help. open opens the board for completion.
func Complete(root *cobra.Command, open func(ctx context.Context) (Source, error)) {
	root.SetHelpCommand(helpCommand(root))
	group(root)
	root.SetFlagErrorFunc(flagError)
	each(root, func(cmd *cobra.Command) {
		if cmd.HasSubCommands() {
			cmd.Args = noArgs
			if !cmd.Runnable() {
				cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			}
		}
		completeArgs(cmd, open)
		completeFlags(cmd, open)
	})
}

// each calls f with a command and all below it.
func each(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, c := range cmd.Commands() {
		each(c, f)
	}
}
