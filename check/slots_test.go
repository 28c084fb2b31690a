package check

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/proc"
)

// Of several that wait for a stuck holder, one removes its lock file, and nobody the next holder's.
func TestDiscard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "check.1.lock")
	write := func(since time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(holder{os.Getpid(), since, time.Minute, "/d"}.text()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exists := func(when string, want bool) {
		t.Helper()
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: the lock file exists: %v, want %v", when, err == nil, want)
		}
	}
	write(time.Now().Add(-time.Hour))
	unlock, ok, err := proc.TryLock(path + ".discard")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	discard(path)
	exists("while another one discards it", true)
	unlock()
	discard(path)
	exists("discarded", false)
	write(time.Now())
	discard(path)
	exists("the next holder's", true)
}
