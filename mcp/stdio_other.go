//go:build !unix

package mcp

import "os"

func ownStdout() *os.File { return os.Stdout }
