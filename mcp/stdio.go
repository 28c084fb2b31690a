package mcp

import (
	"os"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// Stdio is the process's own standard input and output as a transport, one
// message a line. From then on nothing else can get onto that output: os.Stdout
// is standard error.
func Stdio() jsonrpc.Transport {
	out := ownStdout()
	os.Stdout = os.Stderr
	return jsonrpc.Lines(os.Stdin, out, jsonrpc.Limits{})
}
