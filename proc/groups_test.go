//go:build linux

package proc

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startGroups is a program with three groups. It prints the numbers of all processes in them, then
// that of the minder, and waits to be killed.
func startGroups(dir string) {
	g := NewGroups([]string{os.Args[0], "minder"}, dir)
	for range 3 {
		cmd := exec.Command("sh", "-c", `trap "" TERM HUP; sleep 311 & echo $!; setsid sleep 312 & echo $!; (sleep 313 & echo $!); echo $$; sleep 314`)
		mark, begun := g.Mark()
		cmd.Env = append(os.Environ(), mark)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			err = g.Add(cmd.Process.Pid)
		}
		begun()
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		lines := bufio.NewScanner(out)
		for range 4 {
			lines.Scan()
			fmt.Println(lines.Text())
		}
	}
	fmt.Println(g.minder.Process.Pid)
	time.Sleep(time.Hour) // not select: without other goroutines that is a deadlock
}

// runGroupsTest starts the program, and returns it with the numbers that it prints.
func runGroupsTest(t *testing.T, dir string) (cmd *exec.Cmd, pids []int, minder int) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROC_TEST_GROUPS="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(lines.Text())
		}
		pids = append(pids, pid)
		if len(pids) == 13 {
			break
		}
	}
	if len(pids) != 13 {
		t.Fatalf("it printed %v", pids)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return cmd, pids[:12], pids[12]
}

func anyAlive(pids []int) bool {
	for _, pid := range pids {
		if alive(pid) {
			return true
		}
	}
	return false
}

func endsWithin(pids []int, limit time.Duration) bool {
	for deadline := time.Now().Add(limit); anyAlive(pids); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// Everything in the groups ends with the process that has them, also what ignores signals or leaves
// its group.
func TestGroups_killed(t *testing.T) {
	dir := t.TempDir()
	cmd, pids, minder := runGroupsTest(t, dir)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !endsWithin(pids, 5*time.Second) {
		t.Error("processes outlived the one that had them")
	}
	if !endsWithin([]int{minder}, 5*time.Second) {
		t.Error("the minder is still there")
	}
}

// If the minder is killed, too, the next process ends what is left, and nothing that belongs to others.
func TestEndLeft(t *testing.T) {
	dir := t.TempDir()
	cmd, pids, minder := runGroupsTest(t, dir)
	other := exec.Command("sleep", "300")
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	if found := EndLeft(dir); found != 0 || !anyAlive(pids) {
		t.Fatalf("EndLeft while the process runs = %d", found)
	}
	_ = syscall.Kill(minder, syscall.SIGKILL)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !anyAlive(pids) {
		t.Fatal("everything has ended already")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 {
		t.Fatalf("ledgers: %v", files)
	}
	text, err := os.ReadFile(files[0])
	if info, _ := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("ledger: %v, %v", info.Mode(), err)
	}
	recycled := string(text) + fmt.Sprintf("+%d %s\n", other.Process.Pid, "1."+strings.SplitN(startTimeOf(os.Getpid()), ".", 2)[1])
	if err := os.WriteFile(files[0], []byte(recycled), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := EndLeft(dir); found != 3 {
		t.Errorf("EndLeft = %d, want 3", found)
	}
	if !endsWithin(pids, 5*time.Second) {
		t.Error("processes are left")
	}
	if !alive(other.Process.Pid) {
		t.Error("a process of others was ended")
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 0 {
		t.Errorf("ledgers are left: %v", files)
	}
}

// The minder runs as long as there are groups.
func TestGroups_Prune(t *testing.T) {
	dir := t.TempDir()
	g := NewGroups([]string{os.Args[0], "minder"}, dir)
	cmd := exec.Command("sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	minder := g.minder.Process.Pid
	if !g.Prune() {
		t.Error("Prune = false while a group runs")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if g.Prune() {
		t.Error("Prune = true, and no group runs")
	}
	if !endsWithin([]int{minder}, 5*time.Second) {
		t.Error("the minder is still there")
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 0 {
		t.Errorf("ledgers are left: %v", files)
	}
}

// Two sets in one process do not end each other, and End ends what has left its group.
func TestGroups_End(t *testing.T) {
	dir := t.TempDir()
	start := func() (*Groups, int, []int) {
		g := NewGroups([]string{os.Args[0], "minder"}, dir)
		cmd := exec.Command("sh", "-c", `trap "" TERM; setsid sleep 321 & echo $!; echo $$; exec sleep 322`)
		mark, begun := g.Mark()
		cmd.Env = append(os.Environ(), mark)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := g.Add(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		begun()
		lines := bufio.NewScanner(out)
		var pids []int
		for range 2 {
			lines.Scan()
			pid, _ := strconv.Atoi(lines.Text())
			pids = append(pids, pid)
		}
		go func() { _ = cmd.Wait() }()
		return g, g.minder.Process.Pid, pids
	}
	one, minder, first := start()
	two, _, second := start()
	defer two.End()
	one.End()
	if anyAlive(first) || !endsWithin([]int{minder}, 5*time.Second) {
		t.Error("processes are left")
	}
	if !alive(second[0]) || !alive(second[1]) {
		t.Error("the processes of another set have ended")
	}
	two.End()
	if anyAlive(second) {
		t.Error("processes are left")
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 0 {
		t.Errorf("ledgers are left: %v", files)
	}
}

// A process that is started while the last one ends is not killed by the minder that ends.
func TestGroups_again(t *testing.T) {
	g := NewGroups([]string{os.Args[0], "minder"}, t.TempDir())
	defer g.End()
	var before *exec.Cmd
	for range 20 {
		mark, begun := g.Mark()
		cmd := exec.Command("sleep", "300")
		cmd.Env = append(os.Environ(), mark)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if before != nil {
			_ = before.Process.Kill()
			_ = before.Wait()
			if !g.Prune() {
				t.Error("Prune = false while a process is started")
			}
		}
		if err := g.Add(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		begun()
		time.Sleep(30 * time.Millisecond)
		if !alive(cmd.Process.Pid) {
			t.Fatal("the process was killed")
		}
		before = cmd
	}
	_ = before.Process.Kill()
	_ = before.Wait()
}
