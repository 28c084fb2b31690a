//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package mcp

import (
	"os"
	"syscall"
)

func ownStdout() *os.File { return os.Stdout }

// ownGroup is for systems with process groups.
func ownGroup(given *syscall.SysProcAttr) *syscall.SysProcAttr { return given }

// tell is for systems with signals.
func tell(*os.Process) {}

// kill ends a process.
func kill(p *os.Process) { _ = p.Kill() }

func groupLives(*os.Process) bool { return false }
