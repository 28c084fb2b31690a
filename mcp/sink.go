package mcp

import (
	"context"
	"encoding/json"
	"time"
)

// A Sink sends the client what belongs to a request, other than its response.
type Sink interface {
	// Notify sends a notification.
	Notify(ctx context.Context, method string, params any) error
	// Call sends a request to the client and waits for the response. Only
	// revisions with a handshake have such requests.
	Call(ctx context.Context, method string, params any) (json.RawMessage, error)
}

// A Waiter is a Sink whose request holds a concurrency slot.
type Waiter interface {
	// Wait releases the slot until resume is called.
	Wait() (resume func())
}

// A Loser is a Sink that finds out if its response reached nobody.
type Loser interface {
	// OnLost calls f once it is known that the client was gone before the response was
	// written, and did not fetch it later.
	OnLost(f func())
}

// A Pauser is a Sink that can close its connection before the response is
// ready, because the client will fetch the rest on another one.
type Pauser interface {
	Pause(after time.Duration)
}
