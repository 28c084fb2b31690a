package harness

import (
	"os"
	"time"
)

// Bound is how long something may take in a test: d on a machine that does nothing else,
// which BOSSMAN_E2E_EXACT=1 says, and three times as long on one that runs other tests
// beside it.
func Bound(d time.Duration) time.Duration {
	if os.Getenv("BOSSMAN_E2E_EXACT") != "" {
		return d
	}
	return 3 * d
}
