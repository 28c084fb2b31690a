// Package streamable serves an [mcp.Server] over HTTP, to clients of every
// revision at one address:
//
//	h := streamable.NewHandler(server, &streamable.Options{Authenticate: check})
//	err := streamable.Serve(ctx, listener, h)
//
// A request's way through a Handler:
//
//	HTTP request
//	   │
//	   ▼
//	origin.go      Host, Origin: is it meant for us, and not a web page's?
//	handler.go     who asks (Authenticate); is it JSON (accept.go) of a size that we
//	               take (body.go)?
//	   │                which era?
//	   ├── stateless.go    it names its revision: settle it, handle it
//	   └── session.go      it belongs to a session, whose id (sessionid.go) says
//	   │                   what the handshake has settled; live.go has what goes
//	   │                   on in it now, feed.go the events that belong to no
//	   │                   request
//	   ▼
//	exchange.go    the answer: JSON, or an event stream (sse.go) as soon as there
//	               is something to say before it; replay.go keeps events for
//	               clients that lose their connection
//
// The answer to a request is undecided until there is something to send. A
// notification makes it an event stream; a result alone is plain JSON. A request
// is handled by the goroutine that net/http has given it.
//
// A session costs no memory. Its id is what initialize has settled, sealed with
// the server's [mcp.Keyring], so that every process that has the keys can serve
// it. Only what the client sets later is kept, in a [Store]. What goes on at the
// moment belongs to the process where it began: a client's answers, cancellations
// and return to a broken stream have to reach that one.
//
// # Replicas
//
// Several equal processes can serve the same clients behind any load balancer, if
// they share a Keyring, a Store, an [mcp.Bus] and a [Relay]. The era without
// sessions needs no more than the first and the Bus. For sessions, the relay carries
// to the right replica what arrives at another:
//
//	client ──answer, id "b.7"──► replica a ──relay──► replica b   relay.go
//	client ──cancelled──────────► replica a ──relay──► all others
//	client ──DELETE─────────────► replica a ──relay──► all others; and into the Store
//	client ──GET, after "b.9-3"─► replica a ──relay──► replica b   comeback.go
//	       ◄──────the rest──────           ◄──pieces──             forward.go
//
// A session's state is asked of the Store once in two seconds (statecache.go), and
// anew when another replica has changed it. Nothing hangs on the relay being
// reliable: a lost answer is one that the client never gave, a lost piece breaks the
// stream, for which the client comes back, and a session that was ended is refused
// after two seconds at the latest. When a replica has died, who comes back for one of
// its calls gets 404 within two seconds, and begins again. The stream of events that
// belong to no request is in one place: opening it at a replica ends it at the others,
// and who comes back to it is given what came meanwhile.
//
// A principal that is revoked ([mcp.Principal]) loses its calls and streams within a
// second (revoke.go).
//
// A [Client] is the other side, a transport for [mcp.Connect]:
//
//	c, err := streamable.Connect(ctx, "https://example.com/mcp", nil, nil)
//
// Each request is a POST, and its answer JSON or an event stream. In sessions a
// stream that breaks is taken up again, and what belongs to no request comes on a
// stream of its own. A stream whose server used to send comments, and sends nothing
// any more, is taken for broken (client_sse.go). [Client.Older] is the way of the oldest revision.
package streamable
