//go:build linux

package proc

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// spawn starts a shell script and returns the process ids that it prints.
func spawn(t *testing.T, script string, lines int) (*Tree, []int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdout = w
	tree, err := Start(cmd)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.End(0) })
	var pids []int
	in := bufio.NewScanner(r)
	for len(pids) < lines && in.Scan() {
		pid, err := strconv.Atoi(strings.TrimSpace(in.Text()))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != lines {
		t.Fatalf("the script printed %d process ids, want %d", len(pids), lines)
	}
	return tree, pids
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func wantDead(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is still alive", pid)
		}
	}
}

func TestEnd_group(t *testing.T) {
	tree, pids := spawn(t, `sleep 300 & echo $!; (sleep 301 & echo $!); echo $$; wait`, 3)
	if left := tree.End(time.Second); left != 0 {
		t.Errorf("End = %d, want 0", left)
	}
	wantDead(t, pids)
}

// TestEnd_strays: processes that left the group and lost their parent are found by the
// marker.
func TestEnd_strays(t *testing.T) {
	tree, pids := spawn(t, `setsid sh -c 'echo $$; exec sleep 300' & (setsid sh -c 'sleep 301 & echo $!; echo $$; wait' &); sleep 302`, 3)
	if left := tree.End(0); left != 0 {
		t.Errorf("End = %d, want 0", left)
	}
	wantDead(t, pids)
}

// TestEnd_afterExit: the child has exited and left a process behind.
func TestEnd_afterExit(t *testing.T) {
	tree, pids := spawn(t, `setsid sh -c 'echo $$; exec sleep 300' >&1 & exit 3`, 1)
	var exit *exec.ExitError
	if err := tree.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("Wait = %v, want exit status 3", err)
	}
	if !alive(pids[0]) {
		t.Fatal("the stray ended by itself: the test shows nothing")
	}
	tree.End(0)
	wantDead(t, pids)
}

// TestEnd_deaf: a process that ignores SIGTERM is killed after the grace period, one
// that heeds it may clean up.
func TestEnd_deaf(t *testing.T) {
	tree, pids := spawn(t, `trap '' TERM; echo $$; while :; do sleep 1; done`, 1)
	begun := time.Now()
	tree.End(200 * time.Millisecond)
	if took := time.Since(begun); took < 200*time.Millisecond {
		t.Errorf("killed after %v, before the grace period was over", took)
	}
	wantDead(t, pids)

	file := t.TempDir() + "/cleaned"
	tree, _ = spawn(t, `trap 'echo yes > `+file+`; exit 0' TERM; echo $$; while :; do sleep 0.01; done`, 1)
	tree.End(10 * time.Second)
	if text, err := os.ReadFile(file); string(text) != "yes\n" {
		t.Errorf("the trap wrote %q, %v", text, err)
	}
}

// TestStart_nested: a tree inside a tree has its own marker, and ending the inner one
// spares the outer one.
func TestStart_nested(t *testing.T) {
	t.Setenv(Marker, "outer")
	tree, _ := spawn(t, `env | grep -c '^BOSSMAN_RUN='; echo 1; sleep 300`, 2)
	if got := survivors(-1, Marker+"=outer"); len(got) > 0 {
		t.Errorf("processes %v carry the outer marker", got)
	}
	if got := survivors(-1, tree.mark); len(got) == 0 {
		t.Error("no process carries the marker of the tree")
	}
}

// TestMain is also the child of TestStart_parentKilled and TestMind_killed, and a minder.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "minder" {
		if RunMinder(os.Args[2:]) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if script := os.Getenv("PROC_TEST_MINDED"); script != "" {
		if as := os.Getenv("PROC_TEST_REPLACE"); as != "" {
			if os.Remove(os.Args[0]) != nil || as != "nothing" && os.WriteFile(os.Args[0], []byte(as), 0o755) != nil {
				os.Exit(1)
			}
		}
		cmd := exec.Command("sh", "-c", script)
		cmd.Stdout = os.Stdout
		m, err := Mind(cmd, []string{os.Args[0], "minder"}, "test", 5*time.Second)
		if err != nil {
			os.Exit(1)
		}
		m.Wait()
		os.Exit(0)
	}
	if dir := os.Getenv("PROC_TEST_GROUPS"); dir != "" {
		startGroups(dir)
	}
	if os.Getenv("PROC_TEST_PARENT") != "" {
		cmd := exec.Command("sh", "-c", "echo $$; exec sleep 300")
		cmd.Stdout = os.Stdout
		tree, err := Start(cmd)
		if err != nil {
			os.Exit(1)
		}
		_ = tree.Wait()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestStart_parentKilled: the child does not outlive this process, however it ends.
func TestStart_parentKilled(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROC_TEST_PARENT=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for deadline := time.Now().Add(5 * time.Second); alive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the child outlived its parent by 5 s")
		}
	}
}
