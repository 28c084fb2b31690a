package console

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/bossman-dev/bossman/internal/visible"
)

// OneLine is text on one line, with hidden characters spelled out, so that its width is known.
func OneLine(text string) string { return visible.Line(text) }

// Paragraph writes text to standard output, broken at spaces to fit the terminal behind the
// indent.
func (c *Console) Paragraph(indent, text string) {
	fmt.Fprint(c.Out, wrap(indent, visible.Text(text), c.width))
}

// margin stands before each line of a text of others.
const margin = "> "

// Quoted writes a text of others to standard output, each line behind a margin: so no line of
// it looks like one of ours, with or without colours.
func (c *Console) Quoted(indent, text string) {
	fmt.Fprint(c.Out, quoted(indent, text, c.width))
}

func quoted(indent, text string, width int) string {
	return wrap(indent+margin, strings.Join(visible.Lines(strings.TrimSpace(text)), "\n"), width)
}

// Field writes a label, if there is one, and a text of others on one line. A text that the
// terminal would break stands below, quoted: its second line would begin like one of ours.
func (c *Console) Field(indent string, label, text Cell) {
	text.Text = OneLine(text.Text)
	gap := ""
	if label.Text != "" {
		gap = " "
	}
	if c.Fits(indent + label.Text + gap + text.Text) {
		c.Linef("%s%s%s%s", indent, c.Styled(label.Style, label.Text), gap, c.Styled(text.Style, text.Text))
		return
	}
	switch {
	case !c.Fits(indent + label.Text): // which has a name that others chose
		c.Quoted(indent, label.Text)
	case label.Text != "":
		c.Linef("%s%s", indent, c.Styled(label.Style, label.Text))
	}
	c.Quoted(indent, text.Text)
}

// Facts writes a label, if there is one, and facts behind it, with a dot between them. What does
// not fit on the line goes on the next, behind a dot: so it does not begin like a line of ours. A
// fact that the terminal would break is quoted.
func (c *Console) Facts(label Cell, facts ...Cell) {
	line, styled := label.Text, c.Styled(label.Style, label.Text)
	gap, first := "  ", "· "
	if line == "" {
		gap, first = "", ""
	}
	end := func() {
		if line != "" {
			c.Linef("%s", styled)
		}
		line, styled = "", ""
	}
	for _, f := range facts {
		f.Text = OneLine(f.Text)
		if line != "" && !c.Fits(line+gap+f.Text) {
			end()
		}
		if line == "" {
			gap = first
		}
		first = "· "
		if !c.Fits(line + gap + f.Text) {
			c.Quoted("", f.Text)
			continue
		}
		line += gap + f.Text
		styled += gap + c.Styled(f.Style, f.Text)
		gap = " · "
	}
	end()
}

// Fits reports whether the terminal does not break a line.
func (c *Console) Fits(line string) bool { return c.width == 0 || TextWidth(line) <= c.width }

// ownMargin is what stands before the lines of a quotation within a text.
var ownMargin = regexp.MustCompile(`^ {0,4}[|>] `)

// entryTime begins an entry in the log of an agent. Further lines of an entry are behind entryMargin.
var entryTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ `)

const entryMargin = "  | "

// wrap breaks text at spaces so that it fits into a width behind an indent; 0 is no limit.
// Lines that fit stay as they are. A line behind a margin of its own stays behind it when it is
// broken, and an entry of a log goes on behind the margin of its further lines.
func wrap(indent, text string, width int) string {
	room := width - TextWidth(indent)
	var out strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		line = strings.TrimRight(line, "\n")
		if width > 0 {
			line = strings.ReplaceAll(line, "\t", "    ")
		}
		own := ownMargin.FindString(line)
		begin := len(own) // it is not broken before that
		if t := entryTime.FindString(line); t != "" {
			own, begin = entryMargin, len(t)
		}
		for width > 0 && room > 20 && TextWidth(line) > room {
			at, used, space := len(line), 0, -1
			for i, r := range line {
				if used += runeWidth(r); used > room {
					at = i
					break
				}
				if r == ' ' && i >= begin {
					space = i
				}
			}
			if space > 0 {
				at = space
			}
			out.WriteString(indent + line[:at] + "\n")
			line, begin = own+strings.TrimLeft(line[at:], " "), len(own)
		}
		if line == "" {
			out.WriteString(strings.TrimRight(indent, " ") + "\n")
			continue
		}
		out.WriteString(indent + line + "\n")
	}
	return out.String()
}

// WrapLines breaks a text at spaces into lines of a width; 0 is no limit.
func WrapLines(text string, width int) []string {
	return strings.Split(strings.TrimRight(wrap("", text, width), "\n"), "\n")
}

// Truncate shortens a line to a width; the last character is then an ellipsis.
func Truncate(line string, width int) string {
	if TextWidth(line) <= width {
		return line
	}
	n := 0
	for i, r := range line {
		if n += runeWidth(r); n >= width && width > 0 {
			return strings.TrimRight(line[:i], " ") + "…"
		}
	}
	return ""
}

// TextWidth is how many columns of a terminal a line takes at most: of some characters it
// depends on the terminal.
func TextWidth(line string) int {
	n := 0
	for _, r := range line {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300, r == 0xfe0f: // which makes some narrow characters wide
		return 1
	case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r), r == 0x200b, r == 0x200d:
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2300: // symbols, emoji and the scripts of East Asia, for the most part
		return 2
	}
	return 1
}

// Count is a number with its noun: 1 task, 2 tasks.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
