package replica

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
)

// A Keyring encrypts and authenticates data that clients carry for the server.
// The first key seals; all keys open, so that keys can be rotated while clients
// still hold older data. Replicas that serve the same clients must share the
// keys.
type Keyring struct {
	rotations atomic.Uint64

	mu   sync.RWMutex
	keys []sealKey
}

type sealKey struct {
	id   [4]byte
	aead cipher.AEAD
}

// NewKeyring returns a keyring of secrets of at least 32 random bytes each. It
// seals with the first one.
func NewKeyring(secrets ...[]byte) (*Keyring, error) {
	k := new(Keyring)
	return k, k.Rotate(secrets...)
}

// Rotate replaces the keys.
func (k *Keyring) Rotate(secrets ...[]byte) error {
	var keys []sealKey
	for _, s := range secrets {
		if len(s) < 32 {
			return errors.New("replica: a sealing key must have at least 32 bytes")
		}
		key := sha256.Sum256(append([]byte("bossman seal\x00"), s...))
		block, err := aes.NewCipher(key[:])
		if err != nil {
			return err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return err
		}
		name := sha256.Sum256(append([]byte("bossman seal id\x00"), s...))
		keys = append(keys, sealKey{[4]byte(name[:4]), aead})
	}
	if len(keys) == 0 {
		return errors.New("replica: a keyring needs a key")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = keys
	k.rotations.Add(1) // after the keys were set: a reader that sees the new count opens with these keys or later ones
	return nil
}

// Rotations returns how often the keys were replaced. Callers may cache opened
// data while the count stays the same.
func (k *Keyring) Rotations() uint64 { return k.rotations.Load() }

var errSeal = errors.New("not sealed by this server")

// Seal encrypts data into text for a client to carry. Text sealed for one
// purpose cannot be opened for another.
func (k *Keyring) Seal(purpose string, data []byte) string {
	k.mu.RLock()
	key := k.keys[0]
	k.mu.RUnlock()
	return base64.RawURLEncoding.EncodeToString(key.aead.Seal(key.id[:], nil, data, []byte(purpose)))
}

// Open decrypts text that Seal returned. It fails if the text was modified.
func (k *Keyring) Open(purpose, text string) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 4 || strings.ContainsAny(text, "\r\n") { // which base64 ignores
		return nil, errSeal
	}
	k.mu.RLock()
	keys := k.keys
	k.mu.RUnlock()
	for _, key := range keys {
		if key.id != [4]byte(b[:4]) {
			continue
		}
		sealed := b[4:]
		data, err := key.aead.Open(sealed[:0], nil, sealed, []byte(purpose))
		if err != nil {
			break // modified; two keys with the same id are not expected
		}
		return data, nil
	}
	return nil, errSeal
}
