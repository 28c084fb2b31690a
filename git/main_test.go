package git_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain has what decides what git runs kept in a directory of the tests.
func TestMain(m *testing.M) {
	if os.Getenv("BOSSMAN_LAND_DIR") != "" { // a process that a test kills, and that has its directory
		os.Exit(m.Run())
	}
	state, err := os.MkdirTemp("", "bossman-state-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("XDG_STATE_HOME", state)
	code := m.Run()
	_ = os.RemoveAll(state)
	os.Exit(code)
}
