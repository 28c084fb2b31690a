package boardtext

import (
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// Released is a sentence, with a space before it, about tasks that are back on the board;
// empty if there are none.
func Released(tasks []board.ID) string {
	names := IDs(tasks)
	switch len(names) {
	case 0:
		return ""
	case 1:
		return " " + names[0] + " is back on the board."
	}
	return " " + strings.Join(names, ", ") + " are back on the board."
}

// IDs returns ids as text.
func IDs(ids []board.ID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return texts
}
