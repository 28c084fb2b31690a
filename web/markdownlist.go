package web

import "strings"

// itemOf returns the mark of a line that begins an item of a list, and its text. The number of a numbered item is in its
// text.
func itemOf(line string) (list, text string, ok bool) {
	line = strings.TrimLeft(line, " \t")
	if line == "" {
		return "", "", false
	}
	if strings.ContainsRune("-*+", rune(line[0])) {
		if len(line) > 1 && line[1] == ' ' {
			return "ul", strings.TrimSpace(line[2:]), true
		}
		return "", "", false
	}
	rest := strings.TrimLeft(line, "0123456789")
	if n := len(line) - len(rest); n == 0 || n > 9 || len(rest) < 2 || rest[0] != '.' && rest[0] != ')' || rest[1] != ' ' {
		return "", "", false
	}
	return "ol", line, true
}

// openList is a list that has begun.
type openList struct {
	tag    string
	indent int
}

// list writes the items that follow each other, with lists inside them.
func (w *markdownWriter) list(lines []string) (n int) {
	var open []openList
	leave := func() {
		w.WriteString("</li></" + open[len(open)-1].tag + ">\n")
		open = open[:len(open)-1]
	}
	for n < len(lines) {
		line := lines[n]
		indent := indentOf(line)
		kind := kindOf(lines[n:], 0)
		switch {
		case kind == blankLine: // the list goes on if an item follows, or something that is indented
			next := n + 1
			for next < len(lines) && strings.TrimSpace(lines[next]) == "" {
				next++
			}
			if next < len(lines) && (kindOf(lines[next:], 0) == itemLine || indentOf(lines[next]) > open[0].indent) {
				n = next
				continue
			}
		case kind == itemLine:
			for len(open) > 1 && indent < open[len(open)-1].indent {
				leave()
			}
			tag, text, _ := itemOf(line)
			last := len(open) - 1
			switch {
			case last >= 0 && (indent < open[last].indent+2 || len(open) == maxLists):
				if open[last].tag == tag {
					w.WriteString("</li>\n<li>")
					break
				}
				leave()
				fallthrough
			default:
				open = append(open, openList{tag, indent})
				w.WriteString("<" + tag + "><li>")
			}
			n++
			end := n // the lines that go on with its text
			for end < len(lines) && (kindOf(lines[end:], 0) == plainLine || kindOf(lines[end:], 0) == indentedLine) {
				end++
			}
			w.inline(strings.Join(append([]string{text}, lines[n:end]...), "\n"))
			n = end
			continue
		case indent > open[0].indent:
			n += w.block(lines[n:], maxQuotes)
			continue
		}
		break
	}
	for len(open) > 0 {
		leave()
	}
	return n
}
