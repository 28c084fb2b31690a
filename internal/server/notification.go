package server

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/bossman-dev/bossman/internal/loopback"
	"github.com/bossman-dev/bossman/push"
	"github.com/bossman-dev/bossman/store/postgres"
)

// newSender sets s.push if the store is a database: what is on its way is stored there.
func (s *Server) newSender(ctx context.Context) (err error) {
	db, ok := s.store.(*postgres.Store)
	if !ok {
		return nil
	}
	address := s.publicURL()
	s.log.Info("notifications name this server by its address, and --url sets another", "url", address)
	s.push, err = push.New(ctx, push.Options{
		Store: db.Push(), Board: s.board, Keys: db, Secrets: db.SealKeys().Keys, URL: address, Local: s.o.PushLocal, Logger: s.log,
	})
	if err != nil {
		return fmt.Errorf("prepare notifications: %w", err)
	}
	return nil
}

// publicURL is the address of this server for people.
func (s *Server) publicURL() string {
	if s.o.URL != "" {
		return strings.TrimRight(s.o.URL, "/")
	}
	if u, err := url.Parse(s.o.Audience); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	if len(s.o.Hosts) > 0 {
		return "https://" + s.o.Hosts[0]
	}
	scheme, addr := "http", s.listener.Addr()
	if s.o.TLS != nil {
		scheme = "https"
	}
	if loopback.Addr(addr) {
		return scheme + "://" + addr.String()
	}
	_, port, _ := net.SplitHostPort(addr.String())
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(name, port)
}

// CheckURL checks an address for Options.URL.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("invalid address %q: want one like https://bossman.example.org", address)
	}
	return nil
}
