// Package boardcli is bossman board, which shows a board in a browser, backs it up, checks it, and repairs
// its clock; and bossman task archive, which moves finished tasks out of it.
package boardcli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/invariant"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// A File is a store in a file.
type File interface {
	Backup(ctx context.Context, name string) error
	Integrity(ctx context.Context) (faults []string, err error)
	Ahead(ctx context.Context) (time.Duration, error)
	RepairClock(ctx context.Context) (time.Duration, error)
}

// cli is the command on a console.
type cli struct {
	*console.Console
	open    func(ctx context.Context) (store board.Store, name string, err error)
	display func(ctx context.Context) (*Display, error)
}

// Command returns bossman board. open opens the store of the board and returns its name for
// people. If the store is a File, its file can be backed up. display opens the board for its dashboard.
func Command(out *console.Console, open func(ctx context.Context) (board.Store, string, error), display func(ctx context.Context) (*Display, error)) *cobra.Command {
	c := &cli{out, open, display}
	var f dashboardFlags
	cmd := &cobra.Command{
		Use: "board", Short: "Open the dashboard; back up and check the board", Args: cobra.NoArgs,
		Long: `Board shows the board in a browser: what needs you, who works on what, reviews with their
diffs, the tasks, the timeline, the landing queue. It prints a link that lets one browser on this machine in,
and opens it where there is a desktop. Several can run at once.

A team's board is shown by its server, at the address of the server itself.`,
		Example: "  bossman board\n  bossman board --no-open --http 127.0.0.1:8182",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.dashboard(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.address, "http", "127.0.0.1:0", "`address` to listen on; port 0 is any that is free")
	cmd.Flags().BoolVar(&f.noOpen, "no-open", false, "print the link, and open no browser")
	cmd.Flags().BoolVar(&f.byAddress, "by-address", false, "link to the address and not to a name below localhost, for a browser that does not find the name; programs at other ports of the address then see the session")
	cmd.AddCommand(c.backup(), c.check(), c.repairClock())
	return cmd
}

func (c *cli) backup() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy a board in a file", Args: cobra.ExactArgs(1),
		Long: `Backup copies the board to a new file while agents go on working, and checks the copy.
The copy has the board's keys as well; only you may read it.

To restore it, end the processes that use the board, and put the copy in its place. A
board in PostgreSQL is backed up with the tools of PostgreSQL.`,
		Example: `  bossman board backup ~/backup/board.db`,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			_, file, label, err := c.file(cmd.Context(), "back it up with pg_dump, or with the snapshots of your provider")
			if err != nil {
				return err
			}
			if err := file.Backup(cmd.Context(), name); err != nil {
				if errors.Is(err, fs.ErrExist) {
					return console.Errorf(console.Conflict, "choose a name that does not exist; nothing was changed", "%s exists", name)
				}
				return err
			}
			info, err := os.Stat(name)
			if err != nil {
				return err
			}
			if c.JSON {
				return c.PrintJSON(struct {
					Board string `json:"board"`
					File  string `json:"file"`
					Bytes int64  `json:"bytes"`
				}{label, name, info.Size()})
			}
			c.Linef("Copied %s to %s (%s) and checked the copy.", label, name, size(info.Size()))
			return nil
		},
	}
}

func (c *cli) check() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Look for faults in the board", Args: cobra.NoArgs,
		Long: `Check reads the whole board and compares what was recorded with what is stored: attempts
that overlap, events that are missing, counts that are wrong. In a file it also checks
the file itself. It changes nothing, and agents may go on working. It reads every event,
which takes minutes on a large board.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, label, err := c.open(cmd.Context())
			if err != nil {
				return err
			}
			faults, err := check(cmd.Context(), store)
			if err != nil {
				return err
			}
			var ahead time.Duration
			if file, ok := store.(File); ok {
				if ahead, err = file.Ahead(cmd.Context()); err != nil {
					return err
				}
			}
			if c.JSON {
				if err := c.PrintJSON(struct {
					Board  string   `json:"board"`
					Faults []string `json:"faults"`
					Ahead  int      `json:"clock_ahead_seconds,omitzero"`
				}{label, slices.Concat([]string{}, faults), int(ahead.Seconds())}); err != nil {
					return err
				}
			}
			for _, fault := range faults {
				c.Infof("%s", fault)
			}
			if ahead >= time.Minute {
				c.Infof("note: the times in the board are %s ahead of this machine's clock. If that clock is right: bossman board repair-clock", board.Span(ahead))
			}
			if len(faults) > 0 {
				return console.Errorf(console.Failure, "restore a backup, or report the faults; nothing was changed", "%s has %s", label, console.Count(len(faults), "fault"))
			}
			if !c.JSON {
				c.Linef("%s has no faults.", label)
			}
			return nil
		},
	}
}

func (c *cli) repairClock() *cobra.Command {
	return &cobra.Command{
		Use: "repair-clock", Short: "Set the time of a board whose clock is ahead", Args: cobra.NoArgs,
		Long: `Repair-clock is for a board in a file that was used once on a machine whose clock was
ahead: times never go back by themselves, so it stays ahead. Check this machine's clock
first. Leases and cool-downs keep what is left of them; the times of past events stay as
they were recorded. Agents may go on working.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.RefuseAgent(); err != nil {
				return err
			}
			_, file, label, err := c.file(cmd.Context(), "its clock is the one of the database's machine")
			if err != nil {
				return err
			}
			ahead, err := file.RepairClock(cmd.Context())
			if err != nil {
				return err
			}
			if c.JSON {
				return c.PrintJSON(struct {
					Board string `json:"board"`
					Ahead int    `json:"clock_ahead_seconds"`
				}{label, int(ahead.Seconds())})
			}
			if ahead == 0 {
				c.Linef("The clock of %s is right.", label)
				return nil
			}
			c.Linef("The clock of %s was %s ahead; now it is this machine's, %s.", label, board.Span(ahead), time.Now().UTC().Format("2006-01-02 15:04 UTC"))
			return nil
		},
	}
}

// file opens a board in a file. instead says what to do with a board in PostgreSQL.
func (c *cli) file(ctx context.Context, instead string) (board.Store, File, string, error) {
	store, label, err := c.open(ctx)
	if err != nil {
		return nil, nil, "", err
	}
	file, ok := store.(File)
	if !ok {
		return nil, nil, "", console.Errorf(console.Usage, instead, "%s is not a board in a file", label)
	}
	return store, file, label, nil
}

// checks is how often a fault must be found to be one: others write to the board while it is
// read.
const checks = 3

// check returns the faults of a board.
func check(ctx context.Context, store board.Store) (faults []string, err error) {
	if file, ok := store.(File); ok {
		faults, err = file.Integrity(ctx)
		if err != nil || len(faults) > 0 { // a damaged file has more
			if errors.Is(err, board.ErrNotFound) {
				return nil, err
			}
			return faults, err
		}
	}
	for i := range checks {
		var found []string
		for _, err := range invariant.Check(ctx, store) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if fault := err.Error(); i == 0 || slices.Contains(faults, fault) {
				found = append(found, fault)
			}
		}
		if faults = found; len(faults) == 0 {
			break
		}
	}
	return faults, nil
}

// size is a number of bytes for people.
func size(bytes int64) string {
	const mega = 1 << 20
	if bytes < mega {
		return fmt.Sprintf("%d KB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/mega)
}
