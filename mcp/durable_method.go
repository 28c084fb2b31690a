package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// find returns a durable call if it belongs to the principal of the request, with
// the rights that it has now.
func (d *durableCalls) find(ctx context.Context, r *Request, id string) (*DurableCall, error) {
	call, err := d.server.o.Tasks.Get(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && (call.Owner != r.Principal.Holder() || time.Now().After(call.Created.Add(call.Life))) {
		return nil, invalid("unknown task %q", id)
	}
	return call, err
}

// requested returns the durable call that the request names.
func (d *durableCalls) requested(ctx context.Context, r *Request) (*DurableCall, error) {
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
	if !call.done() && time.Now().After(call.RunnerUntil) {
		call, err = d.server.o.Tasks.Update(ctx, call.ID, func(c *DurableCall) error {
			if !c.done() && time.Now().After(c.RunnerUntil) {
				c.Status, c.Updated = CallFailed, time.Now()
				c.Error = jsonrpc.Errorf(jsonrpc.CodeInternal, "the process that ran the task has died")
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return call.detail(), nil
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
	if call.done() {
		return nil, nil
	}
	_, err = d.server.o.Tasks.Update(ctx, call.ID, func(c *DurableCall) error {
		if c.done() {
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
		if c.Status == CallWaiting && len(c.Requests) == 0 {
			c.Status = CallWorking
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
	d.server.o.Bus.Publish(Event{Kind: EventTask, Name: call.ID})
	return nil, nil
}

func (d *durableCalls) cancel(ctx context.Context, r *Request) (Result, error) {
	call, err := d.requested(ctx, r)
	if err != nil {
		return nil, err
	}
	_, err = d.server.o.Tasks.Update(ctx, call.ID, func(c *DurableCall) error {
		c.Cancel = !c.done()
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
