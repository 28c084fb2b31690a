package streamable

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// A session id is the sealed form of: 16 bytes of the principal's hash, 16
// random bytes (the key), 8 bytes of time, and the packed mcp.Session.
const (
	packedHeader   = 16 + 16 + 8
	sessionPurpose = "session"
	maxSessionID   = 512
)

// A sessionKey identifies a session.
type sessionKey [16]byte

func hashOf(principal string) []byte {
	sum := sha256.Sum256([]byte(principal))
	return sum[:16]
}

// newID returns the id of a new session of a principal.
func (h *Handler) newID(principal string, s *transport.Session) (string, error) {
	b := append(make([]byte, 0, 192), hashOf(principal)...)
	b = b[:32]
	rand.Read(b[16:]) // never fails
	b = binary.BigEndian.AppendUint64(b, uint64(time.Now().Unix()))
	b, err := s.AppendBinary(b)
	if err != nil {
		return "", err
	}
	return h.server.Keyring().Seal(sessionPurpose, b), nil
}

// A sessionInfo is the content of a session id, which does not change, and the
// relay quota of the session.
type sessionInfo struct {
	id, principal string
	rotations     uint64 // of the keyring, before the id was opened
	key           sessionKey
	*transport.Session
	sessionState
	relayQuota relayQuota
}

// A sessionCache caches recently opened ids, because clients send theirs with
// every request. Each id has one slot, and a newer entry replaces an older one.
type sessionCache struct {
	seed  maphash.Seed
	slots [1024]atomic.Pointer[sessionInfo]
}

func (c *sessionCache) slot(id string) *atomic.Pointer[sessionInfo] {
	return &c.slots[maphash.String(c.seed, id)%uint64(len(c.slots))]
}

// openID opens the id of a principal's session. The caller checks whether the
// session has expired or ended.
func (h *Handler) openID(id, principal string) (*sessionInfo, error) {
	if len(id) > maxSessionID {
		return nil, mcp.ErrNotFound
	}
	keys := h.server.Keyring()
	rotations := keys.Rotations()
	slot := h.sessions.slot(id)
	if o := slot.Load(); o != nil && o.id == id && o.principal == principal && o.rotations == rotations {
		return o, nil
	}
	b, err := keys.Open(sessionPurpose, id)
	if err != nil || len(b) < packedHeader || subtle.ConstantTimeCompare(b[:16], hashOf(principal)) != 1 {
		return nil, mcp.ErrNotFound
	}
	o := &sessionInfo{id: id, principal: principal, rotations: rotations, key: sessionKey(b[16:32])}
	o.store, o.name = h.o.Sessions, base64.RawURLEncoding.EncodeToString(o.key[:])
	o.until = time.Unix(int64(binary.BigEndian.Uint64(b[32:])), 0).Add(h.o.SessionTTL)
	if o.Session, err = h.server.OpenSession(b[packedHeader:], &o.sessionState); err != nil {
		return nil, mcp.ErrNotFound
	}
	slot.Store(o)
	return o, nil
}
