package jsonrpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A diary keeps what the handlers of a test did, in order.
type diary struct {
	mu   sync.Mutex
	text []string
}

func (d *diary) add(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text = append(d.text, s)
}

func (d *diary) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := d.text
	d.text = nil
	return text
}

// ordering are the options of a peer whose "write…" methods are ordered and take a second.
// A "write wait" waits for an hour before that, a "write idle" too.
func ordering(w **wire, d *diary) jsonrpc.PeerOptions {
	o := cancelling(w, func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
		text := m.Method + " " + m.ID.String()
		var leave func(context.Context) (resume func())
		switch {
		case strings.HasPrefix(m.Method, "write wait"):
			leave = jsonrpc.Yield
		case strings.HasPrefix(m.Method, "write idle"):
			leave = jsonrpc.Idle
		}
		if leave != nil {
			d.add("waits: " + text) // before the next one has its turn
			resume := leave(ctx)
			select {
			case <-time.After(time.Hour):
			case <-ctx.Done():
			}
			resume()
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			d.add("ended: " + text)
			return nil, context.Cause(ctx)
		}
		if m.Method == "write panic" {
			panic(m.Method)
		}
		d.add(text)
		return echo(ctx, m)
	})
	o.Ordered = func(m *jsonrpc.Message) bool { return strings.HasPrefix(m.Method, "write") }
	o.Panicked = func(*jsonrpc.Message, any, []byte) {}
	o.Batches = func() bool { return true }
	o.Grace = time.Minute
	return o
}

func TestPeer_ordered(t *testing.T) {
	lines := func(n int) (said, want []string) {
		for id := 1; id <= n; id++ {
			said = append(said, request(id, "write"))
			want = append(want, fmt.Sprintf("write %d", id))
		}
		return said, want
	}
	fifty, inOrder := lines(50)
	for name, c := range map[string]struct {
		say  []string
		want []string // of the ordered ones
	}{
		"burst":         {fifty, inOrder},
		"batch":         {[]string{"[" + strings.Join(fifty, ",") + "]"}, inOrder},
		"after a panic": {[]string{request(1, "write panic"), request(2, "write")}, []string{"write 2"}},
		"cancelled while it waits for its turn": {
			[]string{request(1, "write"), request(2, "write"), request(3, "write"), cancel(2)},
			[]string{"write 1", "write 3"},
		},
		"cancelled while it has the turn": {
			[]string{request(1, "write"), request(2, "write"), cancel(1)},
			[]string{"ended: write 1", "write 2"},
		},
		"one that waits": {
			[]string{request(1, "write"), request(2, "write wait"), request(3, "write")},
			[]string{"write 1", "waits: write wait 2", "write 3", "write wait 2"},
		},
		"one that is idle": {
			[]string{request(1, "write idle"), request(2, "write"), request(3, "write")},
			[]string{"waits: write idle 1", "write 2", "write 3", "write idle 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w *wire
				var d diary
				w = connect(t, ordering(&w, &d))
				w.say(c.say...)
				time.Sleep(2 * time.Hour)
				if got := d.take(); !slices.Equal(got, c.want) {
					t.Errorf("done: %q\nwant:  %q", got, c.want)
				}
				w.hangUp()
			})
		})
	}
}

// Requests that are not ordered do not wait for those that are.
func TestPeer_orderedHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		var d diary
		w = connect(t, ordering(&w, &d))
		w.say(request(1, "write"), request(2, "write"), request(3, "read"), request(4, "read"))
		time.Sleep(1500 * time.Millisecond)
		got := d.take()
		slices.Sort(got)
		if want := []string{"read 3", "read 4", "write 1"}; !slices.Equal(got, want) {
			t.Errorf("done: %q, want %q", got, want)
		}
		w.hangUp()
	})
}

// A request gets its turn also if all slots are taken when the turn is free.
func TestPeer_orderedWithoutSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		var d diary
		o := ordering(&w, &d)
		o.InFlight = 1
		w = connect(t, o)
		w.say(request(1, "write"), request(2, "write"), request(3, "read"), request(4, "write"))
		time.Sleep(10 * time.Second)
		got := d.take()
		got = slices.DeleteFunc(got, func(s string) bool { return s == "read 3" })
		if want := []string{"write 1", "write 2", "write 4"}; !slices.Equal(got, want) {
			t.Errorf("done: %q, want %q", got, want)
		}
		w.hangUp()
	})
}

// After EOF, requests that wait for their turn get it, and one that waits may finish; an
// idle one is cancelled at once.
func TestPeer_orderedAtEOF(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		var d diary
		w = connect(t, ordering(&w, &d))
		w.say(request(1, "write wait"), request(2, "write idle"), request(3, "write"), request(4, "write"))
		time.Sleep(100 * time.Millisecond)
		if err := w.hangUp(); err != nil {
			t.Errorf("Run = %v", err)
		}
		want := []string{"waits: write wait 1", "waits: write idle 2", "ended: write idle 2", "write 3", "write 4", "ended: write wait 1"}
		if got := d.take(); !slices.Equal(got, want) {
			t.Errorf("done: %q\nwant:  %q", got, want)
		}
	})
}

// More ordered requests than the queue takes are refused, not kept in memory.
func TestPeer_orderedQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		var d diary
		o := ordering(&w, &d)
		o.Queue = 2
		w = connect(t, o)
		w.say(request(1, "write"), request(2, "write"), request(3, "write"), request(4, "write"))
		w.expect(failure(4, jsonrpc.CodeInternal, "busy: too many requests at once"))
		w.hangUp()
	})
}
