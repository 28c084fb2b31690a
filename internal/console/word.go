package console

import (
	"slices"
	"strings"
	"unicode"
)

// Words returns the candidates for completion that a shell takes as they are, each with its
// description after a tab, if it has one. No other may be offered: a shell puts on the command
// line what several have in common, and evaluates it.
func Words(candidates []string) []string {
	return slices.DeleteFunc(slices.Clone(candidates), func(s string) bool {
		word, _, _ := strings.Cut(s, "\t")
		return word == "" || strings.ContainsFunc(word, func(c rune) bool {
			return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("-_./:@+,=", c)
		})
	})
}
