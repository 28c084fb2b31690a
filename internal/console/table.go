package console

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/internal/visible"
)

// A Column of a table.
type Column struct {
	Head string
	// Right aligns the column to the right.
	Right bool
	// Flex marks the one column that is cut first to fit the terminal.
	Flex bool
	// Wrap breaks the flexible column into lines instead of cutting it, and puts it below
	// the others if there is no room beside them. It must be the last column. A text that is
	// broken or stands below is quoted: its lines would begin like those of ours.
	Wrap bool
	// Drop is the order in which columns are left out if the terminal is too narrow: the
	// highest first, 0 never.
	Drop int
}

// A Row is the cells of a table's row, one for each column.
type Row []Cell

// A Cell of a table.
type Cell struct {
	Text  string
	Style Style
}

// Text returns a plain cell.
func Text(text string) Cell { return Cell{Text: text} }

// Cell returns a cell in the style.
func (s Style) Cell(text string) Cell { return Cell{Text: text, Style: s} }

// minFlex is the width below which other columns are left out before the flexible column
// gets narrower.
const minFlex = 24

// Table writes rows below their heads to standard output, within the width of the
// terminal. Columns without any text are left out, and so are the heads if all are empty.
// The text of a cell is put on one line.
func (c *Console) Table(indent string, cols []Column, rows []Row) {
	widths := make([]int, len(cols))
	show := make([]bool, len(cols))
	rows = clean(rows)
	for i, col := range cols {
		for _, row := range rows {
			if row[i].Text != "" {
				show[i] = true
				widths[i] = max(widths[i], TextWidth(row[i].Text))
			}
		}
		widths[i] = max(widths[i], TextWidth(col.Head))
	}
	crowded := c.width > 0 && !fit(cols, widths, show, c.width-TextWidth(indent))
	heads := make(Row, len(cols))
	headed := false
	for i, col := range cols {
		heads[i] = Dim.Cell(col.Head)
		headed = headed || col.Head != ""
	}
	if headed {
		rows = append([]Row{heads}, rows...)
	}
	for n, row := range rows {
		var line strings.Builder
		line.WriteString(indent)
		pad := 0
		for i, col := range cols {
			if !show[i] {
				continue
			}
			text := row[i].Text
			if crowded && col.Wrap {
				if text != "" && (n > 0 || !headed) {
					below := strings.TrimRight(quoted(indent+"  ", text, c.width), "\n")
					line.WriteString("\n" + c.Styled(row[i].Style, below))
				}
				continue
			}
			line.WriteString(strings.Repeat(" ", pad))
			if c.width > 0 && col.Flex && col.Wrap && TextWidth(text) > widths[i] {
				column := c.width - widths[i]
				text = strings.TrimSpace(quoted(strings.Repeat(" ", column), text, c.width))
			} else if c.width > 0 {
				text = Truncate(text, widths[i])
			}
			rest := max(0, widths[i]-TextWidth(text))
			pad = 2
			if col.Right {
				line.WriteString(strings.Repeat(" ", rest))
			} else {
				pad += rest
			}
			line.WriteString(c.Styled(row[i].Style, text))
		}
		fmt.Fprintln(c.Out, strings.TrimRight(line.String(), " "))
	}
}

// clean returns rows whose cells are as they will be printed, each on one line.
func clean(rows []Row) []Row {
	out := make([]Row, len(rows))
	for n, row := range rows {
		out[n] = slices.Clone(row)
		for i, cell := range row {
			if visible.Text(cell.Text) != cell.Text || strings.ContainsAny(cell.Text, "\n\t") {
				out[n][i].Text = OneLine(cell.Text)
			}
		}
	}
	return out
}

// fit narrows and drops columns until the table fits. It reports whether it does without
// cutting other columns than the flexible one; a column that wraps then stands below.
func fit(cols []Column, widths []int, show []bool, room int) bool {
	below := -1
	over := func() int {
		n := -2 - room
		for i := range cols {
			if show[i] && i != below {
				n += widths[i] + 2
			}
		}
		return n
	}
	flex := slices.IndexFunc(cols, func(col Column) bool { return col.Flex })
	for over() > 0 {
		if flex >= 0 && widths[flex]-over() >= min(minFlex, widths[flex]) {
			widths[flex] -= over()
			return true
		}
		last := -1
		for i, col := range cols {
			if show[i] && col.Drop > 0 && (last < 0 || col.Drop > cols[last].Drop) {
				last = i
			}
		}
		if last < 0 {
			if flex >= 0 && cols[flex].Wrap {
				below = flex
			} else if flex >= 0 {
				widths[flex] = max(min(8, widths[flex]), widths[flex]-over())
			}
			for over() > 0 && cutWidest(widths, show, below) {
			}
			return false
		}
		show[last] = false
	}
	return true
}

// cutWidest makes the widest column narrower, other than that which stands below.
func cutWidest(widths []int, show []bool, below int) bool {
	widest := -1
	for i, width := range widths {
		if show[i] && i != below && width > 1 && (widest < 0 || width >= widths[widest]) {
			widest = i
		}
	}
	if widest >= 0 {
		widths[widest]--
	}
	return widest >= 0
}
