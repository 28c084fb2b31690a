package server

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// certificateInterval is how often a certificate's file is checked for changes.
const certificateInterval = time.Minute

// A Certificate is a TLS certificate that is read again when its files change.
type Certificate struct {
	certFile, keyFile string

	mu      sync.Mutex
	now     *tls.Certificate
	changed time.Time // modification time of the file
	checked time.Time
}

// ReadCertificate reads a certificate and its private key from PEM files.
func ReadCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	return c, c.Reload()
}

// TLS returns the configuration of a server with the certificate.
func (c *Certificate) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"h2", "http/1.1"}}
}

// Reload reads the files now. If they cannot be read it keeps the old certificate.
func (c *Certificate) Reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read()
}

// get returns the certificate, and reads it again first if its file has changed.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) >= certificateInterval {
		c.checked = time.Now()
		if info, err := os.Stat(c.certFile); err != nil || !info.ModTime().Equal(c.changed) {
			_ = c.read() // the old one goes on
		}
	}
	return c.now, nil
}

func (c *Certificate) read() error {
	info, err := os.Stat(c.certFile)
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	c.now, c.changed, c.checked = &pair, info.ModTime(), time.Now()
	return nil
}
