package streamable

import (
	"errors"
	"net/http"
	"strings"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// post serves a POST: a message or a batch. It takes a slot among the requests
// in flight only when the body has arrived, so that clients that send slowly
// keep none from others; until then only the memory for bodies limits them.
func (h *Handler) post(w http.ResponseWriter, r *http.Request, p *mcp.Principal) {
	packet, body, held := h.readPacket(w, r, p.Owner)
	defer h.bodies.release(p.Owner, held)
	if packet.Message == nil && packet.Batch == nil || !h.acquireSlot(w, p.Owner, packet.Message) {
		return
	}
	defer h.inFlight.release(p.Owner, 1)
	if packet.Message != nil {
		if h.serveMessage(w, r, p, packet.Message) {
			body.free()
		}
		return
	}
	h.serveBatch(w, r, p, packet.Batch)
}

// acquireSlot takes a slot among the requests in flight, or refuses the request.
func (h *Handler) acquireSlot(w http.ResponseWriter, owner string, m *jsonrpc.Message) bool {
	status := h.inFlight.acquire(owner, 1)
	if status != 0 {
		h.busy(w, status, requestID(m), h.inFlight.refusal(status))
	}
	return status == 0
}

// requestID returns the id of a request, or the zero ID for any other message.
func requestID(m *jsonrpc.Message) jsonrpc.ID {
	if m == nil || !m.IsRequest() {
		return jsonrpc.ID{}
	}
	return m.ID
}

// readPacket reads the body of a POST. If it is not a packet, it writes an
// error and returns an empty packet. body is what the packet was decoded from, and
// held the memory for bodies in use.
func (h *Handler) readPacket(w http.ResponseWriter, r *http.Request, owner string) (packet jsonrpc.Packet, body *bodyBuffer, held int64) {
	switch {
	case !h.o.Sessionless && !isJSON(header(r, "Content-Type")):
		h.refuseUnread(w, r, http.StatusUnsupportedMediaType, "the content must be application/json")
		return packet, nil, 0
	case !isIdentity(r.Header["Content-Encoding"]):
		h.refuse(w, http.StatusUnsupportedMediaType, "the content must not be compressed")
		return packet, nil, 0
	case !acceptsBoth(r.Header["Accept"]):
		h.refuseUnread(w, r, http.StatusNotAcceptable, "the client must accept application/json and text/event-stream")
		return packet, nil, 0
	}
	body, held, err := h.readBody(w, r, owner)
	if err != nil {
		h.writeBodyError(w, err)
		return packet, nil, 0
	}
	packet, err = jsonrpc.Decode(body.text, h.o.Limits)
	if bad, ok := errors.AsType[*jsonrpc.Malformed](err); ok {
		h.server.Rejected(bad)
		version, _ := versionOf(r)
		h.writeError(w, http.StatusBadRequest, bad.ID, version, bad.Err)
		return jsonrpc.Packet{}, nil, held
	}
	return packet, body, held
}

// serveMessage dispatches a message by its era. It reports whether nothing refers
// to its memory any more.
func (h *Handler) serveMessage(w http.ResponseWriter, r *http.Request, p *mcp.Principal, m *jsonrpc.Message) (free bool) {
	if !m.IsRequest() {
		h.serveOneWay(w, r, p, m)
		return false
	}
	version, known := versionOf(r)
	rq := h.server.NewRequest(m, *p, headers(r.Header))
	switch {
	case !known && !h.server.Stateless(rq) && header(r, "Mcp-Protocol-Version") != "":
		h.unknownVersion(w, r, m.ID)
	case rq.Method == "subscriptions/listen":
		h.listen(w, r, rq)
	case version.Stateless(), h.server.Stateless(rq), rq.Method == "server/discover":
		h.stateless(w, r, rq)
	case len(m.Params) > 0 && m.Params[0] != '{':
		h.writeError(w, http.StatusBadRequest, m.ID, version, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params must be an object"))
	case rq.Method == "initialize" && r.Header["Mcp-Session-Id"] == nil:
		h.initialize(w, r, rq)
	case r.Header["Mcp-Session-Id"] == nil && h.settleAlone(rq, version):
		h.serveAlone(w, r, rq)
	default:
		h.inSession(w, r, rq)
	}
	return h.server.ReleaseRequest(rq)
}

func (h *Handler) unknownVersion(w http.ResponseWriter, r *http.Request, id jsonrpc.ID) {
	h.writeError(w, http.StatusBadRequest, id, mcp.LatestRevision, transport.UnsupportedVersion(header(r, "Mcp-Protocol-Version")))
}

// serveOneWay serves a message without a response: a notification, or the
// client's response to a request of the server.
func (h *Handler) serveOneWay(w http.ResponseWriter, r *http.Request, p *mcp.Principal, m *jsonrpc.Message) {
	version, known := versionOf(r)
	switch {
	case !known && header(r, "Mcp-Protocol-Version") != "":
		h.unknownVersion(w, r, jsonrpc.ID{})
		return
	case m.IsNotification() && !strings.HasPrefix(m.Method, "notifications/"):
		h.refuse(w, http.StatusBadRequest, "a request must have an id")
		return
	case version.Stateless() && m.IsResponse():
		h.refuse(w, http.StatusBadRequest, "this revision has no requests to respond to")
		return
	case h.o.Sessionless && m.IsNotification() && r.Header["Mcp-Session-Id"] == nil:
		// there is no session that it could concern
	case !version.Stateless():
		s, ok := h.openSession(w, r, transport.Holder(*p), jsonrpc.ID{})
		if !ok {
			return
		}
		defer h.release(s.active)
		h.handleOneWay(s, m)
	}
	w.WriteHeader(http.StatusAccepted)
}
