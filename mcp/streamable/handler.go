package streamable

import (
	"cmp"
	"context"
	"hash/maphash"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// A Handler serves the clients of a server over HTTP, at any path: mount it in a
// mux, usually at /mcp.
//
//	mux.Handle("/mcp", h)
//
// Event streams stay open as long as their clients do. Let Close end them when
// the http.Server shuts down, because Shutdown waits for them otherwise; Serve
// does that.
//
//	srv.RegisterOnShutdown(h.Close)
//
// In a test, call Close before httptest.Server.Close.
type Handler struct {
	server *transport.Server
	o      Options
	log    *slog.Logger

	inFlight    limiter
	streams     limiter
	revocations revocations
	bodies      limiter       // memory of bodies that arrive, and of large ones that are being handled
	answers     limiter       // memory of large answers that are being sent
	keptBytes   atomic.Int64  // memory of events kept for clients that may reconnect
	lastNumber  atomic.Uint64 // last number used for a stream or a request to a client
	alarms      sync.Pool     // of *alarm, not set
	sessions    sessionCache
	replicas    replicas
	loopback    atomic.Pointer[string] // last Host that was a loopback name

	closing    context.Context // done when streams must end
	close      context.CancelCauseFunc
	baseCtx    context.Context // parent of calls that outlive their connection
	cancelBase context.CancelCauseFunc

	mu     sync.Mutex
	active map[sessionKey]*activeSession
}

var _ http.Handler = (*Handler)(nil)

// NewHandler returns a handler for a server.
func NewHandler(s *mcp.Server, o *Options) *Handler {
	h := &Handler{server: transport.NewServer(s), active: map[sessionKey]*activeSession{}}
	if o != nil {
		h.o = *o
	}
	h.o.Limits.Bytes = cmp.Or(h.o.Limits.Bytes, 1<<20)
	h.o.MaxInFlight = cmp.Or(h.o.MaxInFlight, 1024)
	h.o.MaxStreams = cmp.Or(h.o.MaxStreams, 16<<10)
	h.o.MaxBytes = cmp.Or(h.o.MaxBytes, 128<<20)
	h.o.SessionTTL = cmp.Or(h.o.SessionTTL, 24*time.Hour)
	h.inFlight.what, h.streams.what, h.bodies.what, h.answers.what = "requests at once", "open event streams", "bytes of requests in transfer", "bytes of answers that were not read yet"
	h.inFlight.max, h.streams.max, h.bodies.max, h.answers.max = int64(h.o.MaxInFlight), int64(h.o.MaxStreams), h.o.MaxBytes, h.o.MaxBytes
	if h.o.Authenticate != nil {
		h.inFlight.maxEach = int64(cmp.Or(h.o.MaxInFlightPerPrincipal, (h.o.MaxInFlight+3)/4))
		h.streams.maxEach = int64(cmp.Or(h.o.MaxStreamsPerPrincipal, (h.o.MaxStreams+3)/4))
		h.bodies.maxEach = max(h.o.MaxBytes/4, min(h.o.MaxBytes, 2*int64(h.o.Limits.Bytes)))
		h.answers.maxEach = h.o.MaxBytes / 4
	}
	if h.o.Sessions == nil {
		h.o.Sessions = newMemoryStore()
	}
	if h.log = h.o.Logger; h.log == nil {
		h.log = slog.Default()
	}
	h.sessions.seed = maphash.MakeSeed()
	h.closing, h.close = context.WithCancelCause(context.Background())
	h.baseCtx, h.cancelBase = context.WithCancelCause(context.Background())
	h.joinReplicas()
	return h
}

// Close ends the event streams and opens no new ones. Calls continue, also
// those that clients resume through another replica; for these it receives from
// the relay for ten more seconds.
func (h *Handler) Close() {
	h.close(jsonrpc.ErrClosed)
	if h.o.Relay != nil {
		time.AfterFunc(drainTimeout, h.replicas.stopReceiving)
	}
}

// ServeHTTP serves one HTTP request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.checkAddress(w, r) {
		return
	}
	if len(h.o.Origins) > 0 && h.crossOrigin(w, r) {
		return
	}
	h.serve(w, r)
}

// Guard applies the Handler's checks of Host and Origin to another handler. It
// does not authenticate.
func (h *Handler) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.checkAddress(w, r) && (len(h.o.Origins) == 0 || !h.crossOrigin(w, r)) {
			next.ServeHTTP(w, r)
		}
	})
}

// checkAddress refuses a request with a wrong Host or Origin.
func (h *Handler) checkAddress(w http.ResponseWriter, r *http.Request) bool {
	if h.addressAllowed(r) {
		return true
	}
	h.refuse(w, http.StatusForbidden, "this Host or Origin is not allowed")
	return false
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	p, ok := h.admit(w, r)
	if !ok {
		return
	}
	version, known := versionOf(r)
	switch {
	case r.Method == http.MethodPost:
		h.post(w, r, &p)
	case r.Method != http.MethodGet && r.Method != http.MethodDelete:
		h.notAllowed(w, "GET, POST, DELETE")
	case r.ContentLength != 0:
		h.refuse(w, http.StatusBadRequest, "only POST may have content")
	case known && version.Stateless():
		h.notAllowed(w, "POST")
	case r.Method == http.MethodGet:
		h.get(w, r, &p)
	default:
		h.delete(w, r, transport.Holder(p))
	}
}

// admit authenticates the sender of a request, or refuses it.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) (p mcp.Principal, ok bool) {
	for name, values := range r.Header {
		if len(values) > 1 && (strings.HasPrefix(name, "Mcp-") || name == "Authorization" || name == "Content-Type") {
			h.refuseUnread(w, r, http.StatusBadRequest, "header "+name+" appears more than once")
			return p, false
		}
	}
	srv, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok || srv.WriteTimeout == 0 {
		// A deadline set for an earlier response may still be in effect.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
	if h.o.Authenticate == nil {
		return mcp.Principal{ID: "local", Owner: "local"}, true
	}
	if r.ContentLength != 0 && (!ok || srv.ReadTimeout == 0) {
		limitDrain(w) // it may read the body
	}
	return h.authenticate(w, r)
}
