package jsonrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

func TestEnd_requestsGetGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var causes []string
		w := connect(t, jsonrpc.PeerOptions{Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			d := map[string]time.Duration{"short": 4 * time.Second, "long": time.Hour}[m.Method]
			select {
			case <-time.After(d):
			case <-ctx.Done():
				causes = append(causes, fmt.Sprint(m.Method, " ", context.Cause(ctx)))
			}
			return echo(ctx, m)
		}})
		w.say(request(1, "long"), request(2, "short"))
		start := time.Now()
		if err := w.hangUp(); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		if took := time.Since(start); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("Run took %v to end, want 5s", took)
		}
		w.expect(result(2, `"short"`), result(1, `"long"`)) // what heeds its context can still answer
		if got := strings.Join(causes, ", "); got != "long "+jsonrpc.ErrClosed.Error() {
			t.Errorf("ended: %s", got)
		}
	})
}

func TestEnd_graceIsNoLongerThanNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			time.Sleep(time.Second)
			return echo(ctx, m)
		}})
		start := time.Now()
		w.say(request(1, "a"))
		if err := w.hangUp(); err != nil || time.Since(start) > 1100*time.Millisecond {
			t.Errorf("Run = %v after %v", err, time.Since(start))
		}
		w.expect(result(1, `"a"`))
	})
}

func TestEnd_queuedRequestsAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{InFlight: 1, Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			time.Sleep(time.Second)
			return echo(ctx, m)
		}})
		w.say(request(1, "a"), request(2, "b"), request(3, "c"))
		if err := w.hangUp(); err != nil {
			t.Errorf("Run = %v", err)
		}
		w.expect(result(1, `"a"`), result(2, `"b"`), result(3, `"c"`))
	})
}

func TestEnd_idleRequestsEndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			defer jsonrpc.Idle(ctx)()
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), jsonrpc.ErrClosed) {
				t.Errorf("cause = %v, want ErrClosed", context.Cause(ctx))
			}
			return json.RawMessage(`"bye"`), nil
		}})
		w.say(request(1, "listen"), request(2, "listen"))
		w.expect()
		start := time.Now()
		if err := w.hangUp(); err != nil || time.Since(start) > 10*time.Millisecond {
			t.Errorf("Run = %v after %v, want nil at once", err, time.Since(start))
		}
		w.expect(result(1, `"bye"`), result(2, `"bye"`))
	})
}

func TestEnd_notificationsInABatchAreHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		w := connect(t, jsonrpc.PeerOptions{Batches: welcome, Notified: func(ctx context.Context, _ *jsonrpc.Message) {
			select {
			case <-time.After(time.Second):
				n++
			case <-ctx.Done():
			}
		}})
		w.say(batchOf(notice("a"), notice("b")))
		if err := w.hangUp(); err != nil || n != 2 {
			t.Errorf("Run = %v, and %d notifications were handled, want 2", err, n)
		}
	})
}

func TestEnd_contextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("that will do")
		w := connect(t, jsonrpc.PeerOptions{
			Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
				time.Sleep(3 * time.Second)
				return echo(ctx, m)
			},
			Notified: func(context.Context, *jsonrpc.Message) {},
		})
		w.say(request(1, "a"))
		w.heard()
		w.stop(why)
		synctest.Wait()
		w.say(request(2, "b"), notice("n")) // too late
		w.expect(failure(2, -32603, "shutting down"))
		<-w.done
		if !errors.Is(w.err, why) {
			t.Errorf("Run = %v, want the cause of its context", w.err)
		}
		w.expect(result(1, `"a"`))
		if _, err := w.in.Write([]byte("x")); err == nil {
			t.Error("the transport is still open")
		}
	})
}

// Notifications may arrive between the last answer and the closing.
func TestEnd_lateNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ta, tb := jsonrpc.Pipe(jsonrpc.Limits{})
		p := jsonrpc.NewPeer(slowToClose{tb}, &jsonrpc.PeerOptions{Notified: func(context.Context, *jsonrpc.Message) {}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		synctest.Wait()
		stop()
		for range 20 {
			_ = ta.Send(t.Context(), jsonrpc.One(&jsonrpc.Message{Method: "n"}))
			time.Sleep(10 * time.Millisecond)
		}
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
	})
}

// slowToClose takes its time to close, and goes on receiving meanwhile.
type slowToClose struct{ jsonrpc.Transport }

func (s slowToClose) Receive(context.Context) (jsonrpc.Packet, error) {
	return s.Transport.Receive(context.Background())
}

func (s slowToClose) Close() error {
	time.Sleep(100 * time.Millisecond)
	return s.Transport.Close()
}

func TestEnd_callsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{})
		failed := make(chan error)
		go func() {
			_, err := w.peer.Call(t.Context(), "x", nil)
			failed <- err
		}()
		w.heard()
		go func() { _ = w.hangUp() }()
		if err := <-failed; !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("Call = %v, want ErrClosed", err)
		}
		<-w.done
		if _, err := w.peer.Call(t.Context(), "x", nil); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("Call after the end = %v, want ErrClosed", err)
		}
		if err := w.peer.Notify(t.Context(), "x", nil); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("Notify after the end = %v, want ErrClosed", err)
		}
	})
}

func TestEnd_handlerThatDoesNotHeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Grace: time.Second, Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			time.Sleep(time.Hour)
			return nil, nil
		}})
		w.say(request(1, "a"))
		start := time.Now()
		if err := w.hangUp(); err == nil || time.Since(start) > 3*time.Second {
			t.Errorf("Run = %v after %v, want an error soon", err, time.Since(start))
		}
		time.Sleep(time.Hour)
	})
}

func TestEnd_writeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		w := connect(t, jsonrpc.PeerOptions{Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			if m.Method == "wait" {
				<-ctx.Done()
				ended <- context.Cause(ctx)
			}
			return nil, nil
		}})
		w.say(request(1, "wait"))
		w.expect()
		w.out.CloseWithError(errors.New("disk on fire"))
		w.say(request(2, "x"))
		start := time.Now()
		<-w.done
		if w.err == nil || !strings.Contains(w.err.Error(), "disk on fire") || time.Since(start) > 10*time.Millisecond {
			t.Errorf("Run = %v after %v, want the write's error at once", w.err, time.Since(start))
		}
		if cause := <-ended; !errors.Is(cause, jsonrpc.ErrClosed) {
			t.Errorf("the other request ended with %v, want ErrClosed", cause)
		}
	})
}

func TestEnd_readerGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: echo})
		w.out.Close()
		w.say(request(1, "x"))
		<-w.done
		if !errors.Is(w.err, jsonrpc.ErrClosed) {
			t.Errorf("Run = %v, want ErrClosed", w.err)
		}
	})
}

func TestEnd_stalledReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		_, outW := io.Pipe() // nobody reads
		p := jsonrpc.NewPeer(jsonrpc.Lines(inR, outW, jsonrpc.Limits{}), &jsonrpc.PeerOptions{Handle: echo})
		done := make(chan error)
		go func() { done <- p.Run(t.Context()) }()
		start := time.Now()
		_, _ = io.WriteString(inW, request(1, "a")+"\n")
		_, _ = io.WriteString(inW, request(2, "b")+"\n") // reading goes on meanwhile
		if took := time.Since(start); took > time.Second {
			t.Errorf("the second request was read after %v", took)
		}
		err := <-done
		if took := time.Since(start); !errors.Is(err, jsonrpc.ErrStalled) || took < 29*time.Second || took > 32*time.Second {
			t.Errorf("Run = %v after %v, want ErrStalled after 30s", err, took)
		}
	})
}

func TestEnd_stalledReaderHoldsCloseFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		_, outW := io.Pipe() // nobody reads
		tr := jsonrpc.Lines(inR, outW, jsonrpc.Limits{})
		sent := make(chan error)
		go func() { sent <- tr.Send(context.Background(), jsonrpc.One(&jsonrpc.Message{Method: "n"})) }()
		synctest.Wait()
		start := time.Now()
		if err := tr.Close(); err != nil || time.Since(start) != 5*time.Second {
			t.Errorf("Close = %v after %v, want nil after 5s", err, time.Since(start))
		}
		if err := <-sent; !errors.Is(err, jsonrpc.ErrStalled) {
			t.Errorf("Send = %v, want ErrStalled", err)
		}
		inW.Close()
	})
}

func TestEnd_idleDuringGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			time.Sleep(time.Second)
			defer jsonrpc.Idle(ctx)() // too late to wait for anything
			<-ctx.Done()
			return echo(ctx, m)
		}})
		w.say(request(1, "a"))
		start := time.Now()
		if err := w.hangUp(); err != nil || time.Since(start) > 1100*time.Millisecond {
			t.Errorf("Run = %v after %v, want nil after 1s", err, time.Since(start))
		}
		w.expect(result(1, `"a"`))
	})
}

// A side that sends and never reads costs a bounded number of goroutines: then
// nothing more is read from it.
func TestEnd_sideThatNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		_, outW := io.Pipe() // nobody reads
		handled := 0
		p := jsonrpc.NewPeer(jsonrpc.Lines(inR, outW, jsonrpc.Limits{}), &jsonrpc.PeerOptions{
			Handle: func(_ context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
				handled++
				return m.Params, nil
			},
		})
		done := make(chan error, 1)
		go func() { done <- p.Run(t.Context()) }()
		big := `{"text":"` + strings.Repeat("x", 100<<10) + `"}`
		sent := 0
		for { // until the peer has ended, and the pipe with it
			if _, err := fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":%d,"method":"a","params":%s}`+"\n", sent, big); err != nil {
				break
			}
			sent++
		}
		if err := <-done; !errors.Is(err, jsonrpc.ErrStalled) {
			t.Errorf("Run = %v, want ErrStalled", err)
		}
		if most := 200; sent > most { // 4 MiB unsent, 64 that wait to write, and a little
			t.Errorf("%d requests of 100 KiB were read, want at most %d", sent, most)
		}
	})
}

// The answer to the last call cannot be written: that is no ordinary end.
func TestEnd_answerLostInTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		p := jsonrpc.NewPeer(jsonrpc.Lines(inR, outW, jsonrpc.Limits{}), &jsonrpc.PeerOptions{Handle: slow})
		done := make(chan error, 1)
		go func() { done <- p.Run(t.Context()) }()
		_, _ = io.WriteString(inW, request(1, "nap")+"\n")
		_ = inW.Close()
		_ = outR.Close()
		if err := <-done; err == nil {
			t.Error("Run = nil, want an error: the answer was lost")
		}
	})
}

// A request that is over has no place to give up or to take.
func TestIdle_afterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept context.Context
		w := connect(t, jsonrpc.PeerOptions{InFlight: 1, Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			kept = ctx
			return json.RawMessage(`"done"`), nil
		}})
		w.say(request(1, "a"))
		w.expect(result(1, `"done"`))
		for range 10 {
			jsonrpc.Idle(kept)()
		}
		w.say(request(2, "b"))
		w.expect(result(2, `"done"`))
		if err := w.hangUp(); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

// A yielding buffer lets others run while it is closed.
type yielding struct{ bytes.Buffer }

func (*yielding) Close() error {
	runtime.Gosched()
	return nil
}

// What goes out at the very end, and has gone out, is no failure of the conversation.
func TestEnd_lastNotification(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the writer comes late
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		var p *jsonrpc.Peer
		var out yielding
		p = jsonrpc.NewPeer(jsonrpc.Lines(strings.NewReader(request(1, "a")+"\n"), &out, jsonrpc.Limits{}), &jsonrpc.PeerOptions{
			Handle: func(context.Context, *jsonrpc.Message) (json.RawMessage, error) {
				return json.RawMessage(`{}`), p.Notify(ctx, "bye", nil)
			},
		})
		if err := p.Run(t.Context()); err != nil {
			t.Fatalf("Run = %v, having written %q", err, out.String())
		}
		if !strings.Contains(out.String(), `"bye"`) || !strings.Contains(out.String(), `"id":1`) {
			t.Fatalf("written: %q", out.String())
		}
		cancel()
	}
}

// A lateTeller is told something when it has been closed.
type lateTeller struct {
	jsonrpc.Transport
	closed func()
}

func (l *lateTeller) Close() error {
	defer l.closed()
	return l.Transport.Close()
}

// Nor is what comes when we have closed the transport ourselves.
func TestEnd_notifiedTooLate(t *testing.T) {
	ours, theirs := jsonrpc.Pipe(jsonrpc.Limits{})
	var p *jsonrpc.Peer
	var late error
	p = jsonrpc.NewPeer(&lateTeller{ours, func() { late = p.Notify(t.Context(), "bye", nil) }}, nil)
	_ = theirs.Close()
	if err := p.Run(t.Context()); err != nil || !errors.Is(late, jsonrpc.ErrClosed) {
		t.Errorf("Run = %v, and Notify after it = %v; want nil and ErrClosed", err, late)
	}
}
