package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/term"

	"github.com/bossman-dev/bossman/board"
)

// printJSON writes the answer of a command with --json.
func (a *app) printJSON(v any) error {
	out, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", escaped(out))
	return err
}

// printLine writes one of several JSON values.
func (a *app) printLine(v any) error {
	out, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s\n", escaped(out))
	return a.out.Flush()
}

// escaped is JSON in which what must not reach a terminal is written with \u. It says
// the same.
func escaped(out []byte) []byte {
	if !bytes.ContainsFunc(out, func(r rune) bool { return r != '\n' && hostile(r) }) {
		return out
	}
	var b []byte
	for _, r := range string(out) {
		switch {
		case r == '\n' || !hostile(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

// say writes a line for people.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) }

// note writes a line that is not the answer.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.stderr, plain(fmt.Sprintf(format, args...)))
}

// A paint colours text, or does not.
type paint struct {
	on bool
	// width is the terminal's, 0 where there is none.
	width int
}

// newPaint follows NO_COLOR, then FORCE_COLOR, then whether f is a terminal.
func newPaint(f *os.File, getenv func(string) string) paint {
	var p paint
	tty := term.IsTerminal(int(f.Fd()))
	if tty {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			p.width = w
		} else {
			p.width = 80
		}
	}
	switch {
	case getenv("NO_COLOR") != "":
	case getenv("FORCE_COLOR") != "":
		p.on = getenv("FORCE_COLOR") != "0"
	default:
		p.on = tty && getenv("TERM") != "dumb"
	}
	return p
}

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (p paint) in(style, s string) string {
	if !p.on || style == "" || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// A column of a table.
type column struct {
	head  string
	right bool
	// flex marks the one column that is cut to fit the terminal.
	flex bool
	// wrap breaks the flexible column into lines instead, below the others where there
	// is no room beside them; it must be the last.
	wrap bool
	// drop says which columns go first where there is no room: the highest. 0 stays.
	drop int
}

// A cell of a table.
type cell struct{ text, style string }

// minFlex is how narrow the flexible column gets before others are dropped.
const minFlex = 24

// table writes rows under heads, within the terminal's width. Columns without any
// text are left out.
func (p paint) table(w io.Writer, indent string, cols []column, rows [][]cell) {
	widths := make([]int, len(cols))
	show := make([]bool, len(cols))
	for i, c := range cols {
		for _, row := range rows {
			if row[i].text != "" {
				show[i] = true
				widths[i] = max(widths[i], textWidth(row[i].text))
			}
		}
		widths[i] = max(widths[i], textWidth(c.head))
	}
	crowded := p.width > 0 && !p.fit(cols, widths, show, p.width-textWidth(indent))
	heads := make([]cell, len(cols))
	headed := false
	for i, c := range cols {
		heads[i] = cell{c.head, dim}
		headed = headed || c.head != ""
	}
	if headed {
		rows = append([][]cell{heads}, rows...)
	}
	for n, row := range rows {
		var line strings.Builder
		line.WriteString(indent)
		pad := 0
		for i, c := range cols {
			if !show[i] {
				continue
			}
			text := row[i].text
			if crowded && c.wrap {
				if text != "" && (n > 0 || !headed) {
					below := strings.TrimRight(p.wrap(text, indent+"    "), "\n")
					line.WriteString("\n" + p.in(row[i].style, below))
				}
				continue
			}
			line.WriteString(strings.Repeat(" ", pad))
			if p.width > 0 && c.flex && c.wrap {
				column := p.width - widths[i]
				text = strings.TrimSpace(p.wrap(text, strings.Repeat(" ", column)))
			} else if p.width > 0 && c.flex {
				text = cut(text, widths[i])
			}
			rest := max(0, widths[i]-textWidth(text))
			pad = 2
			if c.right {
				line.WriteString(strings.Repeat(" ", rest))
			} else {
				pad += rest
			}
			line.WriteString(p.in(row[i].style, text))
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// fit makes a table as narrow as it has to be, and reports whether it could.
func (p paint) fit(cols []column, widths []int, show []bool, room int) bool {
	total := func() int {
		n := -2
		for i := range cols {
			if show[i] {
				n += widths[i] + 2
			}
		}
		return n
	}
	flex := -1
	for i, c := range cols {
		if c.flex {
			flex = i
		}
	}
	if flex < 0 {
		return true
	}
	full := widths[flex]
	for total() > room {
		if over := total() - room; widths[flex]-over >= min(minFlex, full) {
			widths[flex] -= over
			return true
		}
		last := -1
		for i, c := range cols {
			if show[i] && c.drop > 0 && (last < 0 || c.drop > cols[last].drop) {
				last = i
			}
		}
		if last < 0 {
			widths[flex] = max(8, widths[flex]-(total()-room))
			return false
		}
		show[last] = false
	}
	return true
}

// wrap breaks a text at spaces so that it fits the terminal behind an indent.
// Lines that fit stay as they are.
func (p paint) wrap(s, indent string) string {
	room := p.width - textWidth(indent)
	var out strings.Builder
	for line := range strings.Lines(strings.TrimRight(s, "\n")) {
		line = strings.TrimRight(line, "\n")
		for p.width > 0 && room > 20 && textWidth(line) > room {
			at, width, space := len(line), 0, -1
			for i, r := range line {
				if width += runeWidth(r); width > room {
					at = i
					break
				}
				if r == ' ' {
					space = i
				}
			}
			if space > 0 {
				at = space
			}
			out.WriteString(indent + line[:at] + "\n")
			line = strings.TrimLeft(line[at:], " ")
		}
		if line == "" {
			out.WriteString("\n")
			continue
		}
		out.WriteString(indent + line + "\n")
	}
	return out.String()
}

// plain makes a text safe for a terminal: what agents write must not move the
// cursor or turn the reading direction. New lines and tabs stay.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && hostile(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// hostile tells characters that act instead of being shown: controls, other line ends,
// what turns the reading direction, and tags, which are an invisible alphabet.
func hostile(r rune) bool {
	return unicode.IsControl(r) || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff ||
		r >= 0xe0000 && r <= 0xe007f
}

// line is a text on one line.
func line(s string) string { return strings.Join(strings.Fields(plain(s)), " ") }

// cut shortens a line to a width.
func cut(s string, width int) string {
	if textWidth(s) <= width {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > width-1 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// textWidth is how many columns of a terminal a line takes.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r), r == 0x200b, r == 0x200d, r >= 0xfe00 && r <= 0xfe0f:
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf && r != 0x303f, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1f64f,
		r >= 0x1f680 && r <= 0x1f6ff, r >= 0x1f900 && r <= 0x1f9ff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// span gives a duration for a table, where less than a second is 0 s.
func span(d time.Duration) string {
	if d < time.Second {
		return "0 s"
	}
	return board.Span(d)
}

// ago is how long since a moment, and empty for none.
func ago(now, then time.Time) string {
	if then.IsZero() {
		return ""
	}
	if d := now.Sub(then); d < 2*time.Second {
		return "now"
	}
	return span(now.Sub(then)) + " ago"
}

// count says 1 task, 2 tasks.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
