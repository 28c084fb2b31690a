package oauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// A dpopKey proves with each request that we are the one the token was given to
// (RFC 9449).
type dpopKey struct {
	key *ecdsa.PrivateKey

	mu     sync.Mutex
	nonces map[string]string // by origin: what the proof must hold
}

func newDPoPKey() (*dpopKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &dpopKey{key: key, nonces: map[string]string{}}, nil
}

func readKey(der []byte) (*dpopKey, error) {
	key, err := x509.ParseECPrivateKey(der)
	if err != nil || key.Curve != elliptic.P256() {
		return nil, errors.New("oauth: the key of a token cannot be read")
	}
	return &dpopKey{key: key, nonces: map[string]string{}}, nil
}

func (k *dpopKey) encoded() []byte {
	der, _ := x509.MarshalECPrivateKey(k.key) // which P-256 always can be
	return der
}

// jwk is the public key.
func (k *dpopKey) jwk() map[string]any {
	point, _ := k.key.PublicKey.Bytes() // 4, x, y
	return map[string]any{"kty": "EC", "crv": "P-256", "x": rawURL.EncodeToString(point[1:33]), "y": rawURL.EncodeToString(point[33:])}
}

// thumbprint names the key (RFC 7638).
func (k *dpopKey) thumbprint() string {
	j := k.jwk()
	sum := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + j["x"].(string) + `","y":"` + j["y"].(string) + `"}`))
	return rawURL.EncodeToString(sum[:])
}

// proof is for one request, and for one token if it carries one.
func (k *dpopKey) proof(method, address, access string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	u.RawQuery, u.Fragment = "", ""
	claims := map[string]any{"jti": rand.Text(), "htm": method, "htu": u.String(), "iat": time.Now().Unix()}
	if access != "" {
		sum := sha256.Sum256([]byte(access))
		claims["ath"] = rawURL.EncodeToString(sum[:])
	}
	k.mu.Lock()
	if n := k.nonces[u.Scheme+"://"+u.Host]; n != "" {
		claims["nonce"] = n
	}
	k.mu.Unlock()
	return sign(k.key, map[string]any{"typ": "dpop+jwt", "jwk": k.jwk()}, claims)
}

// heard takes note of what the next proof for an address must hold. It reports
// whether that is something new.
func (k *dpopKey) heard(address string, h http.Header) bool {
	nonce := h.Get("Dpop-Nonce")
	u, err := url.Parse(address)
	if err != nil || nonce == "" || len(nonce) > 1024 {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	origin := u.Scheme + "://" + u.Host
	changed := k.nonces[origin] != nonce
	k.nonces[origin] = nonce
	return changed
}
