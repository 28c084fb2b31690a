package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// pair runs two peers that talk to each other over a Pipe, until the test ends.
func pair(t *testing.T, a, b jsonrpc.PeerOptions) (pa, pb *jsonrpc.Peer) {
	ta, tb := jsonrpc.Pipe(jsonrpc.Limits{})
	pa, pb = jsonrpc.NewPeer(ta, &a), jsonrpc.NewPeer(tb, &b)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() { _ = pa.Run(ctx) })
	wg.Go(func() { _ = pb.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return pa, pb
}

func TestCall_matchesAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pair(t, jsonrpc.PeerOptions{}, jsonrpc.PeerOptions{Handle: func(_ context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			var v struct{ N int }
			if err := json.Unmarshal(m.Params, &v); err != nil {
				return nil, err
			}
			time.Sleep(time.Duration(v.N*7919%100) * time.Millisecond) // answered in another order than asked
			return m.Params, nil
		}})
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				want := fmt.Sprintf(`{"N":%d}`, i)
				if got, err := p.Call(t.Context(), "echo", map[string]int{"N": i}); err != nil || string(got) != want {
					t.Errorf("Call %d = %s, %v, want %s", i, got, err, want)
				}
			})
		}
		wg.Wait()
	})
}

func TestCall_errors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pair(t, jsonrpc.PeerOptions{}, jsonrpc.PeerOptions{Handle: func(_ context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			switch m.Method {
			case "own":
				return nil, fmt.Errorf("wrapped: %w", jsonrpc.Errorf(42, "mine").With("more"))
			case "secret":
				return nil, errors.New("password is hunter2")
			case "nil":
				return nil, (*jsonrpc.Error)(nil)
			case "empty":
				return json.RawMessage{}, nil
			}
			return nil, nil
		}})
		for _, c := range []struct{ method, want string }{
			{"own", `mine (42) "more"`},
			{"secret", `Internal error (-32603) `},
			{"nil", `Internal error (-32603) `},
		} {
			_, err := p.Call(t.Context(), c.method, nil)
			e, ok := errors.AsType[*jsonrpc.Error](err)
			if !ok || e.Error()+" "+string(e.Data) != c.want {
				t.Errorf("Call(%s) = %v, want %s", c.method, err, c.want)
			}
		}
		for _, method := range []string{"nothing", "empty"} {
			if got, err := p.Call(t.Context(), method, json.RawMessage{}); err != nil || string(got) != "{}" {
				t.Errorf("Call(%s) = %s, %v, want {}", method, got, err)
			}
		}
		if _, err := p.Call(t.Context(), "x", func() {}); err == nil {
			t.Error("Call with params that cannot be encoded succeeds")
		}
		if err := p.Notify(t.Context(), "x", func() {}); err == nil {
			t.Error("Notify with params that cannot be encoded succeeds")
		}
	})
}

func TestPeer_withoutHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{})
		w.say(request(1, "x"), notice("y"))
		w.expect(failure(1, -32601, `method "x" not found`))
		if err := w.hangUp(); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

// Every hostile line gets its answer, and the line behind it is served.
func TestPeer_hostile(t *testing.T) {
	for _, c := range hostile {
		if c.code == 0 || len(c.in) > 1<<12 || strings.Contains(c.in, "\n") || strings.Trim(c.in, " \t\r") == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := connect(t, jsonrpc.PeerOptions{Handle: echo})
				w.say(c.in, request(`"next"`, "ok"))
				got := w.heard()
				if len(got) == 0 || got[len(got)-1] != result(`"next"`, `"ok"`) {
					t.Fatalf("heard %q, want an answer to the next request", got)
				}
				id := c.id
				if id == "" {
					id = "null"
				}
				switch prefix := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,`, id, c.code); {
				case c.silent && len(got) != 1:
					t.Errorf("heard %q, want no answer", got)
				case !c.silent && (len(got) != 2 || !strings.HasPrefix(got[0], prefix)):
					t.Errorf("heard %q, want %s…", got, prefix)
				}
				if n := len(w.complaints()); n != 1 {
					t.Errorf("Refused was told %d times, want once", n)
				}
				if err := w.hangUp(); err != nil {
					t.Errorf("Run = %v", err)
				}
			})
		})
	}
}

func TestPeer_noID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{NoID: func() bool { return true }})
		w.say(`x`)
		w.expect(`{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error: not valid JSON"}}`)
		w.hangUp()
	})
}

func TestPeer_echoesIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: echo})
		for _, id := range []string{`0`, `-5`, `"1"`, `""`, `9007199254740993`, `"\u0000\/"`} {
			w.say(request(id, "m"))
			w.expect(result(id, `"m"`))
		}
		w.hangUp()
	})
}

func TestPeer_answersWhenBlankLinesFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: echo})
		w.say(request(1, "a"), "", "  \t\r", request(2, "b"), "\r")
		w.expect(result(1, `"a"`), result(2, `"b"`))
		w.hangUp()
	})
}

func TestPeer_pipelined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: echo})
		var lines, want []string
		for i := range 1000 {
			lines = append(lines, request(i, "m"))
			want = append(want, result(i, `"m"`))
		}
		lines = append(lines, notice("n"), result(77, "{}"), `half a li`)
		w.say(strings.Join(lines, "\n"))
		if got := w.heard(); len(got) < 1000 || !slices.Equal(got[:1000], want) {
			t.Errorf("heard %d answers, want 1000 in order", len(got))
		}
		w.hangUp()
	})
}

func TestPeer_slowHandlerBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: slow})
		start := time.Now()
		w.say(request(1, "slow"), request(2, "quick"))
		w.expect(result(2, `"quick"`))
		w.say(request(3, "quick"))
		w.expect(result(3, `"quick"`))
		if took := time.Since(start); took > time.Second {
			t.Errorf("it took %v", took)
		}
		time.Sleep(time.Hour)
		w.expect(result(1, `"slow"`))
		w.hangUp()
	})
}

func TestPeer_thousandSlowCallsStartPromptly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var started atomic.Int32
		w := connect(t, jsonrpc.PeerOptions{InFlight: 1000, Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			started.Add(1)
			return slow(ctx, m)
		}})
		var lines []string
		for i := range 1000 {
			lines = append(lines, request(i, "slow"))
		}
		start := time.Now()
		w.say(strings.Join(lines, "\n"))
		for started.Load() < 1000 {
			if time.Since(start) > time.Second {
				t.Fatalf("%d have started after %v", started.Load(), time.Since(start))
			}
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(start); took > 50*time.Millisecond {
			t.Errorf("1000 slow calls took %v to start, want at most 50ms", took)
		}
		time.Sleep(time.Hour)
		if n := len(w.heard()); n != 1000 {
			t.Errorf("%d answers, want 1000", n)
		}
		w.hangUp()
	})
}

// Two peers that flood each other wait for each other to read. Neither may stop
// reading while it waits.
func TestPeer_floodsBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ta, tb := ioPipes(t) // which hold nothing: a write waits for its reader
		big := json.RawMessage(`["` + strings.Repeat("x", 10_000) + `"]`)
		o := jsonrpc.PeerOptions{
			Handle: func(context.Context, *jsonrpc.Message) (json.RawMessage, error) { return big, nil },
			Urgent: func(method string) bool { return method == "urgent" },
			Queue:  1, InFlight: 1,
		}
		a, b := jsonrpc.NewPeer(ta, &o), jsonrpc.NewPeer(tb, &o)
		ctx, cancel := context.WithCancel(t.Context())
		var runs, calls sync.WaitGroup
		for _, p := range []*jsonrpc.Peer{a, b} {
			runs.Go(func() {
				if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("Run = %v", err)
				}
			})
			for i := range 200 {
				calls.Go(func() {
					_, err := p.Call(ctx, []string{"urgent", "m"}[i%2], big)
					if e, ok := errors.AsType[*jsonrpc.Error](err); err != nil && (!ok || !strings.HasPrefix(e.Message, "busy")) {
						t.Errorf("Call = %v", err)
					}
				})
			}
		}
		calls.Wait()
		cancel()
		runs.Wait()
	})
}

func TestPeer_panic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		w := connect(t, jsonrpc.PeerOptions{
			Handle:   func(context.Context, *jsonrpc.Message) (json.RawMessage, error) { panic("secret") },
			Notified: func(context.Context, *jsonrpc.Message) { panic("secret too") },
			Panicked: func(m *jsonrpc.Message, v any, stack []byte) {
				told = append(told, fmt.Sprint(m.Method, v, len(stack) > 0))
			},
		})
		w.say(request(1, "a"), notice("b"), request(2, "c"))
		w.expect(failure(1, -32603, "Internal error"), failure(2, -32603, "Internal error"))
		if want := []string{"asecrettrue", "bsecret tootrue", "csecrettrue"}; !slices.Equal(told, want) {
			t.Errorf("Panicked was told %q, want %q", told, want)
		}
		w.hangUp()
	})
}

func TestCall_malformedAnswer(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`,
		`{"jsonrpc":"2.0","id":1}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}}`,
		`{"id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`,
		`{"jsonrpc":"2.0","id":1,"result":` + nest(100) + `}`,
		`{"result":` + nest(100) + `,"jsonrpc":"2.0","id":1}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := connect(t, jsonrpc.PeerOptions{})
			var err error
			called := make(chan struct{})
			go func() {
				defer close(called)
				_, err = w.peer.Call(t.Context(), "x", nil)
			}()
			w.expect(request(1, "x"))
			w.say(line)
			w.expect() // nobody answers an answer
			select {
			case <-called:
				if bad, ok := errors.AsType[*jsonrpc.Malformed](err); !ok {
					t.Errorf("after %s: Call = %v, want *Malformed", line, err)
				} else if bad.ID != jsonrpc.IntID(1) {
					t.Errorf("after %s: id %s", line, bad.ID)
				}
			default:
				t.Errorf("after %s: Call still waits", line)
			}
			w.hangUp()
			<-called
		})
	}
}

func TestCall_strayAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			if got, err := w.peer.Call(t.Context(), "x", nil); string(got) != "1" {
				t.Errorf("Call = %s, %v, want 1", got, err)
			}
		}()
		w.expect(request(1, "x"))
		w.say(result(7, "{}"), result(`"1"`, "{}"), result(1, "1"), result(1, "2"), `{"jsonrpc":"2.0","id":null,"error":{"code":5,"message":"m"}}`)
		<-done
		w.expect()
		want := []string{
			`response to unknown id 7`, `response to unknown id "1"`,
			`response to unknown id 1`, `error response without id: m (5)`,
		}
		if got := w.complaints(); !slices.Equal(got, want) {
			t.Errorf("Refused was told %q, want %q", got, want)
		}
		if err := w.hangUp(); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestCall_abandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		w := connect(t, jsonrpc.PeerOptions{Abandoned: func(id jsonrpc.ID, method string, cause error) {
			told = append(told, fmt.Sprint(id, method, cause))
		}})
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("enough"))
		defer cancel()
		if _, err := w.peer.Call(ctx, "x", nil); err == nil || err.Error() != "enough" {
			t.Errorf("Call = %v, want the cause of its context", err)
		}
		if want := []string{"1xenough"}; !slices.Equal(told, want) {
			t.Errorf("Abandoned was told %q, want %q", told, want)
		}
		w.say(result(1, "{}")) // too late
		w.heard()
		if got := w.complaints(); len(got) != 1 {
			t.Errorf("Refused was told %q, want the late answer", got)
		}
		w.hangUp()
	})
}

// Outside a bubble: many at once, real time, real pipes.
func TestPeer_manyCallsOverRealPipes(t *testing.T) {
	before := runtime.NumGoroutine()
	ta, tb := osPipes(t)
	o := &jsonrpc.PeerOptions{Handle: func(_ context.Context, m *jsonrpc.Message) (json.RawMessage, error) { return m.Params, nil }}
	a, b := jsonrpc.NewPeer(ta, o), jsonrpc.NewPeer(tb, o)
	ctx, cancel := context.WithCancel(t.Context())
	var runs, calls sync.WaitGroup
	for _, p := range []*jsonrpc.Peer{a, b} {
		runs.Go(func() { _ = p.Run(ctx) })
		for c := range 8 {
			calls.Go(func() {
				for i := range 200 {
					want := fmt.Sprintf(`[%d,%d,%q]`, c, i, strings.Repeat("x", i*10))
					if got, err := p.Call(ctx, "echo", json.RawMessage(want)); err != nil || string(got) != want {
						t.Errorf("Call = %s, %v, want %s", got, err, want)
						return
					}
				}
			})
		}
	}
	calls.Wait()
	cancel()
	runs.Wait()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Fatalf("goroutines are left behind:\n%s", buf[:runtime.Stack(buf, true)])
		}
	}
}

// Whatever the reading goroutine writes, and nobody reads, the reading goes on.
func TestPeer_readsWhileItIsNotRead(t *testing.T) {
	for _, c := range []struct{ name, lines string }{
		{"answer", request(1, "a")},
		{"malformed", "x"},
		{"urgent", request(1, "urgent")},
		{"refused", request(1, "slow") + "\n" + request(1, "slow")},
		{"batch", "[1]"},
		{"held back", request(1, "a") + "\n" + notice("n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inR, inW := io.Pipe()
				outR, outW := io.Pipe()
				p := jsonrpc.NewPeer(jsonrpc.Lines(inR, outW, jsonrpc.Limits{}), &jsonrpc.PeerOptions{
					Handle: slow, Batches: welcome, Urgent: func(method string) bool { return method == "urgent" },
				})
				done := make(chan error)
				go func() { done <- p.Run(t.Context()) }()
				start := time.Now()
				for range 3 {
					if _, err := io.WriteString(inW, c.lines+"\n"); err != nil {
						t.Fatal(err)
					}
				}
				if took := time.Since(start); took > time.Second {
					t.Errorf("reading went on after %v", took)
				}
				go func() { _, _ = io.Copy(io.Discard, outR) }()
				inW.Close()
				if err := <-done; err != nil {
					t.Errorf("Run = %v", err)
				}
			})
		})
	}
}
