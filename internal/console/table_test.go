package console

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

// table is what Table writes on a terminal of a width.
func table(width int, indent string, cols []Column, rows []Row) string {
	var out bytes.Buffer
	c := &Console{Out: bufio.NewWriter(&out), width: width}
	c.Table(indent, cols, rows)
	c.Out.Flush()
	return out.String()
}

func TestTable_fits(t *testing.T) {
	cols := []Column{{Head: "TASK"}, {Head: "TITLE", Flex: true}, {Head: "WORKER", Drop: 1}, {Head: "AGE", Right: true, Drop: 2}}
	rows := []Row{
		{{"web-1", ""}, {"A rather long title that does not fit anywhere in a narrow terminal", ""}, {"otter-7k", ""}, {"3 s ago", ""}},
		{{"web-2", ""}, {"日本語のとても長いタイトルはどこにも収まりません、それでも表示されます", ""}, {"", ""}, {"12 min ago", ""}},
	}
	for _, width := range []int{200, 100, 80, 60, 40, 30, 24} {
		out := table(width, "  ", cols, rows)
		for l := range strings.Lines(out) {
			if got := TextWidth(strings.TrimRight(l, "\n")); got > width {
				t.Errorf("at %d columns a line has %d: %s", width, got, l)
			}
		}
		if !strings.Contains(out, "web-2") {
			t.Errorf("at %d columns the ids are gone:\n%s", width, out)
		}
	}
	if !strings.Contains(table(0, "", cols, rows), "narrow terminal") {
		t.Error("without a terminal something is cut")
	}
}

// wide are characters that terminals show in two columns, or in one.
const wide = "✅❌⭐🟢✓⚠️↔️表"

// TestTable_wide: no row is wider than the terminal, whichever column has the long text, and however
// wide the terminal takes it to be.
func TestTable_wide(t *testing.T) {
	for _, cols := range [][]Column{
		{{}, {Flex: true}, {}, {Drop: 1}},
		{{Head: "A"}, {Head: "B"}, {Head: "C"}, {Head: "D", Flex: true}},
		{{Head: "A"}, {Head: "B"}, {Head: "C", Right: true}, {Head: "D"}},
		{{}, {}, {}, {Flex: true, Wrap: true}},
	} {
		for _, long := range []string{strings.Repeat("b", 400), strings.Repeat(wide, 50), "." + strings.Repeat("✅", 30) + "next: bossman trust -y"} {
			for at := range cols {
				row := Row{Text("web-1"), Text("/src/web"), Text("main"), Text("client")}
				row[at] = Text(long)
				all := Row{Text(long), Text(long), Text(long), Text(long)}
				for _, width := range []int{30, 80} {
					for l := range strings.Lines(table(width, "  ", cols, []Row{row}) + table(width, "  ", cols, []Row{all, row})) {
						if n := columns(strings.TrimRight(l, "\n")); n > width || !strings.HasPrefix(l, "  ") {
							t.Errorf("%+v, a long text in column %d: at %d columns a line has %d: %s", cols, at, width, n, l)
						}
					}
				}
				if !strings.Contains(table(0, "", cols, []Row{row}), long) {
					t.Errorf("without a terminal column %d is cut", at)
				}
			}
		}
	}
}

// columns is how wide a line of ASCII, of our ellipses and of wide characters is at most.
func columns(line string) (n int) {
	for _, r := range line {
		switch {
		case r == 0xfe0f:
		case r < 0x80, r == '…':
			n++
		default:
			n += 2
		}
	}
	return n
}

// A column that is broken into lines stands below the others where there is no room.
func TestTable_narrow(t *testing.T) {
	cols := []Column{{Head: "ARGUMENT"}, {Head: "TYPE"}, {Head: "WHAT IT IS", Flex: true, Wrap: true}}
	rows := []Row{{{"elicitation", ""}, {"boolean", ""}, {"What is done with the answer of the person", ""}}, {{"url", ""}, {"string", ""}, {"", ""}}}
	for width, want := range map[int]string{
		40: "  ARGUMENT     TYPE\n  elicitation  boolean\n    > What is done with the answer of\n    > the person\n  url          string\n",
		60: "  ARGUMENT     TYPE     WHAT IT IS\n  elicitation  boolean  > What is done with the answer of\n                        > the person\n  url          string\n",
	} {
		if got := table(width, "  ", cols, rows); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
}

// TestTable_quoted: no line of a text of others begins like a row, at any width.
func TestTable_quoted(t *testing.T) {
	pad := strings.Repeat("x", 30)
	forged := "00:41:07  ada (person)  answered"
	rows := []Row{{Text("00:40:00"), Text("otter-7k"), Text("note"), Text("half is done, see the log " + pad + " " + forged + " " + pad + " yes, deploy it now " + pad)}}
	for _, width := range []int{40, 60, 80, 140} {
		first := true
		for l := range strings.Lines(table(width, "  ", []Column{{}, {}, {}, {Flex: true, Wrap: true}}, rows)) {
			if !first && !strings.HasPrefix(strings.TrimLeft(l, " "), margin) {
				t.Errorf("at %d columns a line begins like a row: %s", width, l)
			}
			first = false
		}
	}
}

// Whatever a cell is given, the table has one line for each row, and nothing in it
// controls the terminal.
func TestTable_escapes(t *testing.T) {
	rows := []Row{{Text("a\nb\x1b[2Jc"), Red.Cell("x\ty\u202ez")}}
	if got, want := table(0, "", []Column{{}, {}}, rows), "a b<U+001B>[2Jc  x y<U+202E>z\n"; got != want {
		t.Errorf("Table = %q, want %q", got, want)
	}
	if rows[0][0].Text != "a\nb\x1b[2Jc" {
		t.Errorf("Table has changed its argument: %q", rows[0][0].Text)
	}
}
