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

// A dpopKey proves with each request that the client is the one that the token
// was issued to (RFC 9449).
type dpopKey struct {
	key *ecdsa.PrivateKey

	mu     sync.Mutex
	nonces map[string]string // by origin: nonce for the next proof
}

func newDPoPKey() (*dpopKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &dpopKey{key: key, nonces: map[string]string{}}, nil
}

func parseDPoPKey(der []byte) (*dpopKey, error) {
	key, err := x509.ParseECPrivateKey(der)
	if err != nil || key.Curve != elliptic.P256() {
		return nil, errors.New("oauth: invalid key of a DPoP token")
	}
	return &dpopKey{key: key, nonces: map[string]string{}}, nil
}

func (k *dpopKey) marshal() []byte {
	der, _ := x509.MarshalECPrivateKey(k.key) // cannot fail for P-256
	return der
}

// jwk returns the public key as a JWK.
func (k *dpopKey) jwk() map[string]any {
	point, _ := k.key.PublicKey.Bytes() // 4, x, y
	return map[string]any{"kty": "EC", "crv": "P-256", "x": rawURL.EncodeToString(point[1:33]), "y": rawURL.EncodeToString(point[33:])}
}

// thumbprint returns the key's thumbprint (RFC 7638).
func (k *dpopKey) thumbprint() string {
	j := k.jwk()
	sum := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + j["x"].(string) + `","y":"` + j["y"].(string) + `"}`))
	return rawURL.EncodeToString(sum[:])
}

// proof returns a DPoP proof for one request, and for the access token if it
// has one. It also returns the nonce in it, if any.
func (k *dpopKey) proof(method, address, access string) (proof, nonce string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", "", err
	}
	u.RawQuery, u.Fragment = "", ""
	claims := map[string]any{"jti": rand.Text(), "htm": method, "htu": u.String(), "iat": time.Now().Unix()}
	if access != "" {
		sum := sha256.Sum256([]byte(access))
		claims["ath"] = rawURL.EncodeToString(sum[:])
	}
	k.mu.Lock()
	if nonce = k.nonces[u.Scheme+"://"+u.Host]; nonce != "" {
		claims["nonce"] = nonce
	}
	k.mu.Unlock()
	proof, err = sign(k.key, map[string]any{"typ": "dpop+jwt", "jwk": k.jwk()}, claims)
	return proof, nonce, err
}

// saveNonce stores the nonce for the next proof to a URL's origin. It reports
// whether it differs from the one that was used, so that the request may succeed
// with another proof.
func (k *dpopKey) saveNonce(address string, h http.Header, used string) bool {
	nonce := h.Get("Dpop-Nonce")
	u, err := url.Parse(address)
	if err != nil || nonce == "" || len(nonce) > 1024 {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nonces[u.Scheme+"://"+u.Host] = nonce
	return nonce != used
}
