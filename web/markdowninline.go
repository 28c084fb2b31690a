package web

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A piece is a part of a line of Markdown.
type piece struct {
	text string
	// tag is set for a mark of emphasis, which may open or close. html is what it becomes if it has a counterpart;
	// otherwise it is text.
	tag           string
	opens, closes bool
	html          string
	// code is set for code, and address for a link. A link whose text is its address has no text.
	code    bool
	address string
}

// inline writes text with emphasis, code and links.
func (w *markdownWriter) inline(s string) {
	pieces := split(s)
	match(pieces)
	for _, p := range pieces {
		switch {
		case p.html != "":
			w.WriteString(p.html)
		case p.code:
			w.WriteString("<code>")
			w.text(p.text)
			w.WriteString("</code>")
		case p.address != "":
			w.link(p.text, p.address)
		default:
			w.text(p.text)
		}
	}
}

// link writes a link. Its address is shown: an agent that reads the text gets it, too.
func (w *markdownWriter) link(text, address string) {
	w.WriteString(`<a href="`)
	w.text(address)
	w.WriteString(`" rel="nofollow noopener noreferrer" target="_blank">`)
	if text == "" {
		w.text(address)
		w.WriteString("</a>")
		return
	}
	w.text(text)
	w.WriteString("</a> (")
	w.text(address)
	w.WriteString(")")
}

// split splits text into its pieces.
func split(s string) (pieces []piece) {
	ends := codeEnds(s)
	from := 0 // where text begins that is not in a piece yet
	add := func(at, n int, p piece) {
		if from < at {
			pieces = append(pieces, piece{text: s[from:at]})
		}
		pieces = append(pieces, p)
		from = at + n
	}
	for at := 0; at < len(s); {
		n := 1
		switch c := s[at]; c {
		case '\\':
			if at+1 < len(s) && s[at+1] < utf8.RuneSelf {
				n = 2
			}
		case '`':
			n = runOf(s, at)
			if end, ok := ends[at]; ok {
				add(at, end+n-at, piece{text: s[at+n : end], code: true})
				n += end - at
			}
		case '[':
			if text, address, size := linkAt(s[at:]); size > 0 {
				n = size
				add(at, n, piece{text: text, address: address})
			}
		case 'h':
			if before, _ := utf8.DecodeLastRuneInString(s[:at]); !isWord(before) {
				if address := addressAt(s[at:]); address != "" {
					n = len(address)
					add(at, n, piece{address: address})
				}
			}
		case '*', '_', '~':
			n = runOf(s, at)
			if tag := emphasis[s[at:min(at+n, at+3)]]; tag != "" {
				before, _ := utf8.DecodeLastRuneInString(s[:at])
				after, _ := utf8.DecodeRuneInString(s[at+n:])
				add(at, n, piece{text: s[at : at+n], tag: tag, opens: !isWord(before) && isInk(after), closes: !isWord(after) && isInk(before)})
			}
		}
		at += n
	}
	if from < len(s) {
		pieces = append(pieces, piece{text: s[from:]})
	}
	return pieces
}

// emphasis are the marks of emphasis.
var emphasis = map[string]string{"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del"}

// isWord reports whether a character is part of a word, and isInk whether it can be seen. There is none before the first.
func isWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
func isInk(r rune) bool  { return r != utf8.RuneError && !unicode.IsSpace(r) }

// runOf returns how often the character at a place is repeated.
func runOf(s string, at int) int {
	n := 1
	for at+n < len(s) && s[at+n] == s[at] {
		n++
	}
	return n
}

// codeEnds returns for each run of backticks where the next one of the same length begins.
func codeEnds(s string) map[int]int {
	ends, last := map[int]int{}, map[int]int{} // last has where a run of a length began last
	for at := 0; at < len(s); {
		if s[at] != '`' {
			at++
			continue
		}
		n := runOf(s, at)
		if before, ok := last[n]; ok {
			ends[before] = at
		}
		last[n] = at
		at += n
	}
	return ends
}

// match finds the marks of emphasis that belong together.
func match(pieces []piece) {
	var open []int            // the marks that are open
	depth := map[string]int{} // of an open mark by its text, from 1
	for i := range pieces {
		p := &pieces[i]
		switch d := depth[p.text]; {
		case p.tag == "":
		case p.closes && d > 0 && open[d-1] < i-1:
			pieces[open[d-1]].html, p.html = "<"+p.tag+">", "</"+p.tag+">"
			for _, n := range open[d-1:] {
				delete(depth, pieces[n].text)
			}
			open = open[:d-1]
		case p.opens && d == 0:
			open = append(open, i)
			depth[p.text] = len(open)
		}
	}
}

// linkAt returns the link [TEXT](ADDRESS) that a text begins with, and its length, 0 if it begins with none.
func linkAt(s string) (text, address string, size int) {
	end := strings.IndexAny(s[1:], "[]\n") + 1
	if end <= 1 || s[end] != ']' || !strings.HasPrefix(s[end+1:], "(") || strings.TrimSpace(s[1:end]) == "" {
		return "", "", 0
	}
	address = s[end+2:]
	if n := strings.IndexFunc(address, notInAddress); n > 0 && address[n] == ')' && safeAddress(address[:n]) {
		return s[1:end], address[:n], end + 2 + n + 1
	}
	return "", "", 0
}

// addressAt returns the address of a page that a text begins with.
func addressAt(s string) string {
	if !strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://") {
		return ""
	}
	if n := strings.IndexFunc(s, notInAddress); n >= 0 {
		s = s[:n]
	}
	if s = strings.TrimRight(s, ".,;:!?*_~"); !strings.Contains(s, "://") || strings.HasSuffix(s, "/") && strings.Count(s, "/") == 2 {
		return ""
	}
	return s
}

// notInAddress reports whether a character ends an address.
func notInAddress(r rune) bool {
	return r <= ' ' || r == 0x7f || r == utf8.RuneError || unicode.IsSpace(r) || strings.ContainsRune("()[]<>\"'`{}|\\^", r)
}

// safeAddress reports whether a link may lead there.
func safeAddress(address string) bool {
	low := strings.ToLower(address)
	if strings.ContainsFunc(low, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\\' }) {
		return false
	}
	return strings.HasPrefix(low, "https://") || strings.HasPrefix(low, "http://") || strings.HasPrefix(low, "mailto:")
}
