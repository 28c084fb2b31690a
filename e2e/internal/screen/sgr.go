package screen

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A run is text of one look, and the column where it begins.
type run struct {
	column int
	text   string
	class  string // names of CSS classes, empty for plain text
}

// A look is what SGR sequences have set: one of the 16 colours, or 0 for the default, bold and dim.
type look struct {
	colour    string
	bold, dim bool
}

func (l look) class() string {
	var names []string
	if l.colour != "" {
		names = append(names, l.colour)
	}
	if l.bold {
		names = append(names, "b")
	}
	if l.dim {
		names = append(names, "d")
	}
	return strings.Join(names, " ")
}

// parse splits a row with SGR sequences into runs. What they set holds for the next row, too. Spaces at both ends of a run are left out; so are
// other escape sequences and control characters. Every character is taken to be one column wide.
// Backgrounds and colours beyond the first 16 are ignored.
func (l *look) parse(row string) (runs []run) {
	var text strings.Builder
	begin, column := 0, 0
	flush := func() {
		s := text.String()
		text.Reset()
		if trimmed := strings.TrimLeft(s, " "); strings.TrimSpace(s) != "" {
			runs = append(runs, run{begin + len(s) - len(trimmed), strings.TrimRight(trimmed, " "), l.class()})
		}
		begin = column
	}
	for row != "" {
		if rest, ok := strings.CutPrefix(row, "\x1b["); ok {
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				break
			}
			if rest[end] == 'm' {
				flush()
				l.set(rest[:end])
			}
			row = rest[end+1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(row)
		row = row[size:]
		if !unicode.IsControl(r) && r != utf8.RuneError {
			text.WriteRune(r)
			column++
		}
	}
	flush()
	return runs
}

// set applies the parameters of an SGR sequence.
func (l *look) set(parameters string) {
	list := strings.FieldsFunc(parameters, func(r rune) bool { return r == ';' || r == ':' })
	if len(list) == 0 {
		*l = look{}
	}
	for i := 0; i < len(list); i++ {
		n, err := strconv.Atoi(list[i])
		switch {
		case err != nil:
		case n == 0:
			*l = look{}
		case n == 1:
			l.bold = true
		case n == 2:
			l.dim = true
		case n == 22:
			l.bold, l.dim = false, false
		case n >= 30 && n <= 37:
			l.colour = "c" + strconv.Itoa(n-30)
		case n >= 90 && n <= 97:
			l.colour = "c" + strconv.Itoa(n-90+8)
		case n == 39:
			l.colour = ""
		case n == 38 || n == 48: // 38;5;N and 38;2;R;G;B
			if i+1 < len(list) && list[i+1] == "5" {
				i += 2
			} else {
				i += 4
			}
		}
	}
}
