package mcp

import "syscall"

// redirect makes one file descriptor another name for what from is.
func redirect(from, to int) error { return syscall.Dup3(from, to, 0) }
