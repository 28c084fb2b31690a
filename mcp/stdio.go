package mcp

import (
	"cmp"
	"os"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// StdioOptions configures Stdio.
type StdioOptions struct {
	// Limits bound one message. The default is 16 MiB and a million values.
	Limits jsonrpc.Limits
}

// Stdio returns a transport over the process's standard input and output, one
// message per line. From then on os.Stdout writes to standard error, so that
// nothing else can write to the protocol's stream. If o is nil, defaults are used.
func Stdio(o *StdioOptions) jsonrpc.Transport {
	var limits jsonrpc.Limits
	if o != nil {
		limits = o.Limits
	}
	out := ownStdout()
	os.Stdout = os.Stderr
	return jsonrpc.Lines(os.Stdin, out, stdioLimits(limits))
}

// stdioLimits returns the limits of one message on a pipe, with defaults.
func stdioLimits(l jsonrpc.Limits) jsonrpc.Limits {
	l.Bytes = cmp.Or(l.Bytes, 16<<20)
	l.Nodes = cmp.Or(l.Nodes, 1_000_000)
	return l
}
