package web

import (
	"html/template"
	"strings"
	"unicode"

	"github.com/bossman-dev/bossman/internal/visible"
)

// Texts of others are shown with a small part of Markdown: headings, lists, quotes, tables, code, emphasis and links. An
// agent gets the text as it was written, so a person has to see all of it: of the text only the marks of these are not
// shown. An address is shown beside the link. Everything else is text: HTML, comments, entities, definitions of links,
// titles. What is rendered is in proportion to the text, and so is the time that it takes.

const (
	// maxMarkdown bounds what is rendered; longer text is shown as it is.
	maxMarkdown = 64 << 10
	// maxQuotes and maxLists bound how deep quotes and lists are nested; deeper ones stay on that level.
	maxQuotes, maxLists = 4, 8
)

// markdown renders text that others wrote. It is safe to show.
func markdown(text string) template.HTML {
	text = visible.Text(strings.ReplaceAll(text, "\r\n", "\n"))
	var w markdownWriter
	if len(text) > maxMarkdown {
		w.preformatted("", text)
	} else {
		w.blocks(strings.Split(text, "\n"), 0)
	}
	return template.HTML(w.String()) //nolint:gosec // everything is escaped but the tags of markdownWriter
}

// A markdownWriter writes what is rendered.
type markdownWriter struct{ strings.Builder }

func (w *markdownWriter) text(s string) { template.HTMLEscape(w, []byte(s)) }

func (w *markdownWriter) preformatted(class, text string) {
	w.WriteString("<pre" + class + ">")
	w.text(text)
	w.WriteString("</pre>\n")
}

// element writes one line of text, or a few, in an element.
func (w *markdownWriter) element(tag, text string) {
	w.WriteString("<" + tag + ">")
	w.inline(text)
	w.WriteString("</" + tag + ">\n")
}

// blocks writes lines, which are inside so many quotes.
func (w *markdownWriter) blocks(lines []string, quotes int) {
	for len(lines) > 0 {
		lines = lines[w.block(lines, quotes):]
	}
}

// block writes what the first line begins, and returns how many lines that are.
func (w *markdownWriter) block(lines []string, quotes int) int {
	switch kind := kindOf(lines, quotes); kind {
	case blankLine:
		return 1
	case fenceLine:
		return w.fence(lines)
	case headingLine:
		w.element("h4", strings.TrimLeft(strings.TrimSpace(lines[0]), "#"))
		return 1
	case ruleLine:
		w.WriteString("<hr>\n")
		return 1
	case quoteLine:
		return w.quote(lines, quotes)
	case tableLine:
		return w.table(lines)
	case itemLine:
		return w.list(lines)
	case indentedLine:
		n := 1
		for n < len(lines) && kindOf(lines[n:], quotes) == indentedLine {
			n++
		}
		w.preformatted("", strings.Join(lines[:n], "\n"))
		return n
	default:
		n := 1
		for n < len(lines) && (kindOf(lines[n:], quotes) == plainLine || kindOf(lines[n:], quotes) == indentedLine) {
			n++
		}
		w.element("p", strings.Join(lines[:n], "\n"))
		return n
	}
}

// A lineKind is what a line begins.
type lineKind uint8

const (
	plainLine lineKind = iota
	blankLine
	fenceLine
	headingLine
	ruleLine
	quoteLine
	tableLine
	itemLine
	indentedLine
)

// kindOf returns what the first of some lines begins.
func kindOf(lines []string, quotes int) lineKind {
	line := strings.TrimSpace(lines[0])
	_, _, item := itemOf(lines[0])
	switch {
	case line == "":
		return blankLine
	case fenceOf(line) != "":
		return fenceLine
	case isRule(line):
		return ruleLine
	case item:
		return itemLine
	case indentOf(lines[0]) >= 4:
		return indentedLine
	case isHeading(line):
		return headingLine
	case line[0] == '>' && quotes < maxQuotes:
		return quoteLine
	case line[0] == '|' && len(lines) > 1 && isTableRule(lines[1]):
		return tableLine
	}
	return plainLine
}

// indentOf returns how far a line is indented.
func indentOf(line string) (n int) {
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 4
		default:
			return n
		}
	}
	return n
}

func isHeading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	level := len(line) - len(rest)
	return level > 0 && level <= 6 && strings.HasPrefix(rest, " ")
}

func isRule(line string) bool {
	return len(line) >= 3 && (strings.Trim(line, "-") == "" || strings.Trim(line, "*") == "" || strings.Trim(line, "_") == "")
}

// isTableRule reports whether a line separates the head of a table from its rows.
func isTableRule(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "|") && strings.Contains(line, "-") && strings.Trim(line, "|-: \t") == ""
}

// fenceOf returns the marks at the beginning of a line that begins or ends a block of code.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, c)
		if n := len(line) - len(rest); n >= 3 && (c == "~" || !strings.Contains(rest, c)) {
			return line[:n]
		}
	}
	return ""
}

// fence writes a block of code, with what is said about it above.
func (w *markdownWriter) fence(lines []string) int {
	first := strings.TrimSpace(lines[0])
	marks := fenceOf(first)
	if about := strings.TrimSpace(first[len(marks):]); about != "" {
		w.WriteString("<p><code>")
		w.text(about)
		w.WriteString("</code></p>\n")
	}
	n := 1
	for n < len(lines) {
		line := strings.TrimSpace(lines[n])
		if len(line) >= len(marks) && strings.Trim(line, marks[:1]) == "" {
			break
		}
		n++
	}
	w.preformatted(` class="cmd"`, strings.Join(lines[1:n], "\n"))
	return min(n+1, len(lines))
}

// quote writes a quotation, which may have blocks in it.
func (w *markdownWriter) quote(lines []string, quotes int) int {
	var inner []string
	for _, line := range lines {
		line, ok := strings.CutPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), ">")
		if !ok {
			break
		}
		inner = append(inner, strings.TrimPrefix(line, " "))
	}
	w.WriteString("<blockquote>")
	w.blocks(inner, quotes+1)
	w.WriteString("</blockquote>\n")
	return len(inner)
}

// table writes a table. Each row has the cells that its line has: none is added, and none is left out.
func (w *markdownWriter) table(lines []string) int {
	w.WriteString("<table>")
	w.row("th", lines[0])
	n := 2
	for ; n < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[n]), "|"); n++ {
		w.row("td", lines[n])
	}
	w.WriteString("</table>\n")
	return n
}

func (w *markdownWriter) row(tag, line string) {
	line = strings.TrimPrefix(strings.TrimSpace(line), "|")
	w.WriteString("<tr>")
	for line != "" {
		end := 0
		for end < len(line) && line[end] != '|' {
			if line[end] == '\\' && end+1 < len(line) {
				end++
			}
			end++
		}
		w.WriteString("<" + tag + ">")
		w.inline(strings.TrimSpace(line[:end]))
		w.WriteString("</" + tag + ">")
		line = line[min(end+1, len(line)):]
	}
	w.WriteString("</tr>")
}
