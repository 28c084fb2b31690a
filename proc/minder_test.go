//go:build linux

package proc

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// family starts a process of its own, one that has left the group, one that has left the group
// and its parent, and one that has also cleared its environment, and prints
// their process ids, that of the last with a 0 before it.
const family = `sleep 301 & echo $!
setsid sh -c 'echo $$; exec sleep 302' &
(setsid sh -c 'echo $$; exec sleep 303' &)
(env -i /usr/bin/setsid /bin/sh -c 'echo 0$$; exec sleep 304' &)
`

// mind starts a script under a minder and returns the process ids that it prints. The script's
// standard input ends when these were read.
func mind(t *testing.T, script string, lines int, grace time.Duration) (*Minded, []int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	hold, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer release.Close()
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdin, cmd.Stdout = hold, w
	m, err := Mind(cmd, []string{os.Args[0], "minder"}, "test", grace)
	hold.Close()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Kill() })
	return m, readPids(t, r, lines)
}

// readPids reads process ids, and puts the one with a 0 before it last.
func readPids(t *testing.T, r *os.File, lines int) (pids []int) {
	t.Helper()
	var cleared []int
	in := bufio.NewScanner(r)
	for range lines {
		if !in.Scan() {
			t.Fatalf("the script printed %d process ids, want %d", len(pids), lines)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(in.Text()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(in.Text(), "0") {
			cleared = []int{pid}
		} else {
			pids = append(pids, pid)
		}
	}
	return append(pids, cleared...)
}

// runs reports whether a process runs: it is there, and no zombie.
func runs(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func noneRuns(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if runs(pid) {
			t.Errorf("process %d still runs", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// TestMind_exit: when the process exits, nothing that it started is left, and its exit status is
// told.
func TestMind_exit(t *testing.T) {
	m, pids := mind(t, family+"cat; exit 7", 4, time.Second)
	if end := m.Wait(); end.Exit != 7 || end.Signal != "" || end.Left != 0 || end.Err != nil {
		t.Errorf("Wait = %+v, want exit status 7", end)
	}
	noneRuns(t, pids)
}

// TestMind_end: End asks first.
func TestMind_end(t *testing.T) {
	m, pids := mind(t, "trap 'exit 3' TERM\n"+family+"while :; do sleep 0.05; done", 4, 5*time.Second)
	if end := m.End(); end.Exit != 3 {
		t.Errorf("End = %+v, want exit status 3 of the trap", end)
	}
	noneRuns(t, pids)
}

// TestMind_kill: what does not listen is killed after the grace period.
func TestMind_kill(t *testing.T) {
	m, pids := mind(t, "trap '' TERM\n"+family+"while :; do sleep 0.05; done", 4, 100*time.Millisecond)
	if end := m.End(); end.Signal != "killed" {
		t.Errorf("End = %+v, want killed", end)
	}
	noneRuns(t, pids)
}

// TestMind_agentKilled: a process that is killed leaves nothing behind.
func TestMind_agentKilled(t *testing.T) {
	m, pids := mind(t, family+"sleep 305", 4, time.Second)
	if err := syscall.Kill(m.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if end := m.Wait(); end.Signal != "killed" || end.Err != nil {
		t.Errorf("Wait = %+v, want killed", end)
	}
	noneRuns(t, pids)
}

// TestMind_minderKilled: without a minder the marker finds all but what has cleared its
// environment.
func TestMind_minderKilled(t *testing.T) {
	m, pids := mind(t, family+"sleep 305", 4, time.Second)
	if err := m.minder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if end := m.Wait(); end.Err == nil {
		t.Errorf("Wait = %+v, want an error", end)
	}
	noneRuns(t, append(pids[:3], m.Pid()))
	_ = syscall.Kill(pids[3], syscall.SIGKILL)
}

// TestMind_minderStopped: a minder that is stopped again and again keeps neither End nor what it
// minds, also what has left its group and cleared its environment.
func TestMind_minderStopped(t *testing.T) {
	stop, err := Adopt()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	defer func(d time.Duration) { minderTime = d }(minderTime)
	minderTime = 0 // it would be continued, and end by itself
	m, pids := mind(t, family+"minder=$PPID; (while :; do kill -STOP $minder; done)", 4, 10*time.Millisecond)
	if end := m.End(); end.Left != 0 {
		t.Errorf("End = %+v, want nothing left", end)
	}
	noneRuns(t, append(pids, m.Pid()))
	reapAdopted()
}

// TestMind_ownMarker: a process that has given itself another marker, and whose minder is killed, does
// not outlive it. One with the marker of something that still runs is that one's.
func TestMind_ownMarker(t *testing.T) {
	stop, err := Adopt()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	other, _ := mind(t, "echo $$; cat; sleep 309", 1, time.Second)
	m, pids := mind(t, `(BOSSMAN_RUN=x.y setsid sh -c 'echo $$; exec sleep 310' &)
(BOSSMAN_RUN=${BOSSMAN_RUN%.*}.other setsid sh -c 'echo $$; exec sleep 311' &)
(`+other.mark+` setsid sh -c 'echo 0$$; exec sleep 312' &)
sleep 313`, 3, time.Second)
	if err := m.minder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if end := m.Wait(); end.Err == nil || end.Left != 0 {
		t.Errorf("Wait = %+v, want an error, and nothing left", end)
	}
	noneRuns(t, append(pids[:2:2], m.Pid()))
	if !runs(pids[2]) {
		t.Error("a process of another one was ended, too")
	}
	other.End()
	noneRuns(t, pids)
	reapAdopted()
}

// TestMind_before: when a minder is killed, children stay that were there before, and what they leave
// behind: a script may have started them, and then this program in its place.
func TestMind_before(t *testing.T) {
	pids := daemon(t, `echo $$; read x; (sh -c 'echo $$; exec sleep 314' &); exec sleep 315`)
	stop, err := Adopt()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	there := pids()
	killMinder(t)
	for _, pid := range there {
		if !runs(pid) {
			t.Errorf("process %d was ended, too", pid)
		}
	}
}

// TestMind_first: the first process of a container is the parent of what others leave behind. It ends
// what is left of its minders only.
func TestMind_first(t *testing.T) {
	defer func(was bool) { first = was }(first)
	first = true
	stop, err := Adopt()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	pids := daemon(t, `echo $$; read x; (setsid sh -c 'echo $$; exec sleep 316' &); exec sleep 317`)()
	killMinder(t)
	for _, pid := range pids {
		if !runs(pid) {
			t.Errorf("process %d was ended, too", pid)
		}
	}
}

// daemon starts a script in a session of its own that prints its process id and, after it has read a
// line, another one. pids writes that line, and returns both.
func daemon(t *testing.T, script string) (pids func() []int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return func() []int {
		defer r.Close()
		if _, err := in.Write([]byte("go\n")); err != nil {
			t.Fatal(err)
		}
		list := readPids(t, r, 2)
		t.Cleanup(func() { _ = syscall.Kill(list[1], syscall.SIGKILL) })
		return list
	}
}

// killMinder kills a minder, and expects that what it minded ends: a process, one that has left its
// group, and one that has given itself a marker.
func killMinder(t *testing.T) {
	t.Helper()
	m, pids := mind(t, `(env -i sh -c 'echo $$; exec sleep 318' &)
(BOSSMAN_RUN=x.y setsid sh -c 'echo $$; exec sleep 319' &)
sleep 320`, 2, time.Second)
	if err := m.minder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if end := m.Wait(); end.Err == nil || end.Left != 0 {
		t.Errorf("Wait = %+v, want an error, and nothing left", end)
	}
	noneRuns(t, append(pids, m.Pid()))
	reapAdopted()
}

// TestMind_minderStoppedAtOnce: a process that stops its minder before that has said that it was
// started keeps nobody.
func TestMind_minderStoppedAtOnce(t *testing.T) {
	for range 5 {
		m, err := Mind(exec.Command("sh", "-c", "kill -STOP $PPID; sleep 308"), []string{os.Args[0], "minder"}, "test", 10*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if end := m.End(); end.Left != 0 {
			t.Errorf("End = %+v, want nothing left", end)
		}
		noneRuns(t, []int{m.Pid()})
	}
}

// TestAdopt: what is left of a tree that has ended is waited for when it exits.
func TestAdopt(t *testing.T) {
	stop, err := Adopt()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	tree, pids := spawn(t, "(setsid sh -c 'echo $$' &)", 1)
	if err := tree.Wait(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		reapAdopted()
		if err := syscall.Kill(pids[0], 0); err == syscall.ESRCH {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d was not waited for", pids[0])
		}
	}
}

// TestMind_killed: nothing outlives a program that is killed.
func TestMind_killed(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROC_TEST_MINDED="+family+"sleep 306 & echo $!; wait")
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	pids := readPids(t, r, 5)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		left := 0
		for _, pid := range pids {
			if runs(pid) {
				left++
			}
		}
		if left == 0 {
			return
		}
	}
	noneRuns(t, pids)
}

// TestMind_notThere: a program that cannot be started is an error that names it.
func TestMind_notThere(t *testing.T) {
	_, err := Mind(exec.Command("/nowhere/agent"), []string{os.Args[0], "minder"}, "test", time.Second)
	if err == nil || !strings.Contains(err.Error(), "/nowhere/agent") {
		t.Errorf("Mind = %v, want an error that names the program", err)
	}
}

// TestEndRun ends what a dead program left.
func TestEndRun(t *testing.T) {
	cmd := exec.Command("sleep", "307")
	cmd.Env = append(os.Environ(), Marker+"=deadrun.x")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
	for deadline := time.Now().Add(5 * time.Second); len(ofRun(Marker+"=deadrun.")) == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if n := EndRun("deadrun"); n != 1 {
		t.Errorf("EndRun = %d, want 1", n)
	}
	noneRuns(t, []int{cmd.Process.Pid})
}

// TestMind_replaced: a program whose file is deleted or replaced while it runs still starts itself as
// a minder.
func TestMind_replaced(t *testing.T) {
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"nothing", "#!/bin/sh\necho another; exit 1\n"} {
		file := filepath.Join(t.TempDir(), "bossman")
		if err := os.WriteFile(file, program, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(file)
		cmd.Env = append(os.Environ(), "PROC_TEST_MINDED=echo minded", "PROC_TEST_REPLACE="+by)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "minded\n" {
			t.Errorf("replaced by %q: %q, %v", by, out, err)
		}
	}
}

// TestMind_gone: if the program cannot start itself because its file is gone, the error says so.
func TestMind_gone(t *testing.T) {
	_, err := Mind(exec.Command("true"), []string{filepath.Join(t.TempDir(), "bossman"), "minder"}, "test", 0)
	if !errors.Is(err, ErrReplaced) {
		t.Errorf("Mind = %v, want ErrReplaced", err)
	}
}
