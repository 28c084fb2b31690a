//go:build !unix

package proc

import (
	"errors"
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

func terminate(*os.Process) {}

func kill(p *os.Process) { _ = p.Kill() }

func killPid(int) {}

func resume(*os.Process) {}

func survivors(int, string) []int { return nil }

func ownSession() *syscall.SysProcAttr { return nil }

// RunMinder is not there on this system.
func RunMinder([]string) error { return errors.ErrUnsupported }

func ofRun(string) []int { return nil }
