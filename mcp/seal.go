package mcp

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"sync"
	"sync/atomic"
)

// A Keyring seals what a client carries for us, so that it can neither read nor
// change it. The first key seals; every key opens, so that keys can be changed
// while clients hold what older ones sealed. Replicas that serve the same
// clients share a Keyring's keys.
type Keyring struct {
	rotations atomic.Uint64

	mu   sync.RWMutex
	keys []sealKey
}

type sealKey struct {
	id   [4]byte
	aead cipher.AEAD
}

// NewKeyring makes a keyring of secrets, the one to seal with first. A secret
// is 32 random bytes or more.
func NewKeyring(secrets ...[]byte) (*Keyring, error) {
	k := new(Keyring)
	return k, k.Rotate(secrets...)
}

// randomKeyring seals with a key that ends with the process.
func randomKeyring() *Keyring {
	var secret [32]byte
	rand.Read(secret[:]) // never fails
	k, err := NewKeyring(secret[:])
	if err != nil {
		panic(err)
	}
	return k
}

// Rotate replaces the keys.
func (k *Keyring) Rotate(secrets ...[]byte) error {
	var keys []sealKey
	for _, s := range secrets {
		if len(s) < 32 {
			return errors.New("mcp: a sealing key has at least 32 bytes")
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
		return errors.New("mcp: a keyring needs a key")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = keys
	k.rotations.Add(1) // after the keys: who sees the number opens with these or newer ones
	return nil
}

// Rotations counts how often the keys were replaced. What was opened may be
// remembered as long as the count from before stays the same.
func (k *Keyring) Rotations() uint64 { return k.rotations.Load() }

var errSeal = errors.New("not sealed by this server")

// Seal turns data into text for a client to carry. Purpose keeps apart what is
// sealed for different ends: text sealed for one does not open for another.
func (k *Keyring) Seal(purpose string, data []byte) string {
	k.mu.RLock()
	key := k.keys[0]
	k.mu.RUnlock()
	return base64.RawURLEncoding.EncodeToString(key.aead.Seal(key.id[:], nil, data, []byte(purpose)))
}

// Open gives back what Seal was given, if the text is unchanged.
func (k *Keyring) Open(purpose, text string) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 4 {
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
			break // it is in pieces; that two keys have one id does not happen
		}
		return data, nil
	}
	return nil, errSeal
}
