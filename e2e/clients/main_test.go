// Package clients runs the Inspector and both TypeScript SDKs against our
// servers over a pipe.
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
	if programs, err = harness.Build(dir, harness.AddServer, harness.FeaturesServer); err != nil {
		return 0, err
	}
	if packages, err = harness.Install(context.Background(), harness.Dir("clients")); err != nil {
		return 0, err
	}
	return run(), nil
}

// ended shows that the server which handled e left by itself when its stdin
// was closed, without being told by a signal.
func ended(t *testing.T, rec *harness.Record, e *harness.Exchange) {
	t.Helper()
	if end := rec.Ending(t, e.PID); !end.Exited || end.Code != 0 || len(end.Signals) > 0 {
		t.Errorf("the server ended as %+v, want exit 0 at the end of stdin", end)
	}
}
