package boardcli

import (
	"context"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// maxPut is how many tasks are archived at one URL at most.
const maxPut = 100_000

// A Desk is the board in this process, with the project and the person of a command.
type Desk struct {
	Board   *board.Board
	Project string
	Actor   board.Actor
}

// Archive returns bossman task archive.
func Archive(out *console.Console, open func(ctx context.Context) (Desk, error)) *cobra.Command {
	var age console.Age
	var to string
	var dryRun bool
	cmd := &cobra.Command{
		Use: "archive", Short: "Move finished tasks out of the board", Args: cobra.NoArgs,
		Long: `Archive writes tasks that were done or cancelled long ago to a file, with their attempts,
questions and events, and deletes them from the board once they are safe there. It leaves
tasks that something open depends on, and those with an open parent or child. Agents may
go on working.

The age is the project's, set with bossman project set --keep 180d, unless --older-than
names another. --to names a new file, a directory, which gets a new file each time, or a
URL to which the file is sent with PUT, such as a signed one of S3-compatible storage; at
most 100,000 tasks go to one URL. The file has the lines of bossman task export,
compressed with gzip; bossman task import reads it, and into the same board it brings the
tasks back under their old numbers.`,
		Example: `  bossman task archive --older-than 180d --to archive/
  bossman task archive --to "$SIGNED_URL"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.RefuseAgent(); err != nil {
				return err
			}
			ctx := cmd.Context()
			d, err := open(ctx)
			if err != nil {
				return err
			}
			p, err := d.Board.Project(ctx, d.Project)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("older-than") {
				if age = console.Age(p.Keep); age == 0 {
					return console.Errorf(console.Usage, "bossman task archive --older-than 180d, or set it for the project: bossman project set --keep 180d",
						"the project %s keeps finished tasks for ever", d.Project)
				}
			}
			if to == "" && !dryRun {
				return console.Usagef("--to is missing: name a new file, a directory, or a URL for PUT")
			}
			o := board.Archiving{Project: d.Project, Age: time.Duration(age), DryRun: dryRun}
			var place archivePlace
			if !dryRun {
				if place, err = newPlace(to, d.Project, time.Now()); err != nil {
					return err
				}
				defer place.Close()
				if _, once := place.(*putPlace); once {
					o.PerSave, o.Max = maxPut, maxPut
				}
			}
			progress := out.Progress()
			n, err := d.Board.Archive(ctx, d.Actor, o, place, func(n int) { progress.Set("archived " + console.Count(n, "task")) })
			progress.Clear()
			if err != nil {
				next := "nothing was deleted; repeat the command"
				if n > 0 {
					next = console.Count(n, "task") + " were archived; repeat the command to continue"
				}
				return console.WithNext(err, next)
			}
			at := ""
			if n > 0 && !dryRun {
				at = place.Name()
			}
			if out.JSON {
				return out.PrintJSON(struct {
					Project  string `json:"project"`
					Archived int    `json:"archived"`
					DryRun   bool   `json:"dry_run,omitzero"`
					Place    string `json:"place,omitzero"`
				}{d.Project, n, dryRun, at})
			}
			switch {
			case n == 0:
				out.Linef("No finished task of %s is older than %s, or can go yet.", d.Project, board.Span(time.Duration(age)))
			case dryRun:
				out.Linef("%s of %s would be archived.", console.Count(n, "task"), d.Project)
			default:
				out.Linef("Archived %s of %s: %s", console.Count(n, "task"), d.Project, at)
				if n == o.Max {
					out.Infof("There may be more: repeat the command with another URL.")
				}
			}
			return nil
		},
	}
	cmd.Flags().Var(&age, "older-than", "archive tasks that ended longer ago than this, such as 180d; default: as the project says")
	cmd.Flags().StringVar(&to, "to", "", "a new file, a directory, or a URL for PUT")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say how many tasks it would be")
	return cmd
}
