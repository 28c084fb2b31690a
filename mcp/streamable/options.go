package streamable

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// Options configures a Handler. The zero value serves clients on the same
// machine, without authentication.
type Options struct {
	// Authenticate identifies the sender of a request. It is called for every
	// request, in every revision, before anything else looks at it. An
	// *AuthError says how to refuse the request; any other error, and a
	// principal without an ID, refuse it with 401. See Bearer for OAuth tokens.
	// Default: every sender is "local".
	Authenticate func(*http.Request) (mcp.Principal, error)
	// LimitBatch is called after Authenticate for a batch, to decide whether its
	// sender may send so many messages at once. It refuses like Authenticate.
	// Default: a batch counts as one message.
	LimitBatch func(p mcp.Principal, messages int) error
	// Hosts lists the names by which clients may address this server, with or
	// without a port. Default: the loopback names, on loopback connections
	// only.
	Hosts []string
	// Origins lists the web origins that may use this server, such as
	// "https://app.example", in addition to its own. Browsers get the CORS
	// headers for them.
	Origins []string
	// OnForeign, if not nil, is called for a request refused because of its Host
	// or Origin; header says which one. The sender is not authenticated.
	OnForeign func(r *http.Request, header string)
	// Limits bounds the cost of one request.
	Limits jsonrpc.Limits
	// MaxInFlight limits the requests handled at once; default 1,024. Requests
	// whose body has not arrived, or that wait for their client, do not count.
	MaxInFlight int
	// MaxStreams limits the open event streams; default 16,384.
	MaxStreams int
	// MaxInFlightPerPrincipal and MaxStreamsPerPrincipal are the limits for each
	// owner of principals, see mcp.Principal; default a quarter. They do not apply
	// without Authenticate.
	MaxInFlightPerPrincipal, MaxStreamsPerPrincipal int
	// MaxBytes limits the memory for bodies that arrive, and for large ones
	// until their request is done, of all requests together; default 128 MiB.
	// An owner may use a quarter of it. The same goes for large answers until
	// their clients have read them: a request whose answer has no room is
	// refused.
	MaxBytes int64
	// Sessionless also serves requests of the revisions with a handshake that
	// come without a session id, whatever their Content-Type: one POST with a
	// message in it, as the simplest clients send. Such a request has the
	// revision of its MCP-Protocol-Version header, by default 2025-03-26.
	// Clients that send initialize still get a session; batches need one.
	Sessionless bool
	// SessionTTL is how long a session can be used; default one day.
	SessionTTL time.Duration
	// Sessions stores what clients set in sessions. Default: in memory.
	Sessions replica.SessionStore
	// Relay connects replicas that serve the same clients; they must also share
	// the Sessions and the server's Keyring and Bus. Default: there is one
	// process.
	Relay replica.Relay
	// Logger receives messages for the operator. Default: slog.Default().
	Logger *slog.Logger
}
