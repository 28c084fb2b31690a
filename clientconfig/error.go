package clientconfig

import (
	"errors"
	"strings"
)

// ErrUnset means that a variable is not set, or that an input was not provided.
var ErrUnset = errors.New("not set")

// An Error reports which file is invalid, and where.
type Error struct {
	File string
	Key  string // for example mcpServers.github.args[1]; empty for the whole file
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
