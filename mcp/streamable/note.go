package streamable

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A note is a message between replicas. Session is the session's name in the
// store; the sender has checked its principal.
type note struct {
	Kind    string `json:"kind"`
	From    string `json:"from"` // name of the replica
	Session string `json:"session,omitzero"`
	Stream  string `json:"stream,omitzero"`
	Ticket  string `json:"ticket,omitzero"` // identifies one attempt to resume a stream
	Number  uint64 `json:"number,omitzero"`
	Data    []byte `json:"data,omitzero"`
	Last    bool   `json:"last,omitzero"`
}

// Kinds of notes. Others are ignored.
const (
	noteResponse = "answer"  // Data is a client's response to one of the receiver's requests
	noteCancel   = "cancel"  // Data is the id of a request that the sender does not have
	noteChanged  = "changed" // the session's state has changed
	noteEnd      = "end"     // the client has ended the session
	noteFeed     = "feed"    // the sender now has the session's event stream
	noteResume   = "resume"  // the client wants to resume Stream after event Number
	notePiece    = "piece"   // Data is the next piece of the stream; Number counts from 1
	noteMissing  = "missing" // there is no such stream
	noteAck      = "heard"   // all pieces up to Number have arrived
	noteLeft     = "left"    // the client has disconnected
)

// sendNote sends a note to a replica, or to all others. It may get lost.
func (h *Handler) sendNote(to string, n note) bool {
	if h.o.Relay == nil {
		return false
	}
	n.From = h.replicas.name
	b, err := jsonv2.Marshal(n)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
		defer cancel()
		err = h.o.Relay.Send(ctx, to, b)
	}
	if err != nil {
		h.log.Warn("relay to other replicas", "kind", n.Kind, "err", err)
	}
	return err == nil
}

// handleNote handles a note. It does not block.
func (h *Handler) handleNote(message []byte) {
	var n note
	if jsonv2.Unmarshal(message, &n) != nil || n.From == h.replicas.name || h.baseCtx.Err() != nil {
		return
	}
	switch n.Kind {
	case noteResponse:
		p, err := jsonrpc.Decode(n.Data, h.o.Limits)
		if a := h.activeByName(n.Session); a != nil && err == nil && p.Message != nil {
			h.deliverResponse(a, p.Message)
		}
	case noteCancel:
		if id, err := jsonrpc.ParseID(n.Data); err == nil {
			if a := h.activeByName(n.Session); a != nil {
				a.cancel(id)
			}
		}
	case noteChanged:
		h.o.Sessions.(*stateCache).invalidate(n.Session)
	case noteEnd:
		h.o.Sessions.(*stateCache).markEnded(n.Session)
		if a := h.activeByName(n.Session); a != nil {
			h.replicas.spawn(a.close) // streams may be blocked on their clients
		}
	case noteFeed:
		if a := h.activeByName(n.Session); a != nil {
			a.endFeed()
		}
	case noteResume:
		h.forwardStream(n)
	case notePiece, noteMissing:
		h.replicas.deliver(n)
	case noteAck, noteLeft:
		h.replicas.handleAck(n)
	}
}

// activeByName returns the active session with a name, or nil.
func (h *Handler) activeByName(session string) *activeSession {
	b, err := base64.RawURLEncoding.DecodeString(session)
	if err != nil || len(b) != len(sessionKey{}) {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.active[sessionKey(b)]
}

// routeResponse delivers a client's response to a request, which another
// replica may have sent.
func (h *Handler) routeResponse(s session, m *jsonrpc.Message) {
	to, _, _ := strings.Cut(strings.Trim(m.ID.String(), `"`), callMark)
	if !h.isOtherReplica(to) {
		h.deliverResponse(s.active, m)
		return
	}
	if s.relayQuota.take() {
		h.sendNote(to, note{Kind: noteResponse, Session: s.name, Data: jsonrpc.One(m).Append(nil)})
	}
}

func (h *Handler) deliverResponse(a *activeSession, m *jsonrpc.Message) {
	if !a.deliver(m) {
		h.server.Rejected(errors.New("response to unknown id " + m.ID.String()))
	}
}

// cancelRequest cancels a request, at whichever replica it is.
func (h *Handler) cancelRequest(s session, id jsonrpc.ID) {
	if !s.active.cancel(id) && h.o.Relay != nil && s.relayQuota.take() {
		h.sendNote("", note{Kind: noteCancel, Session: s.name, Data: []byte(id.String())})
	}
}

// Ids of requests to clients and of streams consist of the replica's name, a
// mark, and a number.
const (
	callMark = "." // belongs to a request
	feedMark = "~" // belongs to the session
)

func (h *Handler) newLocalID(mark string) string {
	return h.replicas.name + mark + strconv.FormatUint(h.lastNumber.Add(1), 36)
}

// isOtherReplica reports whether a name is that of another replica.
func (h *Handler) isOtherReplica(name string) bool {
	if h.o.Relay == nil || len(name) != replicaName || name == h.replicas.name {
		return false
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// parseStreamID splits the id of a stream into replica and mark.
func parseStreamID(id string) (replica, mark string) {
	for _, mark := range []string{callMark, feedMark} {
		if replica, _, ok := strings.Cut(id, mark); ok {
			return replica, mark
		}
	}
	return "", ""
}
