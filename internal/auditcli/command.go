// Package auditcli is bossman audit, which checks the audit stream of a server.
package auditcli

import (
	"time"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/telemetry"
	"github.com/spf13/cobra"
)

// Command returns bossman audit.
func Command(out *console.Console) *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "Check a server's audit stream"}
	head := ""
	sub := &cobra.Command{
		Use: "verify FILE…", Short: "Find out whether an audit stream was changed", Args: cobra.MinimumNArgs(1),
		Long: `Verify reads the files of one replica's audit stream, the oldest first. Each line names the
SHA-256 hash of the line before it; verify finds lines that were changed, added or taken out.

Lines that were cut off at the end leave no trace in the file. The server logs the hash of the last
line when it starts, on SIGHUP, and when it ends (head): with --head, verify also checks that the
line with that hash is still there.`,
		Example: `  bossman audit verify /var/log/bossman/audit.jsonl.1 /var/log/bossman/audit.jsonl
  bossman audit verify audit.jsonl --head 5d41…`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if head == "" && cmd.Flags().Changed("head") {
				return console.Usagef("--head is empty: the server's log has none before the first line")
			}
			return verify(out, args, head)
		},
	}
	sub.Flags().StringVar(&head, "head", "", "`hash` of a line that must be there, from the server's log")
	cmd.AddCommand(sub)
	return cmd
}

type verdictJSON struct {
	Lines     int       `json:"lines"`
	Unchained int       `json:"unchained,omitzero"`
	Torn      int       `json:"torn,omitzero"`
	First     time.Time `json:"first,omitzero"`
	Last      time.Time `json:"last,omitzero"`
	Before    string    `json:"before,omitzero"`
	Head      string    `json:"head"`
	Faults    []string  `json:"faults"`
}

func verify(out *console.Console, paths []string, head string) error {
	c := telemetry.NewAuditCheck(head)
	for _, path := range paths {
		f, err := console.OpenFile(path)
		if err != nil {
			return err
		}
		err = c.Read(path, f)
		f.Close()
		if err != nil {
			return err
		}
	}
	faults := []string{}
	for _, f := range c.Faults {
		faults = append(faults, f.String())
	}
	if !c.Seen {
		faults = append(faults, "no line has the hash "+head+": the end was cut off, or it is another replica's")
	}
	if out.JSON {
		if err := out.PrintJSON(verdictJSON{c.Lines, c.Unchained, c.Torn, c.First, c.Last, c.Before, c.Head, faults}); err != nil {
			return err
		}
	} else {
		for _, f := range faults {
			out.Linef("%s", f)
		}
		if c.Unchained > 0 {
			out.Linef("%d lines at the beginning have no hashes and were not checked: an older version of the server wrote them, or somebody else", c.Unchained)
		}
		if c.Before != "" {
			out.Linef("the first line goes on from one that is not in these files: %s", c.Before)
		}
		if c.Torn > 0 {
			out.Linef("%d lines are incomplete: the server was killed or its disk was full", c.Torn)
		}
	}
	if len(faults) > 0 {
		return console.Errorf(console.Failure, "compare it with a copy, or with what was shipped elsewhere", "this audit stream is not as the server wrote it")
	}
	if out.JSON {
		return nil
	}
	switch checked := c.Lines - c.Unchained; {
	case c.Lines == 0:
		out.Linef("there are no lines")
	case checked > 0:
		out.Linef("%d lines, the last at %s, as the server wrote them", checked, c.Last.Format(time.RFC3339))
	}
	if c.Lines > 0 {
		out.Linef("head: %s", c.Head)
	}
	return nil
}
