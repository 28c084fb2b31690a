package server

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// certificateEvery is how often a certificate's file is looked at.
const certificateEvery = time.Minute

// A certificate is read from its files again when they have changed.
type certificate struct {
	certFile, keyFile string

	mu      sync.Mutex
	now     *tls.Certificate
	changed time.Time // of the file
	looked  time.Time
}

// TLSConfig returns the configuration of a server with a certificate from PEM files, which
// are read again when they change.
func TLSConfig(certFile, keyFile string) (*tls.Config, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile}
	if _, err := c.get(nil); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// get gives the certificate. Files that cannot be read leave the old one in place.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && time.Since(c.looked) < certificateEvery {
		return c.now, nil
	}
	c.looked = time.Now()
	info, err := os.Stat(c.certFile)
	if err == nil && c.now != nil && info.ModTime().Equal(c.changed) {
		return c.now, nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		if c.now != nil {
			return c.now, nil
		}
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	c.now, c.changed = &pair, info.ModTime()
	return c.now, nil
}
