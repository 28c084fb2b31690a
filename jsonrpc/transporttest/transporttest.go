// Package transporttest tests implementations of jsonrpc.Transport.
//
//	func TestMine(t *testing.T) {
//		transporttest.Run(t, func(t *testing.T) (a, b jsonrpc.Transport) { … })
//	}
package transporttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// timeout is how long a test waits for something that must happen.
const timeout = 20 * time.Second

// Run tests that a transport behaves as jsonrpc.Transport documents. open
// returns the two ends of a new connection with the default limits; closing a
// must unblock a Receive on a. Run closes both ends.
func Run(t *testing.T, open func(t *testing.T) (a, b jsonrpc.Transport)) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, a, b jsonrpc.Transport)
	}{
		{"order", order},
		{"both directions at once", bothDirections},
		{"concurrent senders", concurrentSenders},
		{"large packet", largePacket},
		{"oversized packet", tooLarge},
		{"batch", batch},
		{"ids byte for byte", ids},
		{"every kind of message", kinds},
		{"close unblocks receive", closeWakes},
		{"packets sent before close arrive", sentBeforeClose},
		{"send after close", sendAfterClose},
		{"close twice", closeTwice},
		{"close while sending", closeWhileSending},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := open(t)
			defer b.Close()
			defer a.Close()
			c.test(t, a, b)
		})
	}
}

func notification(method string, params any) jsonrpc.Packet {
	raw, err := jsonv2.Marshal(params)
	if err != nil {
		panic(err)
	}
	return jsonrpc.One(&jsonrpc.Message{Method: method, Params: raw})
}

// send sends in its own goroutine, because Send may block until the packets are
// read.
func send(t *testing.T, from jsonrpc.Transport, packets ...jsonrpc.Packet) {
	t.Helper()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for _, p := range packets {
			if err := from.Send(t.Context(), p); err != nil {
				t.Errorf("Send = %v", err)
				return
			}
		}
	}()
	t.Cleanup(func() { within(t, sent, "Send to return") })
}

func receive(t *testing.T, at jsonrpc.Transport) jsonrpc.Packet {
	t.Helper()
	p, err := at.Receive(t.Context())
	if err != nil {
		t.Fatalf("Receive = %v", err)
	}
	return p
}

// within waits for c to be closed.
func within(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(timeout):
		t.Fatalf("waited %v for %s", timeout, what)
	}
}

func order(t *testing.T, a, b jsonrpc.Transport) {
	const n = 500
	var packets []jsonrpc.Packet
	for i := range n {
		packets = append(packets, notification("n", []int{i}))
	}
	send(t, a, packets...)
	for i := range n {
		if got, want := string(receive(t, b).Message.Params), fmt.Sprintf("[%d]", i); got != want {
			t.Fatalf("packet %d has params %s, want %s", i, got, want)
		}
	}
}

func bothDirections(t *testing.T, a, b jsonrpc.Transport) {
	const n = 200
	var wg sync.WaitGroup
	for _, end := range []jsonrpc.Transport{a, b} {
		wg.Go(func() {
			for i := range n {
				if err := end.Send(t.Context(), notification("n", []int{i})); err != nil {
					t.Errorf("Send = %v", err)
					return
				}
			}
		})
		wg.Go(func() {
			for i := range n {
				p, err := end.Receive(t.Context())
				if err != nil || string(p.Message.Params) != fmt.Sprintf("[%d]", i) {
					t.Errorf("Receive = %v, %v, want [%d]", p.Message, err, i)
					return
				}
			}
		})
	}
	wg.Wait()
}

func concurrentSenders(t *testing.T, a, b jsonrpc.Transport) {
	const senders, each = 16, 50
	for s := range senders {
		var packets []jsonrpc.Packet
		for i := range each {
			text := strings.Repeat(string(rune('a'+s)), 1+i*37)
			packets = append(packets, notification("n", map[string]any{"sender": s, "turn": i, "text": text}))
		}
		send(t, a, packets...)
	}
	var turns [senders]int
	for range senders * each {
		var v struct {
			Sender int    `json:"sender"`
			Turn   int    `json:"turn"`
			Text   string `json:"text"`
		}
		if err := jsonv2.Unmarshal(receive(t, b).Message.Params, &v); err != nil {
			t.Fatal(err)
		}
		if v.Turn != turns[v.Sender] || v.Text != strings.Repeat(string(rune('a'+v.Sender)), 1+v.Turn*37) {
			t.Fatalf("sender %d: got packet %d, want %d, or it is incomplete", v.Sender, v.Turn, turns[v.Sender])
		}
		turns[v.Sender]++
	}
}

// sized returns a notification whose encoding is n bytes long.
func sized(n int) jsonrpc.Packet {
	empty := len(notification("n", []string{""}).Append(nil))
	return notification("n", []string{strings.Repeat("x", n-empty)})
}

func largePacket(t *testing.T, a, b jsonrpc.Transport) {
	for _, n := range []int{64 << 10, 1<<20 - 1, 1 << 20} {
		send(t, a, sized(n))
		if got := len(receive(t, b).Append(nil)); got != n {
			t.Fatalf("a packet of %d bytes arrives with %d", n, got)
		}
	}
}

func tooLarge(t *testing.T, a, b jsonrpc.Transport) {
	send(t, a, sized(1<<20+1), notification("next", []int{}))
	_, err := b.Receive(t.Context())
	bad, ok := errors.AsType[*jsonrpc.Malformed](err)
	if !ok || bad.Err.Code != jsonrpc.CodeInvalidRequest {
		t.Fatalf("Receive = %v, want *Malformed with code %d", err, jsonrpc.CodeInvalidRequest)
	}
	if m := receive(t, b).Message; m.Method != "next" {
		t.Fatalf("then came %q, want next", m.Method)
	}
}

func batch(t *testing.T, a, b jsonrpc.Transport) {
	p := jsonrpc.Packet{Batch: []jsonrpc.Element{
		{Message: &jsonrpc.Message{ID: jsonrpc.IntID(1), Method: "ask"}},
		{Message: &jsonrpc.Message{Method: "tell"}},
		{Message: &jsonrpc.Message{ID: jsonrpc.IntID(2), Result: json.RawMessage(`{}`)}},
	}}
	send(t, a, p)
	got := receive(t, b)
	if g, w := string(got.Append(nil)), string(p.Append(nil)); g != w || len(got.Batch) != 3 {
		t.Fatalf("batch arrives as %s, want %s", g, w)
	}
	if !got.Batch[0].Message.Batched {
		t.Error("the message is not marked as batched")
	}
}

func ids(t *testing.T, a, b jsonrpc.Transport) {
	for _, text := range []string{`0`, `-1`, `1`, `"1"`, `""`, `9007199254740993`, strings.Repeat("9", 64), `"\u0061\/"`, `"é\u0000"`} {
		id, err := jsonrpc.ParseID([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		send(t, a, jsonrpc.One(&jsonrpc.Message{ID: id, Method: "m"}))
		if got := receive(t, b).Message.ID; got != id || got.String() != text {
			t.Errorf("id %s arrives as %s", text, got)
		}
	}
}

func kinds(t *testing.T, a, b jsonrpc.Transport) {
	for _, m := range []*jsonrpc.Message{
		{ID: jsonrpc.IntID(1), Method: "request", Params: json.RawMessage("{\n\"a\": [1,\r\n2]}")},
		{Method: "notification"},
		{ID: jsonrpc.IntID(1), Result: json.RawMessage(`null`)},
		{ID: jsonrpc.IntID(1), Error: jsonrpc.Errorf(-1, "two\nlines").With([]int{1})},
		{Error: jsonrpc.Errorf(-1, "no id")},
	} {
		send(t, a, jsonrpc.One(m))
		got := receive(t, b)
		if g, w := string(got.Append(nil)), string(jsonrpc.One(m).Append(nil)); g != w {
			t.Errorf("%s arrives as %s", w, g)
		}
	}
}

func closeWakes(t *testing.T, a, b jsonrpc.Transport) {
	for _, end := range []jsonrpc.Transport{a, b} { // a because it is closed, b because the other end is gone
		woken := make(chan struct{})
		go func() {
			defer close(woken)
			if p, err := end.Receive(t.Context()); err == nil {
				t.Errorf("Receive = %v, want an error", p)
			}
		}()
		if err := a.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		within(t, woken, "Close to end Receive")
	}
}

func sentBeforeClose(t *testing.T, a, b jsonrpc.Transport) {
	const senders, each = 4, 100
	done := make(chan struct{})
	go func() {
		defer close(done)
		var wg sync.WaitGroup
		for range senders {
			wg.Go(func() {
				for i := range each {
					if err := a.Send(t.Context(), notification("n", []any{i, strings.Repeat("x", 1000)})); err != nil {
						t.Errorf("Send = %v", err)
					}
				}
			})
		}
		wg.Wait()
		if err := a.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}()
	for i := range senders * each {
		if _, err := b.Receive(t.Context()); err != nil {
			t.Fatalf("packet %d of %d: %v", i, senders*each, err)
		}
	}
	if _, err := b.Receive(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("then Receive = %v, want io.EOF", err)
	}
	within(t, done, "Close")
}

func sendAfterClose(t *testing.T, a, b jsonrpc.Transport) {
	if err := a.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := a.Send(t.Context(), notification("n", []int{})); !errors.Is(err, jsonrpc.ErrClosed) {
		t.Errorf("Send after Close = %v, want ErrClosed", err)
	}
	if _, err := b.Receive(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Receive at the other end = %v, want io.EOF", err)
	}
}

func closeTwice(t *testing.T, a, b jsonrpc.Transport) {
	for _, end := range []jsonrpc.Transport{a, a, b, b} {
		if err := end.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
}

// closeWhileSending closes a while others send. Every packet must arrive whole
// or not at all, in order, and nothing may block.
func closeWhileSending(t *testing.T, a, b jsonrpc.Transport) {
	var wg sync.WaitGroup
	for s := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				if a.Send(t.Context(), notification("n", []int{s, i})) != nil {
					return
				}
			}
		})
	}
	var next [4]int
	for n := 0; ; n++ {
		if n == 100 {
			wg.Go(func() { a.Close() })
		}
		p, err := b.Receive(t.Context())
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("Receive = %v, want io.EOF", err)
			}
			break
		}
		var v [2]int
		if err := jsonv2.Unmarshal(p.Message.Params, &v); err != nil || v[1] != next[v[0]] {
			t.Fatalf("packet %s from sender %d, want turn %d", p.Message.Params, v[0], next[v[0]])
		}
		next[v[0]]++
	}
	wg.Wait()
}
