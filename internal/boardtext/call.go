package boardtext

import (
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// calls prints which tools of other servers were called for a task: the last ones, and how many there were.
func (v view) calls(d board.Dossier) {
	if len(d.Calls.Last) == 0 && d.Calls.Reads == 0 {
		return
	}
	v.Linef("\n%s", v.Styled(console.Bold, "Calls of other servers' tools"))
	var rows []console.Row
	for _, c := range d.Calls.Last {
		what := callOutcome(c.Outcome)
		if c.Step != "" {
			what += ", step " + word(c.Step)
		}
		if c.Error != "" {
			what += ": " + console.OneLine(c.Error)
		}
		outcome := console.Text(what)
		if c.Outcome == board.CallUnknown {
			outcome = console.Yellow.Cell(what)
		}
		rows = append(rows, console.Row{
			console.Dim.Cell(c.BeganAt.Local().Format(stampLayout(d.Now, c.BeganAt))), console.Text(c.Worker.Name), console.Text(c.Upstream + "__" + c.Tool), outcome,
		})
	}
	v.Table("  ", []console.Column{{}, {}, {}, {Flex: true, Wrap: true}}, rows)
	if all := d.Calls.InAll(callOutcome); all != "" {
		v.Linef("  %s", v.Styled(console.Dim, "in all: "+all))
	}
}

func callOutcome(o board.CallOutcome) string {
	if o == board.CallUnknown {
		return "outcome unknown"
	}
	return o.Word()
}
