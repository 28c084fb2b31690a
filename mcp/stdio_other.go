//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package mcp

import "os"

func ownStdout() *os.File { return os.Stdout }
