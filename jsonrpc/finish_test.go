package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// finishing handles "report", which is finished in an hour, and other methods, which give up in
// time.
func finishing(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
	d := 2 * time.Hour
	if m.Method == "report" {
		jsonrpc.Finish(ctx)
		defer jsonrpc.Yield(ctx)()
		d = time.Hour
	}
	select {
	case <-ctx.Done():
		return nil, jsonrpc.Errorf(1, "%v", context.Cause(ctx))
	case <-time.After(d):
		return echo(ctx, m)
	}
}

// A request that is to finish does so after the end of input; the others have their time.
func TestFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: finishing})
		w.say(request(1, "report"), request(2, "other"))
		start := time.Now()
		go func() { _ = w.hangUp() }()
		time.Sleep(6 * time.Second)
		w.expect(failure(2, 1, jsonrpc.ErrClosed.Error()))
		<-w.done
		if took := time.Since(start); w.err != nil || took < time.Hour || took > time.Hour+time.Second {
			t.Errorf("Run = %v after %v, want nil after an hour", w.err, took)
		}
		w.expect(result(1, `"report"`))
	})
}

// It is told that nothing more comes.
func TestFinish_eof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
			<-jsonrpc.Finish(ctx)
			return echo(ctx, m)
		}})
		w.say(request(1, "report"))
		w.expect()
		if err := w.hangUp(); err != nil {
			t.Errorf("Run = %v", err)
		}
		w.expect(result(1, `"report"`))
		if jsonrpc.Finish(t.Context()) != nil {
			t.Error("a context that is not a request's has an end of input")
		}
	})
}

// A program that is told to end does not wait for it.
func TestFinish_contextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: finishing})
		w.say(request(1, "report"))
		start := time.Now()
		go func() { _ = w.hangUp() }()
		time.Sleep(time.Minute)
		w.stop(errors.New("that will do"))
		<-w.done
		if took := time.Since(start); took > time.Minute+2*time.Second {
			t.Errorf("Run ended after %v, want a minute", took)
		}
		w.expect(failure(1, 1, jsonrpc.ErrClosed.Error()))
	})
}

// Nor is it waited for when nobody can read its response.
func TestFinish_readerGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a pipe does not tell")
	}
	for name, gone := range map[string]bool{"before": true, "meanwhile": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inR, inW := io.Pipe()
			outR, outW, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			causes := make(chan error, 1)
			p := jsonrpc.NewPeer(jsonrpc.Lines(inR, outW, jsonrpc.Limits{}), &jsonrpc.PeerOptions{Grace: time.Millisecond, Handle: func(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
				<-jsonrpc.Finish(ctx)
				if !gone {
					select {
					case <-ctx.Done():
						t.Error("it was cancelled while its response could be read")
					case <-time.After(100 * time.Millisecond):
					}
					outR.Close()
				}
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return nil, nil
			}})
			if gone {
				outR.Close()
			}
			go func() {
				_, _ = io.WriteString(inW, request(1, "report")+"\n")
				inW.Close()
			}()
			_ = p.Run(t.Context())
			if cause := <-causes; !errors.Is(cause, jsonrpc.ErrClosed) {
				t.Errorf("the request ended with %v, want ErrClosed", cause)
			}
		})
	}
}
