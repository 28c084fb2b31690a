package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// exitCodes translates the kinds of errors that the board, the store of keys and the
// system have. The first row that matches decides.
var exitCodes = []struct {
	kind error
	code console.ExitCode
	next string
}{
	{board.ErrNotFound, console.NotFound, ""},
	{auth.ErrNotFound, console.NotFound, ""},
	{fs.ErrNotExist, console.NotFound, ""},
	{board.ErrInvalid, console.Usage, ""},
	{auth.ErrInvalid, console.Usage, ""},
	{access.ErrKeyRejected, console.Denied, "get a new key with bossman login URL"},
	{access.ErrNoRole, console.Denied, "ask the administrator of the server for a role in the project"},
	{board.ErrReadOnly, console.Denied, "nothing was changed. In a sandbox, let commands write to that directory, or give the agent the board over MCP: bossman mcp runs outside the sandbox"},
	{board.ErrFull, console.Unavailable, "nothing was recorded; free space on that disk and repeat the command"},
	{board.ErrDenied, console.Denied, ""},
	{auth.ErrDenied, console.Denied, ""},
	{fs.ErrPermission, console.Denied, "check the permissions there; nothing was changed"},
	{board.ErrConflict, console.Conflict, ""},
	{auth.ErrConflict, console.Conflict, ""},
	{board.ErrLeaseLost, console.Conflict, ""},
	{board.ErrGone, console.Unavailable, "repeat the command where the project is now"},
	{board.ErrUnavailable, console.Unavailable, "nothing was changed; try again"},
	{board.ErrUnknown, console.Unavailable, "check with bossman status whether it happened before you repeat it"},
	{board.ErrTooNew, console.Unavailable, ""},
	{context.DeadlineExceeded, console.Unavailable, ""},
}

// explain adds the exit code and the next step to an error that does not have them.
func (a *app) explain(err error) error {
	if err == nil {
		return nil
	}
	code, next := console.CodeOf(err), console.NextOf(err)
	if _, ok := errors.AsType[*board.Nothing](err); ok && code == 0 {
		code = console.NothingToDo
	}
	if _, ok := errors.AsType[*board.ArchivedError](err); ok {
		next = cmp.Or(next, "bossman task import brings back what is in that file")
	}
	for _, row := range exitCodes {
		if errors.Is(err, row.kind) {
			code, next = cmp.Or(code, row.code), cmp.Or(next, row.next)
			break
		}
	}
	if code == 0 && !a.parsed {
		code = console.Usage
	}
	if code == console.Usage && next == "" {
		next = cmp.Or(a.command, "bossman") + " --help"
	}
	return &console.Error{Code: code, Err: err, Next: next}
}
