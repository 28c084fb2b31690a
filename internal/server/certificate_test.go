package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// writeCertificate writes a certificate with a serial number, and its key.
func writeCertificate(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(certFile, time.Time{}, time.Unix(serial, 0)); err != nil {
		t.Fatal(err)
	}
}

// A certificate is read again on request, and when its file has changed; what cannot be read does not replace it.
func TestCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
		if _, err := ReadCertificate(certFile, keyFile); err == nil {
			t.Error("ReadCertificate without files = nil")
		}
		writeCertificate(t, certFile, keyFile, 1)
		c, err := ReadCertificate(certFile, keyFile)
		if err != nil {
			t.Fatal(err)
		}
		config := c.TLS()
		want := func(serial int64) {
			t.Helper()
			got, err := config.GetCertificate(nil)
			if err != nil || got.Leaf.SerialNumber.Int64() != serial {
				t.Errorf("GetCertificate = %v, %v, want %d", got.Leaf.SerialNumber, err, serial)
			}
		}
		want(1)
		writeCertificate(t, certFile, keyFile, 2)
		want(1)
		if err := c.Reload(); err != nil {
			t.Error(err)
		}
		want(2)
		writeCertificate(t, certFile, keyFile, 3)
		time.Sleep(certificateInterval)
		want(3)
		if err := os.WriteFile(certFile, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.Reload(); err == nil {
			t.Error("Reload of nonsense = nil")
		}
		time.Sleep(certificateInterval)
		want(3)
	})
}
