package mcp

import (
	"context"
	"iter"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// An Exchanger is a transport on which each request has its own stream, as over
// HTTP. The client prefers it. Messages that belong to no request still go
// through Send and Receive.
type Exchanger interface {
	jsonrpc.Transport
	// Exchange sends a request with headers and yields the messages of its
	// stream: notifications, server requests, and finally the response. An
	// error ends the sequence; an HTTP status other than success is a
	// *StatusError. Breaking out of the loop, or the end of ctx, abandons the
	// request.
	Exchange(ctx context.Context, m *jsonrpc.Message, header map[string][]string) iter.Seq2[*jsonrpc.Message, error]
	// Agreed tells the transport the negotiated revision.
	Agreed(r Revision)
}

// A Lossy transport is an Exchanger that keeps a stream open for messages that
// belong to no request. Messages sent while the stream is broken may be lost.
type Lossy interface {
	// OnGap sets the function to call when that may have happened. It is called
	// before the transport continues.
	OnGap(func(Gap))
}

// A Gap is the way in which messages may have been lost.
type Gap uint8

// Kinds of gaps.
const (
	GapStream  Gap = iota + 1 // the stream broke and was resumed
	GapSession                // the server may have lost the session
	GapForGood                // the stream broke and will not be resumed
)

// A Fallback is an Exchanger that also knows an older transport to its server,
// on which all messages share two streams.
type Fallback interface {
	Older(ctx context.Context) (jsonrpc.Transport, error)
}
