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

func TestNotified_inOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		w := connect(t, jsonrpc.PeerOptions{Notified: func(_ context.Context, n *jsonrpc.Message) {
			if len(got)%7 == 0 {
				time.Sleep(20 * time.Millisecond) // some are slow, and lose the reading
			}
			got = append(got, n.Method)
		}})
		var want []string
		for i := range 100 {
			want = append(want, fmt.Sprint("n", i))
			w.say(notice(want[i]))
		}
		time.Sleep(time.Second)
		if err := w.hangUp(); err != nil {
			t.Errorf("Run = %v", err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("notified of %q", got)
		}
	})
}

func TestNotified_beforeALaterResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log []string
		note := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, s)
		}
		w := connect(t, jsonrpc.PeerOptions{Notified: func(_ context.Context, n *jsonrpc.Message) {
			time.Sleep(time.Second)
			note(n.Method)
		}})
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := w.peer.Call(t.Context(), "x", nil); err != nil {
				t.Errorf("Call = %v", err)
			}
			note("answer")
		}()
		w.heard()
		w.say(notice("one"), notice("two"), result(1, "{}"), notice("three"))
		<-done
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := strings.Join(log, " "); got != "one two answer three" {
			t.Errorf("it went: %s, want one two answer three", got)
		}
		w.hangUp()
	})
}

func TestNotified_mayCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		var got json.RawMessage
		w = connect(t, jsonrpc.PeerOptions{Notified: func(ctx context.Context, _ *jsonrpc.Message) {
			var err error
			if got, err = w.peer.Call(ctx, "x", nil); err != nil {
				t.Errorf("Call = %v", err)
			}
		}})
		w.say(notice("n"))
		w.expect(request(1, "x"))
		w.say(result(1, `"y"`))
		w.heard()
		if string(got) != `"y"` {
			t.Errorf("the handler was answered %s", got)
		}
		w.hangUp()
	})
}

func TestNotified_slowBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: echo, Notified: func(context.Context, *jsonrpc.Message) { time.Sleep(time.Second) }})
		w.say(notice("n"), request(1, "quick"))
		w.expect(result(1, `"quick"`))
		w.hangUp()
	})
}

func TestNotified_flood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		var w *wire
		w = connect(t, jsonrpc.PeerOptions{
			Handle: echo,
			Notified: func(context.Context, *jsonrpc.Message) {
				if n++; n == 1 {
					time.Sleep(time.Minute)
				}
			},
			Refused: func(err error) {
				w.peer.Cancel(jsonrpc.IntID(1)) // it may call back
				w.mu.Lock()
				defer w.mu.Unlock()
				w.refused = append(w.refused, err.Error())
			},
		})
		w.say(strings.Repeat(notice("n")+"\n", 5000))
		w.say(request(1, "quick"))
		w.expect(result(1, `"quick"`))
		time.Sleep(time.Hour)
		dropped := len(w.complaints())
		if n != 4097 || n+dropped != 5000 {
			t.Errorf("%d were handled and %d dropped, want 4097 and the rest", n, dropped)
		}
		w.hangUp()
	})
}

// What waits for a slow handler is bounded in bytes, too.
func TestNotified_floodOfLargeOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		w := connect(t, jsonrpc.PeerOptions{Notified: func(context.Context, *jsonrpc.Message) {
			if n++; n == 1 {
				time.Sleep(time.Minute)
			}
		}})
		w.say(notice("n"))
		time.Sleep(time.Second) // it is being handled
		large := `{"jsonrpc":"2.0","method":"n","params":["` + strings.Repeat("x", 1<<19) + `"]}`
		for range 50 {
			w.say(large)
		}
		time.Sleep(time.Hour)
		if dropped := len(w.complaints()); n != 1+31 || n+dropped != 1+50 {
			t.Errorf("%d were handled and %d dropped, want 32 and the rest", n, dropped)
		}
		w.hangUp()
	})
}
