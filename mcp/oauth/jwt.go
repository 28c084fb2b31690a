package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

var rawURL = base64.RawURLEncoding

// ParseKey parses a PEM-encoded private key: PKCS #8, SEC 1 or PKCS #1.
func ParseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("oauth: not a PEM-encoded key")
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if s, ok := key.(crypto.Signer); ok {
			return s, nil
		}
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return nil, errors.New("oauth: not a private key that can sign")
}

// sign returns a signed JWT. It sets alg in the header.
func sign(key crypto.Signer, header, claims map[string]any) (string, error) {
	alg, err := algorithm(key)
	if err != nil {
		return "", err
	}
	header["alg"] = alg
	var text []byte
	for i, part := range []map[string]any{header, claims} {
		b, err := jsonv2.Marshal(part, jsonv2.Deterministic(true))
		if err != nil {
			return "", err
		}
		if i > 0 {
			text = append(text, '.')
		}
		text = rawURL.AppendEncode(text, b)
	}
	signature, err := signature(key, text)
	if err != nil {
		return "", err
	}
	return string(rawURL.AppendEncode(append(text, '.'), signature)), nil
}

func algorithm(key crypto.Signer) (string, error) {
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		if k.Curve == elliptic.P256() {
			return "ES256", nil
		}
	case *rsa.PrivateKey:
		return "RS256", nil
	case ed25519.PrivateKey:
		return "EdDSA", nil
	}
	return "", fmt.Errorf("oauth: cannot sign with a %T", key)
}

func signature(key crypto.Signer, text []byte) ([]byte, error) {
	sum := sha256.Sum256(text)
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, k, sum[:])
		if err != nil {
			return nil, err
		}
		b := make([]byte, 64)
		r.FillBytes(b[:32])
		s.FillBytes(b[32:])
		return b, nil
	case ed25519.PrivateKey:
		return ed25519.Sign(k, text), nil
	}
	return key.Sign(rand.Reader, sum[:], crypto.SHA256)
}

// clientAssertion returns a JWT that authenticates the client (RFC 7523).
func (o *Options) clientAssertion(client, audience string) (string, error) {
	header := map[string]any{"typ": "JWT"}
	if o.KeyID != "" {
		header["kid"] = o.KeyID
	}
	now := time.Now()
	return sign(o.Key, header, map[string]any{
		"iss": client, "sub": client, "aud": audience, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
	})
}
