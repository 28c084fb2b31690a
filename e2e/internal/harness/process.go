package harness

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An Output is what a finished program left.
type Output struct {
	Stdout, Stderr string
	Code           int
}

// Command prepares a program that leads a process group of its own. When ctx
// ends, the whole group is killed, the server it started included. Its HOME is
// a scratch folder, and of our environment it sees only PATH, with the pinned
// Node in front.
func Command(ctx context.Context, home string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = home
	node := Dir("clients", "node_modules", ".bin")
	cmd.Env = []string{
		"HOME=" + home,
		"PATH=" + node + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"TMPDIR=" + os.TempDir(),
		"LANG=C.UTF-8",
		"NO_COLOR=1",
		"CI=1",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Home makes a scratch home folder.
func Home(t testing.TB) string {
	t.Helper()
	// Not below the test's own temporary folder: a client that is killed may
	// still be writing when the test ends, and that should not fail it.
	dir, err := os.MkdirTemp("", "bossman-e2e-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Run runs cmd to its end and fails the test if it does not come by itself
// before the command's context ends. Any exit code is fine.
func Run(t testing.TB, cmd *exec.Cmd) Output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Start()
	if err == nil {
		err = cmd.Wait()
		// Whatever it left running goes with it.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	out := Output{Stdout: stdout.String(), Stderr: stderr.String()}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s: stdout ends\n%s\nstderr ends\n%s", filepath.Base(cmd.Path), Tail(out.Stdout, 20), Tail(out.Stderr, 20))
		}
	})
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
	case ok && exit.ExitCode() >= 0:
		out.Code = exit.ExitCode()
	default:
		t.Fatalf("%s after %.0f s: %v", strings.Join(cmd.Args, " "), time.Since(start).Seconds(), err)
	}
	return out
}

// Tail is the last n lines of s, long ones cut short.
func Tail(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, l := range lines {
		lines[i] = l[:min(len(l), 800)]
	}
	return strings.Join(lines, "\n")
}
