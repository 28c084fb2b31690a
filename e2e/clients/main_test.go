// Package clients runs the Inspector and both TypeScript SDKs against our
// servers over a pipe and over HTTP, and mcp-remote between the two.
package clients

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

const (
	legacy = "2025-11-25" // the newest revision with a handshake
	modern = "2026-07-28"
)

var (
	programs *harness.Programs
	packages harness.Packages
)

func TestMain(m *testing.M) {
	code, err := prepared(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func prepared(run func() int) (int, error) {
	dir, err := os.MkdirTemp("", "bossman-e2e-bin-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if programs, err = harness.Build(dir, harness.AddServer, harness.FeaturesServer, harness.Bossman); err != nil {
		return 0, err
	}
	if packages, err = harness.Install(context.Background(), harness.Dir("clients")); err != nil {
		return 0, err
	}
	return run(), nil
}

// A server is how a client reaches one: the command line to start it with, or
// the address of one that runs, and the record of this test's conversation.
type server func(testing.TB) ([]string, *harness.Record)

// pipe is a server that each client starts for itself.
func pipe(pkg string) server {
	return func(t testing.TB) ([]string, *harness.Record) { return programs.Server(t, pkg) }
}

// web is a server that runs already.
func web(s *harness.Service) server {
	return func(t testing.TB) ([]string, *harness.Record) {
		url, rec := s.Front(t, 0)
		return []string{url}, rec
	}
}

// bridged is a server that runs already, for clients that know only pipes.
func bridged(s *harness.Service) server {
	return func(t testing.TB) ([]string, *harness.Record) {
		url, rec := s.Front(t, 0)
		return bridge(url), rec
	}
}

func bridge(url string) []string {
	return []string{packages.Bin("mcp-remote"), url, "--allow-http", "--transport", "http-only"}
}

// ended shows that the server which handled e left by itself when its stdin
// was closed, without being told by a signal.
func ended(t *testing.T, rec *harness.Record, e *harness.Exchange) {
	t.Helper()
	if end := rec.Ending(t, e.PID); !end.Exited || end.Code != 0 || len(end.Signals) > 0 {
		t.Errorf("the server ended as %+v, want exit 0 at the end of stdin", end)
	}
}
