package mcp

import "time"

// An idler is a sink whose request holds a concurrency slot.
type idler interface {
	// Idle releases the slot until resume is called.
	Idle() (resume func())
}

// A loser is a sink that finds out if its response reached nobody.
type loser interface {
	// OnLost calls f once it is known that the client was gone before the response was
	// written, and did not fetch it later.
	OnLost(f func())
}

// A streamCloser is a sink that can close its connection before the response is
// ready, because the client will fetch the rest on another one.
type streamCloser interface {
	CloseStream(after time.Duration)
}
