package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// patience is how long a call is repeated while the server cannot be reached.
const patience = 15 * time.Second

// A Board is the board of a server. It connects when it is first used, and again
// after a loss. Its methods may be called from many goroutines.
type Board struct {
	dial     func(context.Context) (*mcp.Client, error)
	watch    []string
	patience time.Duration

	mu     sync.Mutex
	client *mcp.Client
	// changed is closed and replaced when the server reports a change.
	changed chan struct{}
	stop    context.CancelFunc // ends listening; nil before it starts
	wg      sync.WaitGroup
}

var _ access.Board = (*Board)(nil)

// New makes the board of the server that dial connects to. Changes listens for those of
// the resources with the given URIs.
func New(dial func(context.Context) (*mcp.Client, error), watch ...string) *Board {
	return &Board{dial: dial, watch: watch, patience: patience, changed: make(chan struct{})}
}

// Close ends the connection.
func (b *Board) Close() error {
	b.mu.Lock()
	client, stop := b.client, b.stop
	b.client = nil
	b.mu.Unlock()
	if stop != nil {
		stop()
	}
	b.wg.Wait()
	if client != nil {
		return client.Close()
	}
	return nil
}

// connection is the present one, or a new one.
func (b *Board) connection(ctx context.Context) (*mcp.Client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client != nil {
		select {
		case <-b.client.Done():
		default:
			return b.client, nil
		}
	}
	client, err := b.dial(ctx)
	if err != nil {
		return nil, err
	}
	b.client = client
	return client, nil
}

// Send calls a verb of the server that is not the board's, once.
func (b *Board) Send(ctx context.Context, v *access.Verb, params any) (json.RawMessage, error) {
	client, err := b.connection(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := client.CallMethod(ctx, v.Method(), params, nil)
	if err != nil {
		return nil, b.refusal(err)
	}
	return answer, nil
}

// send calls an operation, and retries for a while if the server cannot be reached, or
// cannot reach its database: a replica may be shutting down, or a standby starting up.
func (b *Board) send(ctx context.Context, v *access.Verb, params json.RawMessage) (json.RawMessage, error) {
	deadline := time.Now().Add(b.patience)
	maybe := false // one of the tries may have done it
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		answer, err := b.try(ctx, v, params)
		if err == nil {
			return answer, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		after, trouble := troubleOf(err)
		if trouble == nil {
			return nil, b.refusal(err)
		}
		maybe = maybe || trouble == board.ErrUnknown && v.Writes
		pause = max(pause, after)
		if maybe && v.Once || time.Now().Add(pause).After(deadline) {
			return nil, givenUp(maybe, err)
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// givenUp is the error of an operation that is not retried. maybe is set if it may have
// been carried out.
func givenUp(maybe bool, err error) error {
	trouble := board.ErrUnavailable
	if maybe {
		trouble = board.ErrUnknown
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		text := "the server cannot reach its database"
		if _, refused := errors.AsType[*mcp.StatusError](err); refused { // before the board was asked
			text = "the server answers: " + e.Message
		}
		return &AwayError{text, trouble}
	}
	return fmt.Errorf("%w: %w", trouble, err)
}

// An AwayError says that the server is there, but cannot serve now. It wraps board.ErrUnavailable, or board.ErrUnknown if the
// operation may have been carried out.
type AwayError struct {
	Text string
	kind error
}

func (e *AwayError) Error() string { return fmt.Sprintf("%v: %s", e.kind, e.Text) }
func (e *AwayError) Unwrap() error { return e.kind }

// rest waits, or returns why ctx ended before.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

const (
	firstPause = 50 * time.Millisecond
	maxPause   = time.Second
)

func (b *Board) try(ctx context.Context, v *access.Verb, params json.RawMessage) (json.RawMessage, error) {
	client, err := b.connection(ctx)
	if err != nil {
		return nil, &dialError{err}
	}
	return client.CallMethod(ctx, v.Method(), params, nil)
}

// A dialError means that nothing was sent.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// troubleOf tells what a failed call means: ErrUnavailable if nothing has happened,
// ErrUnknown if something may have, nil if the server has decided. The server may
// also say when to try again.
func troubleOf(err error) (after time.Duration, trouble error) {
	if status, ok := errors.AsType[*mcp.StatusError](err); ok {
		switch {
		case status.Code == http.StatusServiceUnavailable, status.Code == http.StatusTooManyRequests:
			secs, _ := strconv.Atoi(http.Header(status.Header).Get("Retry-After"))
			return min(time.Duration(secs)*time.Second, patience), board.ErrUnavailable
		case status.Code >= 500:
			return 0, board.ErrUnknown
		}
		return 0, nil
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		switch decided := decodeError(e); {
		case errors.Is(decided, board.ErrUnknown):
			return 0, board.ErrUnknown
		case errors.Is(decided, board.ErrUnavailable):
			return 0, board.ErrUnavailable
		}
		return 0, nil
	}
	if _, ok := errors.AsType[*dialError](err); ok {
		return 0, board.ErrUnavailable
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return 0, board.ErrUnavailable
	}
	return 0, board.ErrUnknown
}

// refusal is what the server has decided.
func (b *Board) refusal(err error) error {
	if status, ok := errors.AsType[*mcp.StatusError](err); ok {
		switch status.Code {
		case http.StatusUnauthorized:
			return access.ErrKeyRejected
		case http.StatusForbidden:
			return access.ErrNoRole
		}
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return decodeError(e)
	}
	return err
}
