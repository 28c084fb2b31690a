//go:build !unix

package proc

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

func terminate(*os.Process) {}

func kill(p *os.Process) { _ = p.Kill() }

func killPid(int) {}

func survivors(int, string) []int { return nil }
