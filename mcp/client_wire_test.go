package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// wired connects to a modern server that writes what it wants: answer is given each
// later line of the client's.
func wired(t *testing.T, o mcp.ClientOptions, answer func(w io.Writer, line string)) *mcp.Client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		in := bufio.NewScanner(outR)
		for n := 0; in.Scan(); n++ {
			if n == 0 {
				fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":1,"result":%s}`+"\n", discovered)
				continue
			}
			answer(inW, in.Text())
		}
	}()
	c, err := mcp.Connect(t.Context(), jsonrpc.Lines(inR, outW, jsonrpc.Limits{}), quiet(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		<-done
	})
	return c
}

// An answer that is none fails the call that it names, at once; one that names no
// call, or another's, is dropped. None is ever taken for a success, and the next
// call is answered.
func TestClient_brokenAnswers(t *testing.T) {
	const late = "no answer in time"
	for name, x := range map[string]struct{ answer, want string }{
		"both":                       {`{"jsonrpc":"2.0","id":2,"result":{"content":[]},"error":{"code":1,"message":"x"}}`, "not both"},
		"neither":                    {`{"jsonrpc":"2.0","id":2}`, "a result or an error"},
		"an error without a code":    {`{"jsonrpc":"2.0","id":2,"error":{"message":"x"}}`, "integer code"},
		"an error without a message": {`{"jsonrpc":"2.0","id":2,"error":{"code":1}}`, "integer code"},
		"a code that is text":        {`{"jsonrpc":"2.0","id":2,"error":{"code":"1","message":"x"}}`, "integer code"},
		"half a code":                {`{"jsonrpc":"2.0","id":2,"error":{"code":1.5,"message":"x"}}`, "integer code"},
		"an error that is text":      {`{"jsonrpc":"2.0","id":2,"error":"x"}`, "integer code"},
		"a result and no error":      {`{"jsonrpc":"2.0","id":2,"result":{"content":[]},"error":null}`, "integer code"},
		"a result of nothing":        {`{"jsonrpc":"2.0","id":2,"result":null}`, "not an object"},
		"another version":            {`{"jsonrpc":"1.0","id":2,"result":{"content":[]}}`, `must be "2.0"`},
		"a member twice":             {`{"jsonrpc":"2.0","id":2,"result":{"content":[],"content":[]}}`, "duplicate"},
		"two results":                {`{"jsonrpc":"2.0","id":2,"result":{"content":[]},"result":{"content":[]}}`, "duplicate"},
		"two ids":                    {`{"jsonrpc":"2.0","id":2,"id":2,"result":{"content":[]}}`, late},
		"an id that is text":         {`{"jsonrpc":"2.0","id":"2","result":{"content":[]}}`, late},
		"an id that is 2.0":          {`{"jsonrpc":"2.0","id":2.0,"result":{"content":[]}}`, late},
		"an id of null":              {`{"jsonrpc":"2.0","id":null,"result":{"content":[]}}`, late},
		"an error about nothing":     {`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, late},
		"no id":                      {`{"jsonrpc":"2.0","result":{"content":[]}}`, late},
		"an id never asked":          {`{"jsonrpc":"2.0","id":77,"result":{"content":[]}}`, late},
		"cut off":                    {`{"jsonrpc":"2.0","id":2,"result":{"content":[`, late},
		"an unasked batch":           {`[{"jsonrpc":"2.0","id":2,"result":{"content":[]}}]`, late},
		"a method and a result":      {`{"jsonrpc":"2.0","id":2,"method":"x","result":{"content":[]}}`, late},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := wired(t, mcp.ClientOptions{}, func(w io.Writer, line string) {
					switch {
					case strings.Contains(line, "broken"):
						_, _ = io.WriteString(w, x.answer+"\n")
					case strings.Contains(line, `"id":3`):
						_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"fine"}]}}`+"\n")
					}
				})
				began := time.Now()
				_, err := c.Call(t.Context(), "broken", nil, &mcp.CallOptions{Timeout: 300 * time.Millisecond})
				if err == nil || !strings.Contains(err.Error(), x.want) {
					t.Errorf("Call = %v after %v, want %s", err, time.Since(began), x.want)
				}
				if x.want != "not an object" && c.Refused() != 1 {
					t.Errorf("Refused = %d, want 1", c.Refused())
				}
				if got, err := mcp.CallAs[string](t.Context(), c, "x", nil, nil); err != nil || got != "fine" {
					t.Errorf("the next call = %q, %v", got, err)
				}
			})
		})
	}
}

// Notifications without end do not keep a call from being answered, nor take memory:
// those that a slow program is not ready for are dropped and counted.
func TestClient_million(t *testing.T) {
	many := 1_000_000
	if mcp.RaceEnabled {
		many = 100_000
	}
	for name, slow := range map[string]bool{"heard": false, "too many to hear": true} {
		t.Run(name, func(t *testing.T) {
			lines := []byte(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`+"\n", 1000))
			var heard atomic.Int64
			poured := make(chan struct{})
			o := mcp.ClientOptions{OnLog: func(context.Context, mcp.LogMessage) {
				if heard.Add(1) == 1 && slow {
					<-poured
				}
			}}
			c := wired(t, o, func(w io.Writer, _ string) {
				for range many / 1000 {
					_, _ = w.Write(lines)
				}
				close(poured)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`+"\n")
			})
			var err error
			grown := peak(func() { _, err = c.Call(t.Context(), "x", nil, nil) })
			if err != nil || grown > 64<<20 {
				t.Errorf("Call = %v with %d MiB more in use", err, grown>>20)
			}
			t.Logf("heard %d, dropped %d, %d MiB more in use at most", heard.Load(), c.Refused(), grown>>20)
			if heard.Load()+c.Refused() != int64(many) || slow && (heard.Load() > 5000 || c.Health() != nil) {
				t.Errorf("heard %d and dropped %d of %d, health %v", heard.Load(), c.Refused(), many, c.Health())
			}
		})
	}
}

// A flood of progress does not keep a call alive for ever.
func TestClient_progressWithoutEnd(t *testing.T) {
	stop := make(chan struct{})
	c := wired(t, mcp.ClientOptions{MaxTime: 500 * time.Millisecond}, func(w io.Writer, line string) {
		if !strings.Contains(line, "tools/call") {
			if strings.Contains(line, "notifications/cancelled") {
				close(stop)
			}
			return
		}
		go func() {
			for i := 1; ; i++ {
				select {
				case <-stop:
					return
				default:
					fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`+"\n", i)
				}
			}
		}()
	})
	var n atomic.Int64
	_, err := c.Call(t.Context(), "x", nil, &mcp.CallOptions{Progress: func(context.Context, mcp.Progress) { n.Add(1) }})
	if !errors.Is(err, mcp.ErrTimeout) || n.Load() == 0 {
		t.Errorf("Call = %v after %d signs of life, want ErrTimeout", err, n.Load())
	}
	select {
	case <-stop:
	case <-time.After(time.Minute):
		t.Error("the server was not told")
	}
}
