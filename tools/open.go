package tools

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// Open opens the board, if that has not succeeded yet.
func (t *Tools) Open(ctx context.Context) error {
	t.opening.Lock()
	defer t.opening.Unlock()
	if t.isOpen() {
		return nil
	}
	b, o, err := t.o.Open(ctx)
	if err != nil {
		return err
	}
	t.b = b
	t.set(o)
	close(t.opened)
	return nil
}

func (t *Tools) isOpen() bool {
	select {
	case <-t.opened:
		return true
	default:
		return false
	}
}

func (t *Tools) set(o *Options) {
	t.o = *cmp.Or(o, &Options{})
	t.o.Logger = cmp.Or(t.o.Logger, slog.New(slog.DiscardHandler))
}

// needsBoard has the methods that are refused without a board. Those of direct programs do not
// belong to the protocol, and are added to it.
var needsBoard = map[string]bool{
	"tools/call": true, "resources/read": true,
	access.Next.Direct: true, access.Done.Direct: true, access.Ask.Direct: true,
}

// openFirst is middleware that opens the board before a request that needs it, and refuses the
// request if there is none, or none may be used where the agent works. What made it impossible may
// have passed since the last request: a server is there again, or a person has mended it.
func (t *Tools) openFirst(next mcp.Handler) mcp.Handler {
	return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
		if !t.isOpen() && needsBoard[r.Method] {
			if err := t.Open(ctx); err != nil {
				refusal := noBoard(err)
				if r.Method == "tools/call" {
					return refused(refusal)
				}
				return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", visible.Text(refusal.Error()))
			}
		}
		if t.isOpen() && t.piped() { // who calls is known only then
			ctx = access.WithCaller(ctx, t.o.Pipe)
		}
		return next(ctx, r)
	}
}

// noBoard is the refusal of a call without a board.
func noBoard(err error) error {
	return &refusal{
		what: "Not done.", state: "Nothing was read or written.",
		why:  "No board can be used here: " + inline(err.Error(), 1000) + ".",
		next: "Tell the person at your client, and end your turn. Once that is mended, calls work again.",
		code: "no_board", err: err,
	}
}
