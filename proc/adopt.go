package proc

import (
	"os/exec"
	"sync"
)

// started are the processes that this package has started and not waited for yet, and the markers of
// what has not ended. It is locked while one is started, so that nobody takes it for an adopted one.
var started = struct {
	sync.Mutex
	pids  map[int]bool
	marks map[string]bool
	// before are the children that were there when Adopt began, by process id, with the time of their
	// start: this process may have taken the place of a program that had some.
	before map[int]string
}{pids: map[int]bool{}, marks: map[string]bool{}}

// setMark notes that there is, or is no longer, something with a marker.
func setMark(mark string, there bool) {
	started.Lock()
	defer started.Unlock()
	if delete(started.marks, mark); there {
		started.marks[mark] = true
	}
}

// setKnown notes that a process, which others start and wait for, is none that was adopted, or not any longer.
func setKnown(pid int, there bool) {
	started.Lock()
	defer started.Unlock()
	if delete(started.pids, pid); there {
		started.pids[pid] = true
	}
}

// startKnown starts a command and notes its process.
func startKnown(cmd *exec.Cmd) error {
	started.Lock()
	defer started.Unlock()
	err := cmd.Start()
	if err == nil {
		started.pids[cmd.Process.Pid] = true
	}
	return err
}

// waitKnown waits for a command that startKnown started.
func waitKnown(cmd *exec.Cmd) error {
	err := cmd.Wait()
	started.Lock()
	defer started.Unlock()
	delete(started.pids, cmd.Process.Pid)
	return err
}
