//go:build unix

package check_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/check"
)

// TestCheck_replaced: if Bossman cannot start itself because its file is gone, nothing is said about
// the work, and what to do is.
func TestCheck_replaced(t *testing.T) {
	r := check.NewRunner(&check.Options{Self: []string{filepath.Join(t.TempDir(), "bossman"), "minder"}})
	t.Cleanup(r.Close)
	v := verdict(t, begin(t, r, newRepo(t), &check.Check{Name: "tests", Command: check.Shell("true")}))
	if v.Result != check.Stopped || !strings.Contains(v.Why, "restart it") {
		t.Errorf("the verdict is %s: %s", v.Result, v.Why)
	}
}
