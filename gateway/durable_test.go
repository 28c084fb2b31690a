package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// connectTo connects a client that supports tasks, and can be asked.
func connectTo(t *testing.T, s *mcp.Server, tasks bool) *mcp.Client {
	t.Helper()
	one, two := jsonrpc.Pipe(jsonrpc.Limits{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(context.Background(), two)
	}()
	c, err := mcp.Connect(t.Context(), one, &mcp.ClientOptions{
		Revision: mcp.R20260728, Tasks: tasks,
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"go":"on"}`)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		<-done
	})
	return c
}

// A call that takes long becomes a task where the client supports that, with its result, its questions and its end as without.
func TestForward_task(t *testing.T) {
	up := quietServer()
	release, cancelled := make(chan struct{}), make(chan struct{}, 1)
	raw(t, up, `{"name":"slow","inputSchema":{"type":"object"}}`, func(ctx context.Context, _ *mcp.Call) (json.RawMessage, error) {
		select {
		case <-release:
			return json.RawMessage(oddResult), nil
		case <-ctx.Done():
			cancelled <- struct{}{}
			return nil, ctx.Err()
		}
	})
	raw(t, up, `{"name":"fails","inputSchema":{"type":"object"}}`, func(context.Context, *mcp.Call) (json.RawMessage, error) {
		<-release
		return nil, mcp.Errorf("the disk is full")
	})
	raw(t, up, `{"name":"refuses","inputSchema":{"type":"object"}}`, func(context.Context, *mcp.Call) (json.RawMessage, error) {
		<-release
		return nil, jsonrpc.Errorf(-32077, "not today")
	})
	raw(t, up, `{"name":"asks","inputSchema":{"type":"object"}}`, func(_ context.Context, c *mcp.Call) (json.RawMessage, error) {
		<-release
		word, err := mcp.Ask[struct {
			Go string `json:"go"`
		}](c, "go", "Where?")
		if err != nil {
			return nil, err
		}
		return json.RawMessage(`{"content":[{"type":"text","text":"` + word.Go + `"}]}`), nil
	})
	for _, revision := range []mcp.Revision{mcp.R20251125, mcp.R20260728} {
		t.Run("upstream "+revision.String(), func(t *testing.T) {
			release = make(chan struct{})
			l := newLab(t, map[string]*mcp.Server{"up": up}, revision, nil, func(u *Upstream) { u.Timeout = time.Second })
			l.taskAfter = 20 * time.Millisecond
			client := connectTo(t, l.server, true)
			// call calls a tool, and lets it go on when it is a task.
			call := func(tool string) (*mcp.ToolResult, error) {
				var id string
				res, err := client.Call(t.Context(), tool, nil, &mcp.CallOptions{OnTask: func(task string) {
					id = task
					close(release)
				}})
				if id == "" {
					t.Errorf("%s did not become a task", tool)
				}
				release = make(chan struct{})
				return res, err
			}
			if raw, err := client.Forward(t.Context(), "tools/call", json.RawMessage(`{"name":"up__slow"}`), &mcp.CallOptions{OnTask: func(string) { close(release) }}); err != nil || !strings.Contains(string(raw), `{"b":123456789012345678901234567890,"a":[1e400]}`) {
				t.Errorf("slow = %s, %v; want the result as it was sent", raw, err)
			}
			release = make(chan struct{})
			if res, err := call("up__fails"); err != nil || !res.IsError || res.Content[0].Text != "the disk is full" {
				t.Errorf("fails = %+v, %v", res, err)
			}
			var refused *jsonrpc.Error
			if _, err := call("up__refuses"); !errors.As(err, &refused) || refused.Code != -32077 {
				t.Errorf("refuses = %v, want error -32077", err)
			}
			if res, err := call("up__asks"); err != nil || res.Content[0].Text != "on" {
				t.Errorf("asks = %+v, %v; want the answer", res, err)
			}
			_, err := client.Call(t.Context(), "up__slow", nil, &mcp.CallOptions{OnTask: func(id string) {
				go func() {
					if err := client.CancelTask(t.Context(), id); err != nil {
						t.Error(err)
					}
				}()
			}})
			if e, ok := errors.AsType[*mcp.TaskError](err); !ok || e.Err.Error() != "cancelled" {
				t.Errorf("a cancelled task = %v", err)
			}
			<-cancelled
		})
	}
}

// The time limit of an upstream ends a call, unless it has become a task.
func TestForward_taskTime(t *testing.T) {
	up := quietServer()
	release := make(chan struct{})
	raw(t, up, `{"name":"slow","inputSchema":{"type":"object"}}`, func(ctx context.Context, _ *mcp.Call) (json.RawMessage, error) {
		select {
		case <-release:
			return json.RawMessage(`{"content":[]}`), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	const limit = 200 * time.Millisecond
	l := newLab(t, map[string]*mcp.Server{"up": up}, mcp.R20251125, nil, func(u *Upstream) { u.Timeout = limit })
	l.taskAfter = 20 * time.Millisecond
	if res, err := connectTo(t, l.server, false).Call(t.Context(), "up__slow", nil, nil); err != nil || !res.IsError || !strings.Contains(res.Content[0].Text, "outcome of the call is unknown") {
		t.Errorf("without tasks = %+v, %v; want that it took too long", res, err)
	}
	client := connectTo(t, l.server, true)
	if res, err := client.Call(t.Context(), "up__slow", nil, &mcp.CallOptions{OnTask: func(string) { time.AfterFunc(2*limit, func() { close(release) }) }}); err != nil || res.IsError {
		t.Errorf("as a task = %+v, %v", res, err)
	}
	release = make(chan struct{})
	l.taskAfter = time.Minute
	if res, err := client.Call(t.Context(), "up__slow", nil, nil); err != nil || !res.IsError {
		t.Errorf("with a limit below that of a task = %+v, %v; want that it took too long", res, err)
	}
}
