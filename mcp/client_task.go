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
	"github.com/bossman-dev/bossman/mcp/replica"
)

// A TaskError reports which task is no longer followed, and why. The task may
// still run; Client.WaitTask follows it again.
type TaskError struct {
	ID  string
	Err error
}

func (e *TaskError) Error() string { return fmt.Sprintf("task %s: %v", e.ID, e.Err) }
func (e *TaskError) Unwrap() error { return e.Err }

// Bounds on the poll interval, regardless of what the server asks for.
const (
	pollMin         = 20 * time.Millisecond
	pollDefault     = time.Second
	pollMax         = time.Minute
	maxPollFailures = 5 // transport errors in a row before polling fails
)

// WaitTask waits for a task that an earlier call became, also one of another
// process, and returns its result. Tasks must be set in the client's options.
// The options apply to each request that WaitTask sends.
func (c *Client) WaitTask(ctx context.Context, id string, o *CallOptions) (*ToolResult, error) {
	raw, err := c.followTask(ctx, id, c.ownAnswerers(o), o)
	if err != nil {
		return nil, err
	}
	return readToolResult("of task "+id, raw)
}

// CancelTask asks the server to cancel a task. It may still end otherwise.
func (c *Client) CancelTask(ctx context.Context, id string) error {
	_, err := c.call(ctx, &clientRequest{method: "tasks/cancel", params: []param{{"taskId", id}}})
	if err != nil {
		return fmt.Errorf("cancel task %s: %w", id, err)
	}
	return nil
}

// taskState is the result of tasks/get.
type taskState struct {
	Status   replica.TaskStatus         `json:"status"`
	Message  string                     `json:"statusMessage"`
	Poll     *int64                     `json:"pollIntervalMs"`
	Requests map[string]json.RawMessage `json:"inputRequests"`
	Result   json.RawMessage            `json:"result"`
	Error    *jsonrpc.Error             `json:"error"`
}

// followTask polls a task until it ends, and answers its questions.
func (c *Client) followTask(ctx context.Context, id string, own *answerers, o *CallOptions) (json.RawMessage, error) {
	if id == "" {
		return nil, errors.New("the server started a task without an id")
	}
	answered := map[string]bool{}
	failures := 0
	for {
		state, err := c.taskState(ctx, id, o)
		if failures++; err == nil {
			failures = 0
		}
		switch e, final := errors.AsType[*jsonrpc.Error](err); {
		case err != nil && (ctx.Err() != nil || failures >= maxPollFailures || errors.Is(err, jsonrpc.ErrClosed)),
			final && e.Code != jsonrpc.CodeInternal:
			return nil, &TaskError{id, err}
		case err != nil:
			if err := sleep(ctx, backoff(failures+2)); err != nil {
				return nil, &TaskError{id, err}
			}
			continue
		}
		switch state.Status {
		case replica.TaskCompleted:
			if len(state.Result) == 0 || state.Result[0] != '{' {
				return nil, &TaskError{id, errors.New("completed without a result")}
			}
			return state.Result, nil
		case replica.TaskFailed:
			if state.Error == nil {
				return nil, &TaskError{id, errors.New("failed without an error")}
			}
			return nil, state.Error
		case replica.TaskCancelled:
			return nil, &TaskError{id, errors.New("cancelled")}
		case replica.TaskWorking, replica.TaskInputRequired:
		default:
			return nil, &TaskError{id, fmt.Errorf("unknown status %.40q", state.Status)}
		}
		if err := c.answerTask(ctx, id, own, state.Requests, answered); err != nil {
			return nil, &TaskError{id, err}
		}
		if err := sleep(ctx, state.pollInterval()); err != nil {
			return nil, &TaskError{id, err}
		}
	}
}

func (c *Client) taskState(ctx context.Context, id string, o *CallOptions) (*taskState, error) {
	rq := &clientRequest{method: "tasks/get", params: []param{{"taskId", id}}}
	raw, err := c.call(ctx, c.with(rq, o))
	if err != nil {
		return nil, err
	}
	var s taskState
	if err := jsonv2.Unmarshal(raw, &s, trusted); err != nil {
		return nil, errors.New(plainError(err))
	}
	return &s, nil
}

func (s *taskState) pollInterval() time.Duration {
	if s.Poll == nil {
		return pollDefault
	}
	return max(pollMin, time.Duration(min(*s.Poll, pollMax.Milliseconds()))*time.Millisecond)
}

// answerTask answers the questions that were not answered yet. The server keeps
// listing them until it has received the answers.
func (c *Client) answerTask(ctx context.Context, id string, own *answerers, questions map[string]json.RawMessage, answered map[string]bool) error {
	maps.DeleteFunc(questions, func(key string, _ json.RawMessage) bool { return answered[key] })
	if len(questions) == 0 {
		return nil
	}
	if len(answered)+len(questions) > maxSubscriptions {
		return errors.New("the task asks too many questions")
	}
	raw, err := jsonv2.Marshal(questions)
	if err != nil {
		return err
	}
	answers, _, err := c.answerInputs(ctx, own, raw, visitedURLs{})
	if err != nil {
		return err
	}
	for key := range answers {
		answered[key] = true
	}
	_, err = c.call(ctx, &clientRequest{method: "tasks/update", params: []param{{"taskId", id}, {"inputResponses", answers}}})
	return err
}
