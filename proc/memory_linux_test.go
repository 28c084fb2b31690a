package proc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/proc"
)

// TestLimitMemory: the limit holds in the child, and the shell that sets it is the system's, whatever the PATH says.
func TestLimitMemory(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	if err := os.WriteFile(filepath.Join(dir, "sh"), []byte("#!/bin/sh\ntouch '"+ran+"'\nexec /bin/sh \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd := exec.Command("/bin/sh", "-c", "ulimit -d")
	proc.LimitMemory(cmd, 512<<20)
	out, err := cmd.Output()
	if err != nil || strings.TrimSpace(string(out)) != "524288" {
		t.Errorf("the limit is %q, %v", out, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the sh of the PATH was run")
	}
}
