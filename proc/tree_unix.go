//go:build unix

package proc

import (
	"os"
	"syscall"
)

// terminate asks a process and its group to end.
func terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

// kill ends a process and its group.
func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

func killPid(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }

// resume continues a process that was stopped.
func resume(p *os.Process) { _ = p.Signal(syscall.SIGCONT) }
