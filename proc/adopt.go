package proc

import (
	"os/exec"
	"sync"
)

// started are the processes that this package has started and not waited for yet. It is locked while
// one is started, so that nobody takes it for an adopted one.
var started = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

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
