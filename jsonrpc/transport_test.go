package jsonrpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/jsonrpc/transporttest"
)

func TestPipe(t *testing.T) {
	transporttest.Run(t, func(*testing.T) (a, b jsonrpc.Transport) { return jsonrpc.Pipe(jsonrpc.Limits{}) })
}

func TestLines_osPipe(t *testing.T) {
	transporttest.Run(t, osPipes)
}

func osPipes(t *testing.T) (a, b jsonrpc.Transport) {
	ar, bw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	br, aw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return jsonrpc.Lines(ar, aw, jsonrpc.Limits{}), jsonrpc.Lines(br, bw, jsonrpc.Limits{})
}

func TestLines_ioPipe(t *testing.T) {
	transporttest.Run(t, ioPipes)
}

func ioPipes(*testing.T) (a, b jsonrpc.Transport) {
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	return jsonrpc.Lines(ar, aw, jsonrpc.Limits{}), jsonrpc.Lines(br, bw, jsonrpc.Limits{})
}

func TestLines_netPipe(t *testing.T) {
	transporttest.Run(t, func(*testing.T) (a, b jsonrpc.Transport) {
		x, y := net.Pipe()
		return jsonrpc.Lines(x, x, jsonrpc.Limits{}), jsonrpc.Lines(y, y, jsonrpc.Limits{})
	})
}

func TestPipe_contextEndsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := jsonrpc.Pipe(jsonrpc.Limits{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := a.Receive(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Receive = %v, want DeadlineExceeded", err)
		}
		var err error
		for range 1000 { // until there is no more room
			if err = a.Send(ctx, jsonrpc.One(&jsonrpc.Message{Method: "n"})); err != nil {
				break
			}
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Send = %v, want DeadlineExceeded", err)
		}
	})
}
