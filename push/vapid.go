package push

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
)

// tokenLife is how long a token for a push service is valid; they take at most 24 h.
const tokenLife = 12 * time.Hour

// A vapid tells push services who sends, as RFC 8292 has it. A browser's subscription names
// its public key, so that nobody else can send to it.
type vapid struct {
	key     *ecdsa.PrivateKey
	public  string // in the form that browsers and push services want
	subject string // whom a push service may ask
}

// loadVAPID reads the key that all replicas share. The first replica makes it.
func loadVAPID(ctx context.Context, s Store, subject string) (*vapid, error) {
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	raw, err := made.Bytes()
	if err != nil {
		return nil, err
	}
	if raw, err = s.VAPID(ctx, raw); err != nil {
		return nil, err
	}
	return newVAPID(raw, subject)
}

func newVAPID(raw []byte, subject string) (*vapid, error) {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		return nil, err
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, err
	}
	return &vapid{key: key, public: base64.RawURLEncoding.EncodeToString(public), subject: subject}, nil
}

// authorization returns the header for a request to a push service.
func (v *vapid) authorization(to *url.URL, now time.Time) (string, error) {
	claims, err := json.Marshal(struct {
		Audience string `json:"aud"`
		Expires  int64  `json:"exp"`
		Subject  string `json:"sub,omitzero"`
	}{to.Scheme + "://" + to.Host, now.Add(tokenLife).Unix(), v.subject})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + encode(claims)
	hash := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, v.key, hash[:])
	if err != nil {
		return "", err
	}
	const size = 32
	sig := make([]byte, 2*size)
	r.FillBytes(sig[:size])
	s.FillBytes(sig[size:])
	return "vapid t=" + text + "." + encode(sig) + ", k=" + v.public, nil
}
