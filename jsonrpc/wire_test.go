package jsonrpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A wire is the other side of a peer, with nothing in between: a test says lines
// and hears lines. It lives inside a synctest bubble.
type wire struct {
	t    *testing.T
	peer *jsonrpc.Peer
	in   *io.PipeWriter
	out  *io.PipeReader
	done chan struct{}
	err  error // of Run
	stop context.CancelCauseFunc

	mu      sync.Mutex
	lines   []string
	refused []string
}

// connect runs a peer with these options. What it refuses is kept, unless the
// options have a use for it.
func connect(t *testing.T, o jsonrpc.PeerOptions) *wire {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	w := &wire{t: t, in: inW, out: outR, done: make(chan struct{})}
	if o.Refused == nil {
		o.Refused = func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.refused = append(w.refused, err.Error())
		}
	}
	w.peer = jsonrpc.NewPeer(jsonrpc.Lines(inR, outW, jsonrpc.Limits{}), &o)
	var ctx context.Context
	ctx, w.stop = context.WithCancelCause(t.Context())
	go func() {
		defer close(w.done)
		w.err = w.peer.Run(ctx)
	}()
	go func() {
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			w.mu.Lock()
			w.lines = append(w.lines, line[:len(line)-1])
			w.mu.Unlock()
		}
	}()
	return w
}

// say sends lines, in one write.
func (w *wire) say(lines ...string) {
	w.t.Helper()
	text := ""
	for _, l := range lines {
		text += l + "\n"
	}
	if _, err := io.WriteString(w.in, text); err != nil {
		w.t.Fatalf("say: %v", err)
	}
}

// heard is what came since the last time, once the peer has had 100 ms.
func (w *wire) heard() []string {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	w.lines = nil
	return lines
}

// expect checks what came since the last time, in any order.
func (w *wire) expect(want ...string) {
	w.t.Helper()
	got := w.heard()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("heard %q\nwant  %q", got, want)
	}
}

// complaints is what the peer has refused since the last time.
func (w *wire) complaints() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.refused
	w.refused = nil
	return r
}

// hangUp ends the conversation and returns what Run does.
func (w *wire) hangUp() error {
	w.in.Close()
	<-w.done
	return w.err
}

func request(id any, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q}`, id, method)
}

func notice(method string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method) }

func result(id any, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, id, text)
}

func failure(id any, code int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"error":{"code":%d,"message":%q}}`, id, code, text)
}

// echo answers with the name of the method.
func echo(_ context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
	return json.Marshal(m.Method)
}

// slow answers "slow…" methods after an hour, or with what ended it; and the
// others at once.
func slow(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
	if len(m.Method) < 4 || m.Method[:4] != "slow" {
		return echo(ctx, m)
	}
	select {
	case <-time.After(time.Hour):
		return echo(ctx, m)
	case <-ctx.Done():
		return nil, jsonrpc.Errorf(1, "%v", context.Cause(ctx))
	}
}
