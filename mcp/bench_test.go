package mcp_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// BenchmarkServe is one tools/call through the whole server, without a kernel:
// all requests are at hand, and the answers go nowhere.
func BenchmarkServe(b *testing.B) {
	type args struct {
		Text string `json:"text" jsonschema:"what to say back"`
	}
	s := mcp.NewServer(mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "echo", Description: "Say it again."},
		func(_ context.Context, _ *mcp.Call, in args) (*mcp.ToolResult, error) {
			return &mcp.ToolResult{Content: []mcp.Content{mcp.Text(in.Text)}}, nil
		})
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`
	const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	for _, c := range []struct {
		name, hello, meta string
		size              int
	}{
		{"legacy/32B", hello, "", 32},
		{"modern/32B", "", meta, 32},
		{"legacy/64KiB", hello, "", 64 << 10},
	} {
		b.Run(c.name, func(b *testing.B) {
			line := []byte(`{"jsonrpc":"2.0","id":100000001,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` +
				strings.Repeat("x", c.size) + `"}` + c.meta + "}}\n")
			in := io.MultiReader(strings.NewReader(c.hello), &repeat{line: line, n: b.N})
			b.ReportAllocs()
			b.ResetTimer()
			if err := s.Serve(b.Context(), jsonrpc.Lines(in, io.Discard, jsonrpc.Limits{})); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// repeat reads as n times the same line.
type repeat struct {
	line []byte
	n    int
	rest []byte
}

func (r *repeat) Read(p []byte) (int, error) {
	total := 0
	for len(p) > 0 {
		if len(r.rest) == 0 {
			if r.n == 0 {
				break
			}
			r.n--
			r.rest = r.line
		}
		n := copy(p, r.rest)
		r.rest, p = r.rest[n:], p[n:]
		total += n
	}
	if total == 0 {
		return 0, io.EOF
	}
	return total, nil
}
