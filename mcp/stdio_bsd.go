//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package mcp

import "syscall"

// redirect makes one file descriptor another name for what from is.
func redirect(from, to int) error { return syscall.Dup2(from, to) }
