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
)

// A session id is the seal of: 16 bytes of the principal's hash, 16 random bytes
// (the key), 8 bytes of time, and what the handshake has settled.
const (
	sealedHeader   = 16 + 16 + 8
	sessionPurpose = "session"
	maxSessionID   = 512
)

// A sessionKey tells sessions apart.
type sessionKey [16]byte

func hashOf(who string) []byte {
	sum := sha256.Sum256([]byte(who))
	return sum[:16]
}

// newID makes the id of a session that begins for a principal.
func (h *Handler) newID(who string, s *mcp.Session) (string, error) {
	b := append(make([]byte, 0, 192), hashOf(who)...)
	b = b[:32]
	rand.Read(b[16:]) // never fails
	b = binary.BigEndian.AppendUint64(b, uint64(time.Now().Unix()))
	b, err := s.AppendBinary(b)
	if err != nil {
		return "", err
	}
	return h.server.Keyring().Seal(sessionPurpose, b), nil
}

// An opened is what a session id says, which does not change, and how much of the
// relay its session has used.
type opened struct {
	id, principal string
	rotations     uint64 // of the keys, before it was opened
	key           sessionKey
	*mcp.Session
	sessionState
	relayed relayed
}

// openedIDs remembers some ids that were opened lately, since clients send theirs
// with every request. Each id has one place; there is nothing to be had from it but
// time, so who comes last may have it.
type openedIDs struct {
	seed   maphash.Seed
	places [1024]atomic.Pointer[opened]
}

func (c *openedIDs) place(id string) *atomic.Pointer[opened] {
	return &c.places[maphash.String(c.seed, id)%uint64(len(c.places))]
}

// openID opens the id of a session of a principal's. Whether the session has run out or was
// ended is for the caller to see.
func (h *Handler) openID(id, who string) (*opened, error) {
	if len(id) > maxSessionID {
		return nil, mcp.ErrNotFound
	}
	keys := h.server.Keyring()
	rotations := keys.Rotations()
	place := h.opened.place(id)
	if o := place.Load(); o != nil && o.id == id && o.principal == who && o.rotations == rotations {
		return o, nil
	}
	b, err := keys.Open(sessionPurpose, id)
	if err != nil || len(b) < sealedHeader || subtle.ConstantTimeCompare(b[:16], hashOf(who)) != 1 {
		return nil, mcp.ErrNotFound
	}
	o := &opened{id: id, principal: who, rotations: rotations, key: sessionKey(b[16:32])}
	o.store, o.name = h.o.Store, base64.RawURLEncoding.EncodeToString(o.key[:])
	o.until = time.Unix(int64(binary.BigEndian.Uint64(b[32:])), 0).Add(h.o.SessionLife)
	if o.Session, err = mcp.OpenSession(b[sealedHeader:], &o.sessionState); err != nil {
		return nil, mcp.ErrNotFound
	}
	place.Store(o)
	return o, nil
}
