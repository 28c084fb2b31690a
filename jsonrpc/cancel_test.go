package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// cancelling are the options of a peer whose other side cancels with
// notifications "cancel [id]".
func cancelling(w **wire, handle func(context.Context, *jsonrpc.Message) (json.RawMessage, error)) jsonrpc.PeerOptions {
	return jsonrpc.PeerOptions{
		Handle: handle,
		Urgent: func(method string) bool { return method == "cancel" || method == "urgent" },
		Notified: func(_ context.Context, m *jsonrpc.Message) {
			var ids []jsonrpc.ID
			if json.Unmarshal(m.Params, &ids) == nil {
				(*w).peer.Cancel(ids[0])
			}
		},
	}
}

func cancel(id any) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"cancel","params":[%v]}`, id)
}

func TestCancel_noAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		var w *wire
		w = connect(t, cancelling(&w, func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			if m.Method == "slow" {
				<-ctx.Done()
				cause = context.Cause(ctx)
			}
			return echo(ctx, m)
		}))
		w.say(request(1, "slow"))
		w.expect()
		w.say(cancel(`"1"`), cancel(2)) // others
		w.expect()
		if cause != nil {
			t.Fatalf("another id's cancellation ended the request: %v", cause)
		}
		w.say(cancel(1), cancel(1), request(2, "quick"))
		w.expect(result(2, `"quick"`))
		if !errors.Is(cause, jsonrpc.ErrCancelled) {
			t.Errorf("cause = %v, want ErrCancelled", cause)
		}
		w.say(cancel(2), request(1, "again")) // finished; and the id is free again
		w.expect(result(1, `"again"`))
		w.hangUp()
	})
}

func TestCancel_whileQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		var started sync.Map
		o := cancelling(&w, func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			started.Store(m.ID.String(), true)
			return slow(ctx, m)
		})
		o.InFlight = 1
		w = connect(t, o)
		w.say(request(1, "slow"), request(2, "slow"), request(3, "quick"))
		w.expect()
		w.say(cancel(2))
		w.expect()
		w.say(cancel(1))
		w.expect(result(3, `"quick"`))
		if _, ok := started.Load("2"); ok {
			t.Error("a request that was cancelled in the queue was handled")
		}
		w.hangUp()
	})
}

func TestCancel_ofTheRequestItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		w = connect(t, jsonrpc.PeerOptions{Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			w.peer.Cancel(m.ID) // from the goroutine that reads
			if !errors.Is(context.Cause(ctx), jsonrpc.ErrCancelled) {
				t.Errorf("cause = %v, want ErrCancelled", context.Cause(ctx))
			}
			return nil, nil
		}})
		w.say(request(1, "x"))
		w.expect()
		w.hangUp()
	})
}

// However a cancellation meets the completion, there are no two answers, and the
// peer goes on.
func TestCancel_racingCompletion(t *testing.T) {
	ta, tb := osPipes(t)
	var srv *jsonrpc.Peer
	srv = jsonrpc.NewPeer(tb, &jsonrpc.PeerOptions{
		Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			if len(m.Params) == 2 { // every other one waits a little, and so loses the reading
				select {
				case <-ctx.Done():
				case <-time.After(1200 * time.Microsecond):
				}
			}
			return m.Params, nil
		},
		Urgent: func(method string) bool { return method == "cancel" },
		Notified: func(_ context.Context, m *jsonrpc.Message) {
			var ids []jsonrpc.ID
			if json.Unmarshal(m.Params, &ids) == nil {
				srv.Cancel(ids[0])
			}
		},
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := srv.Run(t.Context()); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	const n = 300
	wg.Go(func() {
		for i := range n {
			params := json.RawMessage([]string{`[]`, `{"a":1}`}[i%2])
			_ = ta.Send(t.Context(), jsonrpc.One(&jsonrpc.Message{ID: jsonrpc.IntID(int64(i)), Method: "m", Params: params}))
			if i%3 != 0 {
				<-time.After(time.Duration(i%7) * 200 * time.Microsecond)
			}
			_ = ta.Send(t.Context(), jsonrpc.One(&jsonrpc.Message{Method: "cancel", Params: json.RawMessage(fmt.Sprintf("[%d]", i))}))
		}
		_ = ta.Send(t.Context(), jsonrpc.One(&jsonrpc.Message{ID: jsonrpc.StringID("last"), Method: "m", Params: json.RawMessage(`{"a":2}`)}))
	})
	seen := map[jsonrpc.ID]int{}
	for {
		p, err := ta.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if seen[p.Message.ID]++; seen[p.Message.ID] > 1 {
			t.Errorf("two answers to %s", p.Message.ID)
		}
		if p.Message.Error != nil {
			t.Errorf("answer to %s: %v", p.Message.ID, p.Message.Error)
		}
		if p.Message.ID == jsonrpc.StringID("last") {
			break
		}
	}
	ta.Close()
	wg.Wait()
}

func TestRequest_idInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		w := connect(t, jsonrpc.PeerOptions{Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			n.Add(1)
			return slow(ctx, m)
		}})
		w.say(request(1, "slow"), request(1, "slow"), request(`"1"`, "other"))
		w.expect(failure("null", -32600, "id 1 is still in flight"), result(`"1"`, `"other"`))
		if n.Load() != 2 {
			t.Errorf("%d requests were handled, want 2", n.Load())
		}
		time.Sleep(time.Hour)
		w.expect(result(1, `"slow"`))
		w.say(request(1, "reused"))
		w.expect(result(1, `"reused"`))
		w.hangUp()
	})
}

func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		running, most := 0, 0
		var mu sync.Mutex
		o := cancelling(&w, func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			if m.Method != "urgent" {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				defer func() {
					mu.Lock()
					running--
					mu.Unlock()
				}()
			}
			return slow(ctx, m)
		})
		o.InFlight, o.Queue = 3, 4
		w = connect(t, o)
		var lines, busy, answers []string
		for i := range 10 {
			lines = append(lines, request(i, "slow"))
			if i < 7 {
				answers = append(answers, result(i, `"slow"`))
			} else {
				busy = append(busy, failure(i, -32603, "busy: too many requests at once"))
			}
		}
		w.say(lines...)
		w.expect(busy...)
		w.say(request(`"u"`, "urgent")) // with a full queue
		w.expect(result(`"u"`, `"urgent"`))
		time.Sleep(3 * time.Hour)
		w.expect(answers...)
		if most != 3 {
			t.Errorf("%d at once, want 3", most)
		}
		w.say(request(`"after"`, "quick"))
		w.expect(result(`"after"`, `"quick"`))
		w.hangUp()
	})
}

func TestIdle_givesUpItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{InFlight: 1, Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			if m.Method == "listen" {
				ctx, stop := context.WithTimeout(ctx, time.Minute)
				defer stop()
				resume := jsonrpc.Idle(ctx) // a context that is made from the request's will do
				<-ctx.Done()
				resume()
				return echo(ctx, m)
			}
			if m.Method == "late" {
				time.Sleep(time.Second) // it has lost the reading, and has a place
				defer jsonrpc.Idle(ctx)()
				time.Sleep(time.Minute)
				return echo(ctx, m)
			}
			return slow(ctx, m)
		}})
		w.say(request(1, "listen"), request(2, "listen"), request(3, "late"), request(4, "late"), request(5, "quick"))
		w.expect() // 3 has the place
		time.Sleep(3 * time.Second)
		w.expect(result(5, `"quick"`))
		time.Sleep(2 * time.Minute)
		w.expect(result(1, `"listen"`), result(2, `"listen"`), result(3, `"late"`), result(4, `"late"`))
		w.say(request(6, "quick"))
		w.expect(result(6, `"quick"`))
		jsonrpc.Idle(t.Context())() // not a request's: nothing happens
		w.hangUp()
	})
}

func TestUrgent_beforeTheNextMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		w := connect(t, jsonrpc.PeerOptions{
			Urgent: func(method string) bool { return strings.HasPrefix(method, "urgent") },
			Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
				if m.Method == "urgent" {
					time.Sleep(10 * time.Millisecond) // longer than a reader's patience
				}
				log = append(log, m.Method)
				return echo(ctx, m)
			},
		})
		w.say(request(1, "urgent"), request(2, "then"))
		w.expect(result(1, `"urgent"`), result(2, `"then"`))
		if got := strings.Join(log, " "); got != "urgent then" {
			t.Errorf("handled %s, want urgent then", got)
		}
		w.hangUp()
	})
}
