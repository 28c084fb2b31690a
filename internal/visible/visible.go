// Package visible makes text safe to read: characters that act on the reader, or that a
// reader does not see, are spelled out. Terminals and models are shown text by the same
// rule.
//
// Hidden are control characters, line ends other than \n, what changes the reading direction,
// characters without width or without ink that are no spaces, tags (an invisible alphabet), and variation selectors, by which
// bytes can be hidden behind any letter. Emoji and some scripts need joiners and selectors;
// they keep one behind each character.
package visible

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns s with each hidden character as <U+200B>. New lines and tabs stay. Invalid
// UTF-8 becomes U+FFFD.
func Text(s string) string {
	if !strings.ContainsFunc(s, suspect) {
		return s
	}
	return string(spell(s, func(b []byte, r rune) []byte { return fmt.Appendf(b, "<U+%04X>", r) }))
}

// spell returns s with its hidden characters as write appends them.
func spell(s string, write func([]byte, rune) []byte) (b []byte) {
	last := rune(0) // the last character, unless it was hidden
	for _, r := range s {
		if r != '\n' && r != '\t' && Hidden(r) || joins(r) && !joinable(last, r) {
			b = write(b, r)
			last = 0
			continue
		}
		b = utf8.AppendRune(b, r)
		last = r
	}
	return b
}

// suspect reports whether a character may have to be spelled out.
func suspect(r rune) bool {
	return r != '\n' && r != '\t' && (Hidden(r) || joins(r) || r == utf8.RuneError)
}

// Line is Text on one line: each run of white space is one space.
func Line(s string) string { return Text(strings.Join(strings.Fields(s), " ")) }

// Lines returns the lines of a text, whatever ends them, each made visible.
func Lines(s string) []string {
	lines := strings.Split(lineEnds.Replace(s), "\n")
	for i, l := range lines {
		lines[i] = Text(l)
	}
	return lines
}

// Quote returns a text of others with each of its lines, made visible, behind "> ".
func Quote(s string) string { return "> " + strings.Join(Lines(s), "\n> ") }

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// JSON returns equivalent JSON in which hidden characters are written as \u escapes.
func JSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, suspect) {
		return text
	}
	return spell(string(text), func(b []byte, r rune) []byte {
		if r > 0xffff {
			hi, lo := utf16.EncodeRune(r)
			return fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
		}
		return fmt.Appendf(b, `\u%04x`, r)
	})
}

// Hidden reports whether a character acts on the reader instead of being seen. It is true of
// \n and \t as well; joiners are not among them, because only their place tells.
func Hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r < 0xad:
		return false
	case joins(r), unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) ||
		r >= 0xfff9 && r <= 0xfffb || r >= 0xe0000 && r <= 0xe0fff || slices.Contains(blank, r)
}

// blank are characters without ink that are letters, marks or symbols for Unicode.
var blank = []rune{
	0x2800,          // a pattern of Braille without dots
	0x2d7f, 0x1107f, // joiners of Tifinagh and of numbers in Brahmi
	0x13441, 0x13442, // the spaces of hieroglyphs
	0x16fe4, // the filler of the small Khitan script
	0x1d159, // a note without a head
}

// joins reports whether a character belongs to the one before it in emoji, and in scripts
// whose letters are joined.
func joins(r rune) bool { return r == 0x200c || r == 0x200d || r == 0xfe0e || r == 0xfe0f }

// joinable reports whether a joiner is in its place behind last: after a character of a
// script that needs it. After a selector, only an emoji goes on.
func joinable(last, r rune) bool {
	if joins(last) {
		return last == 0xfe0f && r == 0x200d
	}
	return last >= 0x0590
}

// maxPaths is how many paths Paths names.
const maxPaths = 10

// Paths quotes paths of files, which may have any text, for a sentence: a few, and how many more there are.
func Paths(paths []string) string {
	var quoted []string
	for _, path := range paths[:min(len(paths), maxPaths)] {
		quoted = append(quoted, fmt.Sprintf("%.200q", path))
	}
	if more := len(paths) - len(quoted); more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	return strings.Join(quoted, ", ")
}

// Cut shortens a text to at most n bytes, without splitting a character, and marks where.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	n = max(n-len(mark), 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}
