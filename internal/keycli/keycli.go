// Package keycli is bossman key and bossman person: who may use a server, and with which keys.
package keycli

import (
	"context"
	"slices"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// A Desk is a server's database, and who sits at it.
type Desk struct {
	Keys  *auth.Authenticator
	Board *board.Board
	Actor board.Actor
	// User is the system's name of who runs the command.
	User string
	// Named is the project of the command line, auth.EveryProject for all, empty if none was named.
	Named string
	// Project returns the project that is meant; it is an error if there is none of that name.
	Project func() (string, error)
}

// by is who runs a command here, for Key.CreatedBy and Key.RevokedBy.
func (d *Desk) by() string { return "shell:" + d.User }

// dismiss takes back what was held by principals whose access has ended, and returns the tasks. before are the claims of the time when it had
// not: a server may have been faster.
func (d *Desk) dismiss(ctx context.Context, reason string, principals []string, before []board.Claim) ([]board.ID, error) {
	released, err := d.Board.Dismiss(ctx, d.Actor, reason, principals...)
	for _, held := range before {
		if slices.Contains(principals, held.Worker.Principal) && !slices.Contains(released, held.Task) {
			released = append(released, held.Task)
		}
	}
	return released, err
}

// cli is the commands on a console.
type cli struct {
	*console.Console
	open func(ctx context.Context) (*Desk, error)
	// each does something with every name on the command line.
	each func(names []string, do func(name string) error) error
}

// Commands returns bossman key and bossman person. open opens the server's database; each does
// something with every name on the command line.
func Commands(out *console.Console, open func(ctx context.Context) (*Desk, error), each func([]string, func(string) error) error) []*cobra.Command {
	c := &cli{out, open, each}
	key := &cobra.Command{Use: "key", Short: "Create, list, lower and revoke the keys of a server"}
	key.AddCommand(c.createCommand(), c.listCommand(), c.lowerCommand(), c.revokeCommand())
	person := &cobra.Command{Use: "person", Short: "List, disable and enable people"}
	person.AddCommand(c.personList(),
		c.personSwitch("disable NAME", "Reject all keys and tokens of a person until enabled again", "%s is disabled.", true),
		c.personSwitch("enable NAME", "Accept the keys and tokens of a person again", "%s is enabled. Revoked keys stay revoked.", false))
	return []*cobra.Command{key, person}
}
