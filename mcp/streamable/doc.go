// Package streamable serves an [mcp.Server] over HTTP, to clients of all revisions
// at one URL, and connects to such servers:
//
//	h := streamable.NewHandler(server, &streamable.Options{
//		Authenticate: authenticate,
//		Hosts:        []string{"example.com"},
//	})
//	mux := http.NewServeMux()
//	mux.Handle("/mcp", h)
//	srv := streamable.NewHTTPServer(mux)
//	srv.Addr = ":8080"
//	srv.RegisterOnShutdown(h.Close)
//	log.Fatal(srv.ListenAndServe())
//
// Without Authenticate a Handler serves clients on this machine only. [Bearer]
// authenticates by OAuth tokens and serves the metadata by which clients find the
// authorization server. [Serve] is for programs that serve nothing else: it listens,
// and shuts down when its context ends.
//
// # Clients
//
// [Connect] connects to the server at a URL:
//
//	c, err := streamable.Connect(ctx, "https://example.com/mcp", nil, nil)
//
// Send a key in [ClientOptions].Header, or let package oauth get a token. The client
// works with servers of all revisions, including the transport of the oldest one, with
// two streams. In sessions a broken stream is resumed. If a server that used to send
// comments on a stream falls silent, the client treats the stream as broken.
//
// # Sessions
//
// A session uses no memory. Its id is the result of initialize, sealed with the
// server's [replica.Keyring], so every process that has the keys can serve it. Only what
// the client sets later is stored, in a [replica.SessionStore]. What is in progress
// belongs to the process where it began: a client's responses, cancellations and
// requests to resume a stream must reach that process. A session belongs to a principal
// with the rights that it had at the handshake; with others it is not found, and the
// client starts a new one. A principal that is revoked ([mcp.Principal]) loses its calls
// and streams within a second.
//
// # Replicas
//
// Several equal processes can serve the same clients behind any load balancer if
// they share a Keyring, a SessionStore, a [replica.Bus] and a [replica.Relay]. Requests
// of revision 2026-07-28 need only the Keyring and the Bus. For sessions, the relay
// forwards what arrives at the wrong replica. It need not be reliable: a lost response
// is one that the client never sent, a lost piece breaks the stream, which the client
// then resumes, and a session that was ended is refused after two seconds at the
// latest. If a replica dies, a client that wants to resume one of its calls gets 404
// within two seconds, and starts over.
package streamable

// The path of a request through a Handler:
//
//	HTTP request
//	   │
//	   ▼
//	origin.go      Host and Origin: is it addressed to this server, and not sent by
//	               a foreign web page?
//	handler.go     who sent it (Authenticate)? Is it JSON (accept.go) within the size
//	               limit (body.go)?
//	   │                which era?
//	   ├── stateless.go    it names its revision itself
//	   └── session.go      it belongs to a session, whose id (sessionid.go) contains
//	   │                   the result of the handshake; activesession.go has what is
//	   │                   in progress, feed.go the events that belong to no request
//	   ▼
//	exchange.go    the response: JSON, or an event stream (sse.go) if something has to
//	               be sent before the result; stream.go keeps events for clients
//	               that lose their connection
//
// The form of a response is undecided until there is something to send. A
// notification makes it an event stream; a result alone is plain JSON. A request
// is handled by the goroutine that net/http provides.
//
// The relay forwards what arrives at the wrong replica:
//
//	client ──response, id "b.7"─► replica a ──relay──► replica b   note.go
//	client ──cancelled──────────► replica a ──relay──► all others
//	client ──DELETE─────────────► replica a ──relay──► all others; and to the store
//	client ──GET, after "b.9-3"─► replica a ──relay──► replica b   remotestream.go
//	       ◄──────the rest──────           ◄──pieces──             forward.go
//
// The state of a session is loaded from the SessionStore once in two seconds
// (statecache.go), and again when another replica has changed it. The stream of
// events that belong to no request exists in one place: opening it at a replica ends
// it at the others, and a client that resumes it receives what it missed.
// revoke.go ends what belongs to a revoked principal. client_sse.go notices silence,
// and client_legacy.go is the transport of the oldest revision.
