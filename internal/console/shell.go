package console

import (
	"strings"

	"github.com/bossman-dev/bossman/internal/visible"
)

// ShellWords quotes words for a shell.
func ShellWords(words ...string) string {
	var out []string
	for _, w := range words {
		out = append(out, visible.ShellWord(w))
	}
	return strings.Join(out, " ")
}
