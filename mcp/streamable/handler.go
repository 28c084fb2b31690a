package streamable

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// Options are what a Handler may be given. The zero value serves clients on the
// same machine, without asking who they are.
type Options struct {
	// Authenticate tells who has sent a request. It is asked about every one, in
	// every revision, before anything else looks at it. An *AuthError says how to
	// refuse; any other error refuses with 401. Nil: everybody is "local".
	Authenticate func(*http.Request) (mcp.Principal, error)
	// Batch is asked, after Authenticate, about a packet of several messages: whether
	// its sender may have so many at once. It refuses like Authenticate. Nil: a batch
	// costs what one message does.
	Batch func(p mcp.Principal, messages int) error
	// Hosts are the names that clients may address us by, with or without a port.
	// Nil: the names of this machine for itself, on connections from it.
	Hosts []string
	// Origins are the web pages that may use us, such as "https://app.example",
	// beside those with the same name and port as ours. Their browsers are told so.
	Origins []string
	// Foreign, if not nil, is told of a request that is refused because of its Host
	// or its Origin; header says which. The request may be anybody's.
	Foreign func(r *http.Request, header string)
	// Path is where the protocol is served; "/mcp".
	Path string
	// Limits bound what one request may cost.
	Limits jsonrpc.Limits
	// MaxInFlight is how many requests are handled at once; 1,024. Those that
	// wait for their client do not count.
	MaxInFlight int
	// MaxStreams is how many event streams are open at once; 16,384.
	MaxStreams int
	// MaxInFlightEach and MaxStreamsEach are the same for each principal; a
	// quarter. They do not count if everybody is "local".
	MaxInFlightEach, MaxStreamsEach int
	// MaxBytes bounds the memory for large bodies of all requests together;
	// 128 MiB.
	MaxBytes int64
	// SessionLife is how long a session may be used; a day.
	SessionLife time.Duration
	// Store keeps what sessions' clients set. Nil: in memory.
	Store Store
	// Relay joins replicas that serve the same clients; they share the Store and
	// the server's Keyring and Bus as well. Nil: there is one process.
	Relay Relay
	// Logger takes what concerns the operator. Nil: slog's default.
	Logger *slog.Logger
}

// An AuthError refuses a request.
type AuthError struct {
	Status     int           // 401 if it is zero
	Challenge  string        // the WWW-Authenticate header of a 401 or 403; "Bearer" if empty
	Text       string        // what the client is told
	RetryAfter time.Duration // when it may try again; zero: it is not told
}

func (e *AuthError) Error() string { return cmp.Or(e.Text, "not authenticated") }

// A Handler serves a server's clients over HTTP.
type Handler struct {
	server *mcp.Server
	o      Options
	log    *slog.Logger
	routes []Route

	inFlight  meter
	streams   meter
	revocable revocable
	bytes     atomic.Int64  // of bodies that are being handled
	kept      atomic.Int64  // of events for clients that may come back
	number    atomic.Uint64 // of the last stream, or question to a client
	alarms    sync.Pool     // of *alarm, none of them set
	opened    openedIDs
	replicas  replicas
	loopback  atomic.Pointer[string] // the last Host that was a name of this machine

	closing context.Context // ends when streams are to end
	close   context.CancelCauseFunc
	base    context.Context // the parent of calls that outlive their connection
	kill    context.CancelCauseFunc

	mu    sync.Mutex
	lives map[sessionKey]*live
}

var _ http.Handler = (*Handler)(nil)

// A Route is a path and what is served there.
type Route struct {
	Path  string
	serve func(http.ResponseWriter, *http.Request)
}

// NewHandler makes a handler for a server.
func NewHandler(s *mcp.Server, o *Options) *Handler {
	h := &Handler{server: s, lives: map[sessionKey]*live{}}
	if o != nil {
		h.o = *o
	}
	h.o.Path = cmp.Or(h.o.Path, "/mcp")
	h.o.Limits.Bytes = cmp.Or(h.o.Limits.Bytes, 1<<20)
	h.o.MaxInFlight = cmp.Or(h.o.MaxInFlight, 1024)
	h.o.MaxStreams = cmp.Or(h.o.MaxStreams, 16<<10)
	h.o.MaxBytes = cmp.Or(h.o.MaxBytes, 128<<20)
	h.o.SessionLife = cmp.Or(h.o.SessionLife, 24*time.Hour)
	h.inFlight.most, h.streams.most = int64(h.o.MaxInFlight), int64(h.o.MaxStreams)
	if h.o.Authenticate != nil {
		h.inFlight.each = cmp.Or(h.o.MaxInFlightEach, (h.o.MaxInFlight+3)/4)
		h.streams.each = cmp.Or(h.o.MaxStreamsEach, (h.o.MaxStreams+3)/4)
	}
	if h.o.Store == nil {
		h.o.Store = newMemoryStore()
	}
	if h.log = h.o.Logger; h.log == nil {
		h.log = slog.Default()
	}
	h.opened.seed = maphash.MakeSeed()
	h.closing, h.close = context.WithCancelCause(context.Background())
	h.base, h.kill = context.WithCancelCause(context.Background())
	h.routes = []Route{{Path: h.o.Path, serve: h.serve}}
	h.join()
	return h
}

// Routes are the paths that are served; there is nothing elsewhere.
func (h *Handler) Routes() []Route { return append([]Route(nil), h.routes...) }

// Close ends the streams on which clients wait for events, and opens no new ones.
// Calls go on, also those whose clients come back for them by way of another
// replica; for these it hears the others for ten more seconds.
func (h *Handler) Close() {
	h.close(jsonrpc.ErrClosed)
	if h.o.Relay != nil {
		time.AfterFunc(drainFor, h.replicas.deaf)
	}
}

// ServeHTTP serves one HTTP request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.addressed(w, r) {
		return
	}
	for _, route := range h.routes {
		if route.Path == r.URL.Path {
			if len(h.o.Origins) > 0 && h.crossOrigin(w, r) {
				return
			}
			route.serve(w, r)
			return
		}
	}
	h.refuse(w, http.StatusNotFound, "there is nothing here")
}

// Guard puts the Handler's checks of Host and Origin before something else that the
// program serves. Nobody is asked who they are.
func (h *Handler) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.addressed(w, r) && (len(h.o.Origins) == 0 || !h.crossOrigin(w, r)) {
			next.ServeHTTP(w, r)
		}
	})
}

// addressed refuses what is not meant for us, or comes from a page that is not ours.
func (h *Handler) addressed(w http.ResponseWriter, r *http.Request) bool {
	if h.ours(r) {
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
		h.refuse(w, http.StatusBadRequest, "only a POST has content")
	case known && version.Stateless():
		h.notAllowed(w, "POST")
	case r.Method == http.MethodGet:
		h.get(w, r, &p)
	default:
		h.delete(w, r, p.ID)
	}
}

// admit tells who has sent a request, or refuses it.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) (p mcp.Principal, ok bool) {
	for name, values := range r.Header {
		if len(values) > 1 && (strings.HasPrefix(name, "Mcp-") || name == "Authorization" || name == "Content-Type") {
			h.refuse(w, http.StatusBadRequest, "header "+name+" is there more than once")
			return p, false
		}
	}
	srv, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok || srv.WriteTimeout == 0 {
		// A deadline of ours for an earlier response may still be there.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
	if h.o.Authenticate == nil {
		return mcp.Principal{ID: "local"}, true
	}
	if r.ContentLength != 0 && (!ok || srv.ReadTimeout == 0) {
		hurry(w) // it may look at the body
	}
	return h.authenticate(w, r)
}

func (h *Handler) authenticate(w http.ResponseWriter, r *http.Request) (mcp.Principal, bool) {
	p, err := h.o.Authenticate(r)
	if err == nil {
		return p, true
	}
	h.unwelcome(w, err)
	return p, false
}

// unwelcome refuses somebody.
func (h *Handler) unwelcome(w http.ResponseWriter, err error) {
	e, ok := errors.AsType[*AuthError](err)
	if !ok {
		h.log.Debug("not authenticated", "err", err)
		e = &AuthError{}
	}
	status := cmp.Or(e.Status, http.StatusUnauthorized)
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		w.Header().Set("Www-Authenticate", cmp.Or(e.Challenge, "Bearer"))
	}
	if e.RetryAfter > 0 {
		secs := (e.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(secs), 10))
	}
	h.refuse(w, status, e.Error())
}

// header is the value of a header; its name must be canonical. Header.Get would
// see to that anew for every request.
func header(r *http.Request, name string) string {
	if values := r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// headers are an http.Header whose canonical names are found at once.
type headers http.Header

func (h headers) Values(name string) []string {
	if values, ok := h[name]; ok {
		return values
	}
	return http.Header(h).Values(name)
}

// versionOf is the revision that a request's header names. It reports false if
// there is none or it is unknown.
func versionOf(r *http.Request) (mcp.Revision, bool) {
	return mcp.ParseRevision(header(r, "Mcp-Protocol-Version"))
}

// post serves a message, or a batch of them.
func (h *Handler) post(w http.ResponseWriter, r *http.Request, p *mcp.Principal) {
	if status := h.inFlight.take(p.ID); status != 0 {
		h.busy(w, status)
		return
	}
	defer h.inFlight.give(p.ID)
	packet, held := h.receive(w, r)
	defer h.bytes.Add(-held)
	switch {
	case packet.Message != nil:
		h.message(w, r, p, packet.Message)
	case packet.Batch != nil:
		h.batch(w, r, p, packet.Batch)
	}
}

// receive reads what a POST brings. What is not a packet is answered, and none is
// returned. It tells how much of the common memory is held.
func (h *Handler) receive(w http.ResponseWriter, r *http.Request) (packet jsonrpc.Packet, held int64) {
	switch {
	case !isJSON(header(r, "Content-Type")):
		h.refuse(w, http.StatusUnsupportedMediaType, "the content must be application/json")
		return packet, 0
	case !isIdentity(r.Header["Content-Encoding"]):
		h.refuse(w, http.StatusUnsupportedMediaType, "the content must not be compressed")
		return packet, 0
	case !acceptsBoth(r.Header["Accept"]):
		h.refuse(w, http.StatusNotAcceptable, "the client must accept application/json and text/event-stream")
		return packet, 0
	}
	body, held, err := h.read(w, r)
	if err != nil {
		h.unreadable(w, err)
		return packet, held
	}
	packet, err = jsonrpc.Decode(body, h.o.Limits)
	if bad, ok := errors.AsType[*jsonrpc.Malformed](err); ok {
		h.server.Refused(bad)
		version, _ := versionOf(r)
		h.fail(w, http.StatusBadRequest, bad.ID, version, bad.Err)
		return jsonrpc.Packet{}, held
	}
	return packet, held
}

// message decides which era a message belongs to.
func (h *Handler) message(w http.ResponseWriter, r *http.Request, p *mcp.Principal, m *jsonrpc.Message) {
	if !m.IsRequest() {
		h.oneWay(w, r, p, m)
		return
	}
	version, known := versionOf(r)
	rq := mcp.NewRequest(m, *p)
	switch {
	case !known && !rq.Stateless() && header(r, "Mcp-Protocol-Version") != "":
		h.unknownVersion(w, r, m.ID)
	case rq.Method == "subscriptions/listen":
		h.listen(w, r, rq)
	case version.Stateless(), rq.Stateless(), rq.Method == "server/discover":
		h.stateless(w, r, rq)
	case len(m.Params) > 0 && m.Params[0] != '{':
		h.fail(w, http.StatusBadRequest, m.ID, version, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params must be an object"))
	case rq.Method == "initialize" && r.Header["Mcp-Session-Id"] == nil:
		h.initialize(w, r, rq)
	case r.Header["Mcp-Session-Id"] == nil && h.server.SettleAlone(rq):
		h.alone(w, r, rq)
	default:
		h.inSession(w, r, rq)
	}
}

func (h *Handler) unknownVersion(w http.ResponseWriter, r *http.Request, id jsonrpc.ID) {
	h.fail(w, http.StatusBadRequest, id, mcp.Newest, mcp.UnsupportedVersion(header(r, "Mcp-Protocol-Version")))
}

// oneWay serves a message that wants no answer: a notification, or the client's
// answer to a question of ours.
func (h *Handler) oneWay(w http.ResponseWriter, r *http.Request, p *mcp.Principal, m *jsonrpc.Message) {
	version, known := versionOf(r)
	switch {
	case !known && header(r, "Mcp-Protocol-Version") != "":
		h.unknownVersion(w, r, jsonrpc.ID{})
		return
	case m.IsNotification() && !strings.HasPrefix(m.Method, "notifications/"):
		h.refuse(w, http.StatusBadRequest, "a request has an id")
		return
	case version.Stateless() && m.IsResponse():
		h.refuse(w, http.StatusBadRequest, "there is nothing to answer")
		return
	case !version.Stateless():
		s, ok := h.open(w, r, p.ID)
		if !ok {
			return
		}
		defer h.leave(s.live)
		h.heard(s, m)
	}
	w.WriteHeader(http.StatusAccepted)
}

// busyForSecs is when a client that was refused may try again.
const busyForSecs = "1"

// busy refuses for now.
func (h *Handler) busy(w http.ResponseWriter, status int) {
	w.Header().Set("Retry-After", busyForSecs)
	h.refuse(w, status, "busy")
}

func (h *Handler) notAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	h.refuse(w, http.StatusMethodNotAllowed, "method not allowed")
}

// hurry gives a client its time for what is left of a body that nobody reads:
// net/http waits for it before it sends the answer.
func hurry(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyBegin)) // not every writer has one
}

// refuse answers something that did not become a message of the protocol.
func (h *Handler) refuse(w http.ResponseWriter, status int, text string) {
	hurry(w)
	h.server.Refused(errors.New(text))
	h.fail(w, status, jsonrpc.ID{}, mcp.Newest, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s", text))
}

// fail answers with an error, in the form that readers of a revision know.
func (h *Handler) fail(w http.ResponseWriter, status int, id jsonrpc.ID, revision mcp.Revision, err *jsonrpc.Error) {
	writeJSON(w, status, jsonrpc.One(&jsonrpc.Message{ID: id, Error: err, NoID: revision.ErrorWithoutID()}))
}
