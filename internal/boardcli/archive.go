package boardcli

import (
	"context"
	"path/filepath"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// maxFile is how many tasks are archived in one file at most, so that it can be imported: an
// import has the whole file in memory. It is a variable for tests.
var maxFile = 100_000

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
names another. --to names a directory, which gets new files each time, a new file, or a
URL to which the file is sent with PUT, such as a signed one of S3-compatible storage. At
most 100,000 tasks go into a file. It has the lines of bossman task export, compressed with
gzip; bossman task import reads it, and into the same board it brings the tasks back under
their old numbers.`,
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
				return console.Usagef("--to is missing: name a directory, a new file, or a URL for PUT")
			}
			o := board.Archiving{Project: d.Project, Age: time.Duration(age), DryRun: dryRun}
			if !dryRun {
				o.Max = maxFile
			}
			n, at, more := 0, "", true
			for more {
				var place archivePlace
				dir := false
				if !dryRun {
					if place, dir, err = newPlace(to, d.Project, time.Now()); err != nil {
						return err
					}
					if _, once := place.(*putPlace); once {
						o.PerSave = maxFile
					}
				}
				gone, err := archiveTo(ctx, out, d, o, place, n)
				n += gone
				if err != nil {
					next := "nothing was deleted; repeat the command"
					if n > 0 {
						next = console.Count(n, "task") + " were archived; repeat the command to continue"
					}
					return console.WithNext(err, next)
				}
				switch {
				case gone == 0 || dryRun:
				case at == "":
					at = place.Name()
				default:
					at = filepath.Dir(place.Name()) // several files
				}
				more = dir && gone == o.Max
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
					out.Infof("There may be more: repeat the command with another name, or name a directory.")
				}
			}
			return nil
		},
	}
	cmd.Flags().Var(&age, "older-than", "archive tasks that ended longer ago than this, such as 180d; default: as the project says")
	cmd.Flags().StringVar(&to, "to", "", "a directory, a new file, or a URL for PUT")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say how many tasks it would be")
	return cmd
}

// archiveTo archives tasks at one place, after n that were archived elsewhere.
func archiveTo(ctx context.Context, out *console.Console, d Desk, o board.Archiving, place archivePlace, n int) (int, error) {
	if place != nil {
		defer place.Close()
	}
	progress := out.Progress()
	defer progress.Clear()
	return d.Board.Archive(ctx, d.Actor, o, place, func(here int) { progress.Set("archived " + console.Count(n+here, "task")) })
}
