package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// A testRelay is a relay in this process, that loses messages.
type testRelay struct {
	mu     sync.Mutex
	handle map[string]func([]byte)
	lose   int // messages that are lost next
}

func (r *testRelay) Send(_ context.Context, to string, message []byte) error {
	r.mu.Lock()
	handle := r.handle[to]
	if r.lose > 0 {
		r.lose--
		handle = nil
	}
	r.mu.Unlock()
	if handle != nil {
		go handle(bytes.Clone(message))
	}
	return nil
}

func (r *testRelay) Receive(name string, handle func([]byte)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handle[name] = handle
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.handle, name)
	}
}

// alternating is a client's connection to two replicas: each call of a tool goes to the other one.
type alternating struct {
	ends [2]jsonrpc.Transport
	got  chan jsonrpc.Packet
	next int
	last map[string]int // where requests were sent
	mu   sync.Mutex
}

func (a *alternating) Send(ctx context.Context, p jsonrpc.Packet) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	to := a.next
	if m := p.Message; m != nil && m.Method == "tools/call" {
		a.next = 1 - a.next
		a.last["call"] = to
	} else if m != nil && m.Method == "notifications/cancelled" {
		to = a.last["call"]
	}
	return a.ends[to].Send(ctx, p)
}

func (a *alternating) Receive(ctx context.Context) (jsonrpc.Packet, error) {
	select {
	case p, ok := <-a.got:
		if !ok {
			return jsonrpc.Packet{}, io.EOF
		}
		return p, nil
	case <-ctx.Done():
		return jsonrpc.Packet{}, ctx.Err()
	}
}

func (a *alternating) Close() error { return errors.Join(a.ends[0].Close(), a.ends[1].Close()) }

// twoReplicas are gateways of which a client calls one and the other in turn.
func twoReplicas(t *testing.T, up *mcp.Server) (relay *testRelay, replicas [2]*lab, client *mcp.Client) {
	t.Helper()
	keys, err := replica.NewKeyring(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	relay = &testRelay{handle: map[string]func([]byte){}}
	line := &alternating{got: make(chan jsonrpc.Packet), last: map[string]int{}}
	var serving, receiving sync.WaitGroup
	for i := range replicas {
		l := newReplica(t, map[string]*mcp.Server{"up": up}, mcp.R20251125, nil, keys, relay)
		replicas[i] = l
		one, two := jsonrpc.Pipe(jsonrpc.Limits{})
		line.ends[i] = one
		serving.Go(func() { _ = l.server.Serve(context.Background(), two) })
		receiving.Go(func() {
			for {
				p, err := one.Receive(context.Background())
				if err != nil {
					return
				}
				line.got <- p
			}
		})
	}
	go func() {
		receiving.Wait()
		close(line.got)
	}()
	client, err = mcp.Connect(t.Context(), line, &mcp.ClientOptions{
		Revision: mcp.R20260728,
		Elicit: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			if strings.Contains(p.Message, "refuse this") {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"word":"one"}`)}, nil
		},
		Sample: func(context.Context, *mcp.SampleParams) (*mcp.SampleResult, error) {
			return &mcp.SampleResult{Role: "assistant", Model: "m", Content: []mcp.Content{mcp.Text("sampled")}}, nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///src", Name: "src"}}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		serving.Wait()
	})
	return relay, replicas, client
}

// A client of the newest revision repeats its call with its answer, at any replica. The call goes on where it runs.
func TestPeers(t *testing.T) {
	up := quietServer()
	hang := make(chan struct{})
	ended := make(chan struct{}, 1)
	type word struct {
		Word string `json:"word"`
	}
	mcp.AddTool(up, mcp.Tool{Name: "asks", Description: "Ask for everything."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		first, err := mcp.Ask[word](c, "first", "one")
		if err != nil {
			return "", err
		}
		//lint:ignore SA1019 upstreams of older revisions ask for it
		sampled, err := c.Sample("s", &mcp.SampleParams{MaxTokens: 9, Messages: []mcp.SampleMessage{{Role: "user", Content: []mcp.Content{mcp.Text("say")}}}})
		if err != nil {
			return "", err
		}
		//lint:ignore SA1019 upstreams of older revisions ask for it
		roots, err := c.Roots("r")
		if err != nil {
			return "", err
		}
		_, err = mcp.Ask[word](c, "refused", "refuse this")
		if !errors.Is(err, mcp.ErrDeclined) {
			return "", err
		}
		return first.Word + " " + sampled.Content[0].Text + " " + roots[0].URI, nil
	})
	mcp.AddTool(up, mcp.Tool{Name: "fails", Description: "Ask, then fail."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		if _, err := mcp.Ask[word](c, "first", "one"); err != nil {
			return "", err
		}
		return "", mcp.Errorf("the disk is full")
	})
	mcp.AddTool(up, mcp.Tool{Name: "hangs", Description: "Ask, then hang."}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		if _, err := mcp.Ask[word](c, "first", "one"); err != nil {
			return "", err
		}
		close(hang)
		<-ctx.Done()
		ended <- struct{}{}
		return "", ctx.Err()
	})
	const lost = "its outcome is unknown"
	for _, c := range []struct {
		tool, want string
		lose       int // messages between the replicas
		silence    time.Duration
	}{
		{"asks", "one sampled file:///src", 0, time.Minute},
		{"fails", "the disk is full", 0, time.Minute},
		{"fails", "the disk is full", 1, 100 * time.Millisecond},
		{"fails", lost, 100, 20 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(c.tool, ", lost ", c.lose), func(t *testing.T) {
			relay, replicas, client := twoReplicas(t, up)
			for _, l := range replicas {
				l.peers.silence = c.silence
			}
			relay.lose = c.lose
			if res, err := client.Call(t.Context(), "up__"+c.tool, nil, nil); err != nil || !strings.Contains(res.Content[0].Text, c.want) {
				t.Errorf("%s = %+v, %v; want %s", c.tool, res, err, c.want)
			}
		})
	}
	t.Run("the client goes away", func(t *testing.T) {
		_, _, client := twoReplicas(t, up)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-hang
			cancel()
		}()
		if _, err := client.Call(ctx, "up__hangs", nil, nil); !errors.Is(err, context.Canceled) {
			t.Fatalf("hangs = %v", err)
		}
		<-ended
	})
}
