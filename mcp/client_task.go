package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A TaskError tells which task was no longer followed, and why. The task may go
// on; Client.Task takes it up again.
type TaskError struct {
	ID  string
	Err error
}

func (e *TaskError) Error() string { return fmt.Sprintf("task %s: %v", e.ID, e.Err) }
func (e *TaskError) Unwrap() error { return e.Err }

// How often a task is asked for, whatever its server says.
const (
	pollFastest = 20 * time.Millisecond
	pollUsual   = time.Second
	pollSlowest = time.Minute
	maxPolls    = 5 // that may fail in a row, because the way to the server does
)

// Task follows a task to its end: one of an earlier call, whose id was kept. The
// client's options must have Tasks set.
func (c *Client) Task(ctx context.Context, id string) (*ToolResult, error) {
	raw, err := c.followTask(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	return readToolResult("of task "+id, raw)
}

// CancelTask asks the server to end a task. It may end otherwise all the same.
func (c *Client) CancelTask(ctx context.Context, id string) error {
	_, err := c.ask(ctx, &question{method: "tasks/cancel", params: []param{{"taskId", id}}})
	if err != nil {
		return fmt.Errorf("cancel task %s: %w", id, err)
	}
	return nil
}

// taskState is how a task stands.
type taskState struct {
	Status   string                     `json:"status"`
	Message  string                     `json:"statusMessage"`
	Poll     *int64                     `json:"pollIntervalMs"`
	Requests map[string]json.RawMessage `json:"inputRequests"`
	Result   json.RawMessage            `json:"result"`
	Error    *jsonrpc.Error             `json:"error"`
}

// followTask waits for a task's outcome, and answers what it asks.
func (c *Client) followTask(ctx context.Context, id string, o *CallOptions) (json.RawMessage, error) {
	if id == "" {
		return nil, errors.New("the server began a task without an id")
	}
	if o != nil && o.OnTask != nil {
		o.OnTask(id)
	}
	answered := map[string]bool{}
	failures := 0
	for {
		state, err := c.taskState(ctx, id)
		if failures++; err == nil {
			failures = 0
		}
		switch e, final := errors.AsType[*jsonrpc.Error](err); {
		case err != nil && (ctx.Err() != nil || failures >= maxPolls || errors.Is(err, jsonrpc.ErrClosed)),
			final && e.Code != jsonrpc.CodeInternal:
			return nil, &TaskError{id, err}
		case err != nil:
			if err := pause(ctx, backoff(failures+2)); err != nil {
				return nil, &TaskError{id, err}
			}
			continue
		}
		switch state.Status {
		case CallCompleted:
			if len(state.Result) == 0 || state.Result[0] != '{' {
				return nil, &TaskError{id, errors.New("it was completed without a result")}
			}
			return state.Result, nil
		case CallFailed:
			if state.Error == nil {
				return nil, &TaskError{id, errors.New("it failed without a reason")}
			}
			return nil, state.Error
		case CallCancelled:
			return nil, &TaskError{id, errors.New("it was cancelled")}
		case CallWorking, CallWaiting:
		default:
			return nil, &TaskError{id, fmt.Errorf("unknown status %.40q", state.Status)}
		}
		if err := c.answerTask(ctx, id, state.Requests, answered); err != nil {
			return nil, &TaskError{id, err}
		}
		if err := pause(ctx, state.poll()); err != nil {
			return nil, &TaskError{id, err}
		}
	}
}

func (c *Client) taskState(ctx context.Context, id string) (*taskState, error) {
	raw, err := c.ask(ctx, &question{method: "tasks/get", params: []param{{"taskId", id}}})
	if err != nil {
		return nil, err
	}
	var s taskState
	if err := jsonv2.Unmarshal(raw, &s, checked); err != nil {
		return nil, errors.New(plainError(err))
	}
	return &s, nil
}

func (s *taskState) poll() time.Duration {
	if s.Poll == nil {
		return pollUsual
	}
	return max(pollFastest, time.Duration(min(*s.Poll, pollSlowest.Milliseconds()))*time.Millisecond)
}

// answerTask answers the questions that have not been answered yet: they are told
// as long as the answers are on their way.
func (c *Client) answerTask(ctx context.Context, id string, questions map[string]json.RawMessage, answered map[string]bool) error {
	maps.DeleteFunc(questions, func(key string, _ json.RawMessage) bool { return answered[key] })
	if len(questions) == 0 {
		return nil
	}
	if len(answered)+len(questions) > maxSubscriptions {
		return errors.New("the task keeps asking")
	}
	raw, err := jsonv2.Marshal(questions)
	if err != nil {
		return err
	}
	answers, _, err := c.answerAll(ctx, raw, visits{})
	if err != nil {
		return err
	}
	for key := range answers {
		answered[key] = true
	}
	_, err = c.ask(ctx, &question{method: "tasks/update", params: []param{{"taskId", id}, {"inputResponses", answers}}})
	return err
}
