package gateway

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// slowProgress is a client's connection on which a result overtakes progress if both are sent at the same time.
type slowProgress struct {
	jsonrpc.Transport
	sent chan struct{} // gets a value when a result was sent
}

func (s *slowProgress) Send(ctx context.Context, p jsonrpc.Packet) error {
	switch m := p.Message; {
	case m == nil:
	case m.Method == "notifications/progress":
		select {
		case <-s.sent:
		case <-time.After(100 * time.Millisecond): // no result is sent as long as this is
		}
	case m.IsResponse():
		defer func() {
			select {
			case s.sent <- struct{}{}:
			default:
			}
		}()
	}
	return s.Transport.Send(ctx, p)
}

// A question ends the caller's request, where clients retry. Progress before it is passed on first.
func TestForward_progressBeforeQuestion(t *testing.T) {
	up := quietServer()
	mcp.AddTool(up, mcp.Tool{Name: "greet", Description: "Greet."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		c.Progress(1, 2, "half")
		return mcp.Ask[string](c, "name", "Who?")
	})
	l := newLab(t, map[string]*mcp.Server{"up": up}, mcp.R20251125, nil)
	one, two := jsonrpc.Pipe(jsonrpc.Limits{})
	var wg sync.WaitGroup
	wg.Go(func() { _ = l.server.Serve(context.Background(), &slowProgress{two, make(chan struct{})}) })
	client, err := mcp.Connect(t.Context(), one, &mcp.ClientOptions{
		Revision: mcp.R20260728,
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"Ada"}`)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	res, err := client.Call(t.Context(), "up__greet", nil, &mcp.CallOptions{Progress: func(context.Context, mcp.Progress) { steps++ }})
	if err != nil || len(res.Content) == 0 || res.Content[0].Text != "Ada" || steps != 1 {
		t.Errorf("Call = %+v, %v, with progress %d times, want Ada with progress once", res, err, steps)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}
