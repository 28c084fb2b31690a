package mcpcli

import (
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
)

// unknown is the error for a name that the server does not have, with similar ones.
func unknown(kind, name string, names []string, list string) error {
	next := list + " lists them"
	if best := console.Near(name, names); len(best) > 0 {
		next = "did you mean " + strings.Join(best, " or ") + "? " + next
	} else if len(names) == 0 {
		next = fmt.Sprintf("the server has no %ss", kind)
	}
	return console.Errorf(console.NotFound, next, "the server has no %s %q", kind, name)
}
