package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/tools"
)

// process begins the names of processes that have workers.
const process = "p-"

// patience is how long a call is repeated while the server cannot be reached.
const patience = 15 * time.Second

// A Board is the board of a server. It connects when it is first used, and again
// after a loss. Its methods may be called from many goroutines.
type Board struct {
	dial     func(context.Context) (*mcp.Client, error)
	patience time.Duration

	mu     sync.Mutex
	client *mcp.Client
	// changed is closed and replaced when somebody who waits should look again.
	changed chan struct{}
	stop    context.CancelFunc // of the listening; nil before it
	wg      sync.WaitGroup
}

var _ tools.Board = (*Board)(nil)

// New makes the board of the server that dial connects to.
func New(dial func(context.Context) (*mcp.Client, error)) *Board {
	return &Board{dial: dial, patience: patience, changed: make(chan struct{})}
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

// fetch calls an operation.
func fetch[Out any](ctx context.Context, b *Board, name string, a *board.Actor, in any) (out Out, err error) {
	p := struct {
		As   as  `json:"as"`
		Args any `json:"args"`
	}{Args: in}
	if a != nil {
		p.As = as{Worker: a.Worker, Person: a.Person}
		if strings.HasPrefix(a.Owner, process) { // a shell is nobody's presence
			p.As.Owner = a.Owner
		}
	}
	params, err := marshal(p)
	if err != nil {
		return out, err
	}
	answer, err := b.send(ctx, name, params)
	if err != nil {
		return out, err
	}
	var w struct {
		Value Out `json:"value"`
	}
	if err := unmarshal(answer, &w); err != nil {
		return out, fmt.Errorf("the server's answer to %s cannot be read: it may be of another version", prefix+name)
	}
	return w.Value, nil
}

// Send calls a method of the server that is not a board's.
func (b *Board) Send(ctx context.Context, method string, params any) (json.RawMessage, error) {
	client, err := b.connection(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := client.Ask(ctx, method, params)
	if err != nil {
		return nil, b.refusal(err)
	}
	return answer, nil
}

// once are the operations that must not be repeated when it is not known whether
// they were done. All others only look, or have a key, or the board takes them once.
var once = map[string]bool{"progress": true, "answer": true, "review": true, "cancel": true, "release": true}

// looks are the operations that change nothing.
var looks = func() map[string]bool {
	all := map[string]bool{}
	for _, o := range operations {
		all[o.name] = o.least == auth.Viewer
	}
	return all
}()

// send calls an operation, and tries again for a while if the server cannot be
// reached, or cannot reach its database: one of its replicas may be on its way down,
// or a standby on its way up.
func (b *Board) send(ctx context.Context, name string, params json.RawMessage) (json.RawMessage, error) {
	deadline := time.Now().Add(b.patience)
	maybe := false // one of the tries may have done it
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		answer, err := b.try(ctx, name, params)
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
		maybe = maybe || trouble == board.ErrUnknown && !looks[name]
		pause = max(pause, after)
		if maybe && once[name] || time.Now().Add(pause).After(deadline) {
			return nil, givenUp(maybe, err)
		}
		if err := rest(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// givenUp says what is known of an operation that is not tried again.
func givenUp(maybe bool, err error) error {
	trouble := board.ErrUnavailable
	if maybe {
		trouble = board.ErrUnknown
	}
	if _, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return trouble // the server's words say no more
	}
	return fmt.Errorf("%w: %w", trouble, err)
}

// rest waits, or returns why ctx ended before.
func rest(ctx context.Context, d time.Duration) error {
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

func (b *Board) try(ctx context.Context, name string, params json.RawMessage) (json.RawMessage, error) {
	client, err := b.connection(ctx)
	if err != nil {
		return nil, &dialError{err}
	}
	return client.Ask(ctx, prefix+name, params)
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
			return &remoteError{"the server does not take this machine's key: bossman login gets a new one", board.ErrDenied}
		case http.StatusForbidden:
			return &remoteError{"the server does not let this machine's key in: ask who runs it for a role in the project", board.ErrDenied}
		}
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return decodeError(e)
	}
	return err
}
