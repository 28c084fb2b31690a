package jsonrpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
)

func BenchmarkDecode(b *testing.B) {
	const head = `{"jsonrpc":"2.0","id":100000001,"method":"tools/call","params":`
	for _, c := range []struct{ name, in string }{
		{"32B", head + `{"name":"echo","arguments":{"text":"` + strings.Repeat("x", 32) + `"}}}`},
		{"64KiB", head + `{"name":"echo","arguments":{"text":"` + strings.Repeat("x", 64<<10) + `"}}}`},
		{"zeros", head + `[` + strings.Repeat("0,", 90_000) + `0]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			data := []byte(c.in)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jsonrpc.Decode(data, jsonrpc.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPeer asks over pipes of the operating system, from one goroutine and
// from many.
func BenchmarkPeer(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("echo/%d", callers), func(b *testing.B) {
			ar, bw, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			br, aw, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			asker := jsonrpc.NewPeer(jsonrpc.Lines(ar, aw, jsonrpc.Limits{}), nil)
			echoer := jsonrpc.NewPeer(jsonrpc.Lines(br, bw, jsonrpc.Limits{}), &jsonrpc.PeerOptions{
				Handle: func(_ context.Context, m *jsonrpc.Message) (json.RawMessage, error) { return m.Params, nil },
			})
			ctx, cancel := context.WithCancel(b.Context())
			var runs, calls sync.WaitGroup
			for _, p := range []*jsonrpc.Peer{asker, echoer} {
				runs.Go(func() { _ = p.Run(ctx) })
			}
			params := json.RawMessage(`{"text":"abcdefghijklmnopqrstuvwxyz012345"}`)
			b.ReportAllocs()
			b.ResetTimer()
			for c := range callers {
				calls.Go(func() {
					for range (b.N + callers - 1 - c) / callers {
						if _, err := asker.Call(ctx, "echo", params); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			calls.Wait()
			b.StopTimer()
			cancel()
			runs.Wait()
		})
	}
}
