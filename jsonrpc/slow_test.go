package jsonrpc_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// Who asks is free when its context ends, also while the other side does not read.
func TestCall_blockedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		_, outW := io.Pipe() // nobody reads
		tr := jsonrpc.Lines(inR, outW, jsonrpc.Limits{})
		p := jsonrpc.NewPeer(tr, nil)
		done := make(chan error)
		go func() { done <- p.Run(context.Background()) }()
		large := map[string]any{"x": strings.Repeat("x", 3<<20)}
		for range 4 { // the first is being written, two wait, the last finds no room
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start := time.Now()
			_, err := p.Call(ctx, "a", large)
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 1100*time.Millisecond {
				t.Errorf("Call = %v after %v, want the deadline after 1s", err, took)
			}
			cancel()
		}
		start := time.Now()
		if err := <-done; !errors.Is(err, jsonrpc.ErrStalled) || time.Since(start) > 30*time.Second {
			t.Errorf("Run = %v after %v, want ErrStalled", err, time.Since(start))
		}
		inW.Close()
	})
}

// Whoever waits for an answer is told that it was too long.
func TestCall_overLongAnswer(t *testing.T) {
	long := `"` + strings.Repeat("x", 300<<10) + `"`
	for name, answer := range map[string]string{
		"id first":                `{"jsonrpc":"2.0","id":1,"result":` + long + `}`,
		"id last":                 `{"result":` + long + `,"jsonrpc":"2.0","id":1}`,
		"id then version, spaced": `{"result": {"a": ` + long + `} ,"id":1,"jsonrpc":"2.0"} ` + "\r",
		"just too long":           `{"result":"` + strings.Repeat("x", 64<<10) + `","jsonrpc":"2.0","id":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			p := jsonrpc.NewPeer(jsonrpc.Lines(inR, outW, jsonrpc.Limits{Bytes: 64 << 10}), nil)
			done := make(chan error)
			go func() { done <- p.Run(context.Background()) }()
			go func() {
				_, _ = outR.Read(make([]byte, 1024))
				_, _ = io.WriteString(inW, answer+"\n")
			}()
			_, err := p.Call(t.Context(), "a", nil)
			if _, ok := errors.AsType[*jsonrpc.Malformed](err); !ok {
				t.Errorf("Call = %v, want what was wrong with the answer", err)
			}
			inW.Close()
			if err := <-done; err != nil {
				t.Errorf("Run = %v", err)
			}
		})
	}
}
