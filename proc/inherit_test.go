//go:build linux

package proc

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestStart_inheritsNothing: a file that this process inherited, or that C code opened,
// does not reach the child.
func TestStart_inheritsNothing(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd())) // which children inherit
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", "cd /proc/self/fd && echo *")
	cmd.Stdout = &out
	tree, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(out.String()) {
		if n, err := strconv.Atoi(name); err != nil || n == fd {
			t.Errorf("the child has the descriptors %s, and %d is ours", out.String(), fd)
		}
	}
}
