package streamable

import (
	"net/http"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// serveBatch serves the messages of a batch, one after the other.
func (h *Handler) serveBatch(w http.ResponseWriter, r *http.Request, p *mcp.Principal, batch []jsonrpc.Element) {
	version, _ := versionOf(r)
	if version.Stateless() {
		h.writeError(w, http.StatusBadRequest, jsonrpc.ID{}, version, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "batches are not supported"))
		return
	}
	s, ok := h.openSession(w, r, transport.Holder(*p), jsonrpc.ID{})
	if !ok {
		return
	}
	defer h.release(s.active)
	if !transport.RulesOf(s.Revision()).Batches {
		h.writeError(w, http.StatusBadRequest, jsonrpc.ID{}, s.Revision(), jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "batches are not supported"))
		return
	}
	if h.o.LimitBatch != nil {
		if err := h.o.LimitBatch(*p, len(batch)); err != nil {
			h.writeAuthError(w, err, jsonrpc.ID{})
			return
		}
	}
	x := h.newExchange(w, r, p.Owner, s.Revision(), s.active)
	var answers []jsonrpc.Element
	seen := map[jsonrpc.ID]bool{}
	for _, e := range batch {
		if a := h.handleElement(r, s, p, x, e, seen); a != nil {
			answers = append(answers, jsonrpc.Element{Message: a})
		}
	}
	x.finish(http.StatusOK, jsonrpc.Packet{Batch: answers})
}

// handleElement handles one message of a batch.
func (h *Handler) handleElement(r *http.Request, s session, p *mcp.Principal, x *exchange, e jsonrpc.Element, seen map[jsonrpc.ID]bool) *jsonrpc.Message {
	m := e.Message
	switch {
	case e.Malformed != nil && e.Malformed.Silent:
		return nil
	case e.Malformed != nil:
		return &jsonrpc.Message{ID: e.Malformed.ID, Error: e.Malformed.Err}
	case !m.IsRequest():
		h.handleOneWay(s, m)
		return nil
	case seen[m.ID]:
		return &jsonrpc.Message{Error: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "id %s is still in flight", m.ID)}
	}
	seen[m.ID] = true
	rq := h.server.NewRequest(m, *p, headers(r.Header))
	switch {
	case h.server.Stateless(rq):
		return &jsonrpc.Message{ID: m.ID, Error: jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "a request with a protocol version in _meta cannot be part of a batch")}
	case len(m.Params) > 0 && m.Params[0] != '{':
		return &jsonrpc.Message{ID: m.ID, Error: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params must be an object")}
	}
	answer, ok := h.handleCall(r, s, rq, x)
	if !ok {
		return nil
	}
	return &answer
}
