package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

func welcome() bool { return true }

// expectBatch checks that one batch was heard with these answers, in any order.
func (w *wire) expectBatch(want ...string) {
	w.t.Helper()
	lines := w.heard()
	var all []json.RawMessage
	if len(lines) != 1 || json.Unmarshal([]byte(lines[0]), &all) != nil {
		w.t.Errorf("heard %q, want one batch", lines)
		return
	}
	var got []string
	for _, raw := range all {
		got = append(got, string(raw))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("heard %q\nwant  %q", got, want)
	}
}

func batchOf(elements ...string) string { return "[" + strings.Join(elements, ",") + "]" }

func TestBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		w := connect(t, jsonrpc.PeerOptions{Handle: slow, Batches: welcome, Notified: func(_ context.Context, m *jsonrpc.Message) {
			told = append(told, m.Method)
		}})
		w.say(batchOf(request(1, "a"), notice("n1"), request(`"x"`, "b"), notice("n2")))
		w.expectBatch(result(1, `"a"`), result(`"x"`, `"b"`))
		if !slices.Equal(told, []string{"n1", "n2"}) {
			t.Errorf("notified of %q", told)
		}

		w.say(batchOf(notice("n3"), notice("n4"))) // nothing to answer
		w.expect()

		w.say(batchOf(request(1, "slow"), request(2, "quick")), request(3, "alone")) // all or nothing
		w.expect(result(3, `"alone"`))
		time.Sleep(time.Hour)
		w.expectBatch(result(1, `"slow"`), result(2, `"quick"`))

		w.say(batchOf(request(1, "slow"), request(1, "again"), `1`, `[]`, batchOf(request(5, "nested")), `{"jsonrpc":"2.0","id":9}`))
		time.Sleep(time.Hour)
		const object = "Invalid Request: message must be an object"
		w.expectBatch(result(1, `"slow"`), failure("null", -32600, "duplicate id 1 in the batch"),
			failure("null", -32600, object), failure("null", -32600, object), failure("null", -32600, object),
			failure(9, -32600, "Invalid Request: message must have a method, a result or an error"))

		w.say(`[]`)
		w.expect(failure("null", -32600, "Invalid Request: batch is empty"))
		w.say(`[` + strings.Repeat(request(1, "a")+",", 100) + request(2, "b") + `]`)
		w.expect(failure("null", -32600, "Invalid Request: batch has too many messages"))
		if err := w.hangUp(); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestBatch_unwelcome(t *testing.T) {
	for _, o := range []jsonrpc.PeerOptions{{}, {Batches: func() bool { return false }}} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			o.Handle = func(context.Context, *jsonrpc.Message) (json.RawMessage, error) { n++; return nil, nil }
			o.Notified = func(context.Context, *jsonrpc.Message) { n++ }
			w := connect(t, o)
			w.say(batchOf(request(1, "a"), notice("n")))
			w.expect(failure("null", -32600, "batches are not supported"))
			w.say(`[]`)
			w.expect(failure("null", -32600, "Invalid Request: batch is empty"))
			if n != 0 {
				t.Errorf("%d messages were handled", n)
			}
			w.hangUp()
		})
	}
}

func TestBatch_idInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: slow, Batches: welcome})
		w.say(request(1, "slow"), batchOf(request(1, "a"), request(2, "b")))
		w.expectBatch(failure("null", -32600, "id 1 is still in flight"), result(2, `"b"`))
		time.Sleep(time.Hour)
		w.expect(result(1, `"slow"`))
		w.hangUp()
	})
}

func TestBatch_overTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{
			Handle: slow, Batches: welcome, InFlight: 1, Queue: 1,
			Urgent: func(method string) bool { return method == "urgent" },
		})
		w.say(batchOf(request(1, "slow"), request(2, "slow"), request(3, "slow"), request(4, "urgent")))
		time.Sleep(2 * time.Hour)
		w.expectBatch(result(1, `"slow"`), result(2, `"slow"`), failure(3, -32603, "busy: too many requests at once"), result(4, `"urgent"`))
		w.hangUp()
	})
}

func TestBatch_cancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		o := cancelling(&w, slow)
		o.Batches = welcome
		w = connect(t, o)
		w.say(batchOf(request(1, "slow"), request(2, "quick")))
		w.expect()
		w.say(cancel(1))
		w.expectBatch(result(2, `"quick"`))
		w.say(batchOf(request(1, "slow")))
		w.expect()
		w.say(cancel(1))
		w.expect() // not even an empty batch
		w.hangUp()
	})
}

func TestBatch_ofResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Batches: welcome})
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := w.peer.Call(t.Context(), "x", nil)
				errs <- err
			}()
		}
		w.heard()
		w.say(batchOf(result(1, "{}"), `{"id":2,"result":{}}`, result(3, "{}")))
		a, b := <-errs, <-errs
		if a != nil && b != nil || a == nil && b == nil {
			t.Errorf("calls = %v and %v, want one to succeed", a, b)
		}
		if _, ok := errors.AsType[*jsonrpc.Malformed](errors.Join(a, b)); !ok {
			t.Errorf("calls = %v and %v, want one *Malformed", a, b)
		}
		w.expect()
		if got := w.complaints(); len(got) != 2 {
			t.Errorf("Refused was told %q, want the malformed one and the stray one", got)
		}
		w.hangUp()
	})
}

func TestAppend_leavesMalformedElementsOut(t *testing.T) {
	p, err := jsonrpc.Decode([]byte(`[1,{"jsonrpc":"2.0","method":"a"},2,{"jsonrpc":"2.0","method":"b"}]`), jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(p.Append(nil)), batchOf(notice("a"), notice("b")); got != want {
		t.Errorf("Append = %s, want %s", got, want)
	}
}

// What is urgent is done before the next message is read, in a batch as well.
func TestBatch_urgentNotificationComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := false
		w := connect(t, jsonrpc.PeerOptions{
			Batches:  welcome,
			Urgent:   func(method string) bool { return method == "ready" },
			Notified: func(context.Context, *jsonrpc.Message) { ready = true },
			Handle: func(context.Context, *jsonrpc.Message) (json.RawMessage, error) {
				return json.Marshal(ready)
			},
		})
		w.say(batchOf(notice("ready")), request(1, "is it"))
		w.expect(result(1, `true`))
		if err := w.hangUp(); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}
