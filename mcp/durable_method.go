package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// find returns a durable call if it belongs to the principal of the request, with
// the rights that it has now.
func (d *durableCalls) find(ctx context.Context, r *Request, id string) (*replica.TaskRecord, error) {
	call, err := d.server.o.Tasks.Get(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && (call.Owner != r.Principal.holder() || time.Now().After(call.Created.Add(call.TTL))) {
		return nil, invalid("unknown task %q", id)
	}
	return call, err
}

// requested returns the durable call that the request names.
func (d *durableCalls) requested(ctx context.Context, r *Request) (*replica.TaskRecord, error) {
	if !r.supportsTasks() {
		return nil, missingCapability(tasksCapability())
	}
	id, err := text("taskId", r.param("taskId"))
	if err != nil {
		return nil, err
	}
	return d.find(ctx, r, id)
}

func (d *durableCalls) get(ctx context.Context, r *Request) (Result, error) {
	call, err := d.requested(ctx, r)
	if err != nil {
		return nil, err
	}
	if !isDone(call) && time.Now().After(call.LeaseExpires) {
		call, err = d.server.o.Tasks.Update(ctx, call.ID, func(c *replica.TaskRecord) error {
			if !isDone(c) && time.Now().After(c.LeaseExpires) {
				c.Status, c.Updated = replica.TaskFailed, time.Now()
				c.Error = jsonrpc.Errorf(jsonrpc.CodeInternal, "the process that ran the task has died, so its outcome is unknown: check its effect before you repeat it")
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return taskDetail(call), nil
}

func (d *durableCalls) update(ctx context.Context, r *Request) (Result, error) {
	call, err := d.requested(ctx, r)
	if err != nil {
		return nil, err
	}
	answers, err := parseAnswers(r.param("inputResponses"))
	if err != nil {
		return nil, err
	}
	if isDone(call) {
		return nil, nil
	}
	_, err = d.server.o.Tasks.Update(ctx, call.ID, func(c *replica.TaskRecord) error {
		if isDone(c) {
			return nil
		}
		for key, raw := range answers {
			if _, open := c.Requests[key]; !open {
				continue
			}
			delete(c.Requests, key)
			if c.Answers == nil {
				c.Answers = map[string]json.RawMessage{}
			}
			c.Answers[key] = raw
		}
		if c.Status == replica.TaskInputRequired && len(c.Requests) == 0 {
			c.Status = replica.TaskWorking
		}
		c.Updated = time.Now()
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.withRunner(call.ID, func(u *runner) {
		select {
		case u.wake <- struct{}{}:
		default:
		}
	})
	d.server.publish(Event{Kind: EventTask, Name: call.ID})
	return nil, nil
}

func (d *durableCalls) cancel(ctx context.Context, r *Request) (Result, error) {
	call, err := d.requested(ctx, r)
	if err != nil {
		return nil, err
	}
	_, err = d.server.o.Tasks.Update(ctx, call.ID, func(c *replica.TaskRecord) error {
		c.CancelRequested = !isDone(c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.withRunner(call.ID, func(u *runner) { u.cancel(errTaskCancelled) })
	return nil, nil
}

// withRunner calls f with the runner of a call, if it is in this process.
func (d *durableCalls) withRunner(id string, f func(*runner)) {
	d.mu.Lock()
	u := d.running[id]
	d.mu.Unlock()
	if u != nil {
		f(u)
	}
}
