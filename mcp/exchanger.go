package mcp

import (
	"context"
	"iter"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// An exchanger is a transport on which each request has its own stream, as over
// HTTP. The client prefers it. Messages that belong to no request still go
// through Send and Receive.
type exchanger interface {
	jsonrpc.Transport
	// Exchange sends a request with headers and yields the messages of its
	// stream: notifications, server requests, and finally the response. An
	// error ends the sequence; an HTTP status other than success is a
	// *StatusError. Breaking out of the loop, or the end of ctx, abandons the
	// request.
	Exchange(ctx context.Context, m *jsonrpc.Message, header map[string][]string) iter.Seq2[*jsonrpc.Message, error]
	// Negotiated tells the transport the negotiated revision.
	Negotiated(r Revision)
}

// A gapReporter is an exchanger that keeps a stream open for messages that
// belong to no request. Messages sent while the stream is broken may be lost.
type gapReporter interface {
	// OnGap sets the function to call when that may have happened, with one of
	// the gaps of package link. It is called before the transport continues.
	OnGap(func(gap string))
}

// A fallback is an exchanger that also knows an older transport to its server,
// on which all messages share two streams.
type fallback interface {
	Older(ctx context.Context) (jsonrpc.Transport, error)
}
