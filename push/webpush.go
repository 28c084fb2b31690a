package push

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"strconv"
	"time"

	"github.com/bossman-dev/bossman/auth"
)

const (
	saltSize = 16
	// recordSize is the size of the one record of a message; push services need not take
	// more. A message is a record without the header, the tag and the end mark.
	recordSize = 4096
	maxMessage = recordSize - 16 - 4 - 1 - 65 - 16 - 1
)

// checkSubscription checks the keys of a browser.
func checkSubscription(t *Target) error {
	if _, err := ecdh.P256().NewPublicKey(t.PublicKey); err != nil || len(t.AuthSecret) != 16 {
		return invalid("the keys of the browser are not valid")
	}
	return nil
}

// encrypt encrypts a message for a browser, as RFC 8291 has it: with a key that only this
// message has, and the browser's public key.
func encrypt(message, browser []byte, authSecret auth.Secret, own *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	if len(message) > maxMessage {
		return nil, invalid("a message of %d bytes is too large: want at most %d", len(message), maxMessage)
	}
	public, err := ecdh.P256().NewPublicKey(browser)
	if err != nil {
		return nil, err
	}
	shared, err := own.ECDH(public)
	if err != nil {
		return nil, err
	}
	ownPublic := own.PublicKey().Bytes()
	info := "WebPush: info\x00" + string(browser) + string(ownPublic)
	seed, err := hkdf.Key(sha256.New, shared, []byte(authSecret.Reveal()), info, 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, seed, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, seed, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	out := bytes.Clone(salt)
	out = binary.BigEndian.AppendUint32(out, recordSize)
	out = append(out, byte(len(ownPublic)))
	out = append(out, ownPublic...)
	return gcm.Seal(out, nonce, append(bytes.Clone(message), 2), nil), nil // 2 ends the last record
}

// browserRequest returns the request that has a push service deliver a message. It is kept for
// at most life.
func browserRequest(t *Target, v *vapid, message []byte, life time.Duration, now time.Time) (*http.Request, error) {
	own, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails
	body, err := encrypt(message, t.PublicKey, t.AuthSecret, own, salt)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodPost, t.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	authorization, err := v.authorization(r.URL, now)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", authorization)
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Content-Encoding", "aes128gcm")
	r.Header.Set("TTL", strconv.Itoa(int(life.Seconds())))
	r.Header.Set("Urgency", "high")
	return r, nil
}
