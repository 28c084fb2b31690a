package clientconfig

import (
	"errors"
	"strings"
)

// ErrUnset means that a value needs a variable that is not set, or an answer that
// nobody was there to give.
var ErrUnset = errors.New("not set")

// An Error says which file is wrong, and where in it.
type Error struct {
	File string
	Key  string // such as mcpServers.github.args[1]; empty if it is the whole file
	Err  error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File + ": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	return b.String() + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }
