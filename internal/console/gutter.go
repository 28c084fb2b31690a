package console

import (
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/internal/visible"
)

// Gutter writes a line of a file of others behind a label and a bar. A line that the terminal would
// break goes on behind an empty label, so that no part of it looks like a line of ours.
func (c *Console) Gutter(label string, style Style, line string) {
	line = strings.ReplaceAll(visible.Text(strings.ReplaceAll(line, "\t", "    ")), "\n", " ")
	room := c.width - TextWidth(label) - len(" | ")
	for {
		at := len(line)
		if c.width > 0 && room > 10 {
			used := 0
			for i, r := range line {
				if used += runeWidth(r); used > room {
					at = i
					break
				}
			}
		}
		fmt.Fprintf(c.Out, "%s | %s\n", c.Styled(Dim, label), c.Styled(style, line[:at]))
		if line = line[at:]; line == "" {
			return
		}
		label = strings.Repeat(" ", TextWidth(label))
	}
}
