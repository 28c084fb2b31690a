package mcp

import (
	"os"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// Stdio returns a transport over the process's standard input and output, one
// message per line. Afterwards nothing else can write to that output: os.Stdout
// is standard error.
func Stdio() jsonrpc.Transport {
	out := ownStdout()
	os.Stdout = os.Stderr
	return jsonrpc.Lines(os.Stdin, out, jsonrpc.Limits{})
}
