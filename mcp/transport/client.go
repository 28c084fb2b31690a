package transport

import (
	"context"
	"iter"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/internal/link"
)

// An Exchanger is a transport of a client on which each request has its own
// stream, as over HTTP. Messages that belong to no request still go through Send
// and Receive.
type Exchanger interface {
	jsonrpc.Transport
	// Exchange sends a request with headers and yields the messages of its
	// stream: notifications, server requests, and finally the response. An
	// error ends the sequence; an HTTP status other than success is an
	// *mcp.StatusError. Breaking out of the loop, or the end of ctx, abandons
	// the request.
	Exchange(ctx context.Context, m *jsonrpc.Message, header map[string][]string) iter.Seq2[*jsonrpc.Message, error]
	// Negotiated tells the transport the negotiated revision.
	Negotiated(r mcp.Revision)
}

// A Fallback is an Exchanger that also knows an older transport to its server,
// on which all messages share two streams.
type Fallback interface {
	Older(ctx context.Context) (jsonrpc.Transport, error)
}

// A GapReporter is an Exchanger that keeps a stream open for messages that
// belong to no request. Messages sent while the stream is broken may be lost.
type GapReporter interface {
	// OnGap sets the function to call when that may have happened. gap is
	// GapReconnected, GapSessionLost or GapFinal. The function is called before
	// the transport continues.
	OnGap(func(gap string))
}

// The ways in which messages may have been lost.
const (
	GapReconnected = link.GapReconnected // the stream broke and was resumed
	GapSessionLost = link.GapSessionLost // the server may have lost the session
	GapFinal       = link.GapFinal       // the stream broke and will not be resumed
)

// A Named transport identifies its server, so that clients can remember whether it
// needs a handshake.
type Named interface{ ServerName() string }
