package boardtext

import (
	"cmp"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// Workers shows where the workers of claims work: directory, branch and client. A
// directory with two workers stands out.
func Workers(c *console.Console, claims []board.Claim) {
	type place struct{ clone, dir string }
	shared := map[place]int{}
	var rows []console.Row
	for _, x := range claims {
		shared[place{cmp.Or(x.Where.Clone, x.Where.Host), x.Where.Dir}]++
	}
	for _, x := range claims {
		w := x.Where
		if w.IsZero() {
			continue
		}
		dir := console.Text(w.Dir)
		if w.Dir != "" && shared[place{cmp.Or(w.Clone, w.Host), w.Dir}] > 1 {
			dir.Style = console.Yellow
		}
		rows = append(rows, console.Row{console.Text(x.Worker.Name), dir, console.Text(w.Branch), console.Dim.Cell(w.Client)})
	}
	if len(rows) > 0 {
		c.Linef("\n%s", c.Styled(console.Bold, "Workers"))
		c.Table("  ", []console.Column{{}, {Flex: true}, {}, {Drop: 1}}, rows)
	}
}
