// Package failover takes the database away under the replicas of a team's server,
// puts its standby in its place, and shows what agents and laptops are told.
//
// BOSSMAN_E2E_FAILOVERS is how often each kind of failover is done: 2 where nobody
// says, 20 in full.
package failover

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// patience bounds everything that is waited for; machines can be busy.
const patience = 60 * time.Second

// within is how soon after a promotion every replica takes writes again.
var within = harness.Bound(5 * time.Second)

var programs *harness.Programs

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
	if programs, err = harness.Build(dir, harness.Bossman); err != nil {
		return 0, err
	}
	return run(), nil
}

// times is how often to do what is done 20 times in full, at most most times.
func times(most int) int {
	if n, err := strconv.Atoi(os.Getenv("BOSSMAN_E2E_FAILOVERS")); err == nil && n > 0 {
		return min(n, most)
	}
	return 2
}

// eventually waits until ok says so.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for begun := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatalf("after %v: still not %s", patience, what)
		}
	}
}
