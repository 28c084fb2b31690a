package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// A runner runs one durable call in this process.
type runner struct {
	id       string
	cancel   context.CancelCauseFunc
	wake     chan struct{}  // signalled when an answer may have arrived
	askCount map[string]int // how often each key was asked
	calls    *durableCalls
}

var (
	errDone    = errors.New("mcp: task has ended")
	errExpired = errors.New("mcp: task has exceeded its time to live")

	errTaskCancelled = errors.New("mcp: task cancelled by the client")
	errTaskRevoked   = errors.New("mcp: the principal of the task was revoked")
)

// run does the work and stores the outcome. Meanwhile it renews the lease and
// checks whether the client cancelled the task or lost its access.
func (u *runner) run(ctx context.Context, c *Call, work *startDurable) {
	s := u.calls.server
	leaseCtx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { u.renewLease(leaseCtx, c.Request.Principal.Revoked) })
	inner := &Call{ctx: ctx, Request: c.Request, tool: c.tool, args: c.args, inTask: true}
	if past := c.rounds; past != nil {
		inner.rounds = &rounds{answers: past.answers, once: past.once}
	}
	out, err := u.work(ctx, inner, work)
	stop()
	wg.Wait()
	if err != nil {
		out, err = s.toToolResult(ctx, c.Request, err)
	}
	var raw json.RawMessage
	if err == nil {
		raw, err = s.encode(c.Request, out)
	}
	_, storeErr := s.o.Tasks.Update(context.WithoutCancel(ctx), u.id, func(d *replica.TaskRecord) error {
		if isDone(d) { // considered dead meanwhile; the reported status must not change
			return errDone
		}
		d.Updated, d.Requests, d.Answers = time.Now(), nil, nil
		switch e, isRPC := errors.AsType[*jsonrpc.Error](err); {
		case err == nil:
			d.Status, d.Result = replica.TaskCompleted, raw
		case errors.Is(context.Cause(ctx), errTaskCancelled):
			d.Status = replica.TaskCancelled
		case errors.Is(context.Cause(ctx), errTaskRevoked):
			d.Status, d.Error = replica.TaskFailed, jsonrpc.Errorf(jsonrpc.CodeInternal, "the access of the client has ended or changed since the call; make the call again")
		case isRPC:
			d.Status, d.Error = replica.TaskFailed, e
		case errors.Is(context.Cause(ctx), errExpired):
			d.Status, d.Error = replica.TaskFailed, jsonrpc.Errorf(jsonrpc.CodeInternal, "the task exceeded its time to live")
		case errors.Is(context.Cause(ctx), jsonrpc.ErrClosed):
			d.Status, d.Error = replica.TaskFailed, jsonrpc.Errorf(jsonrpc.CodeInternal, "the server shut down before the task finished, so its outcome is unknown")
		default:
			d.Status, d.Error = replica.TaskFailed, jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", s.logInternal(ctx, c.Request, err))
		}
		return nil
	})
	if storeErr != nil {
		s.log.Error("cannot store the outcome of a durable call", "task", u.id, "err", storeErr)
	}
	s.publish(Event{Kind: EventTask, Name: u.id})
}

func (u *runner) work(ctx context.Context, c *Call, work *startDurable) (Result, error) {
	for {
		c.beginRound()
		res, err := c.recovering(func() (Result, error) { return work.run(ctx, c) })
		asking, ok := errors.AsType[*askError](err)
		if !ok {
			return res, err
		}
		if c.history().n++; c.rounds.n > maxRounds {
			return nil, tooManyRounds()
		}
		if err := u.ask(ctx, c, asking.asks); err != nil {
			return nil, err
		}
	}
}

// renewLease renews the runner's lease, and ends the work when another replica
// has received a cancellation, or the principal is revoked.
func (u *runner) renewLease(ctx context.Context, revoked <-chan struct{}) {
	tick := time.NewTicker(runnerLease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-revoked:
			u.cancel(errTaskRevoked)
			return
		case <-tick.C:
		}
		d, err := u.calls.server.o.Tasks.Update(ctx, u.id, func(d *replica.TaskRecord) error {
			d.LeaseExpires = time.Now().Add(runnerLease)
			return nil
		})
		if err == nil && d.CancelRequested {
			u.cancel(errTaskCancelled)
		}
	}
}

// ask attaches questions to the task and waits until all are answered. A
// question that is repeated gets a new key, because a task must not reuse one.
func (u *runner) ask(ctx context.Context, c *Call, asks []pendingAsk) error {
	if n := c.missingCapability(asks); n != nil {
		return c.Request.capabilityError(n.method, n.requires)
	}
	s := u.calls.server
	wireKey := map[string]string{} // from keys on the wire to those of the handler
	open := map[string]json.RawMessage{}
	for _, n := range asks {
		key := n.key
		if u.askCount[n.key]++; u.askCount[n.key] > 1 {
			key = fmt.Sprintf("%s~%d", n.key, u.askCount[n.key])
		}
		q, err := inputRequest(n, c.Request.Revision)
		if err != nil {
			return err
		}
		raw, err := encodeUser(q)
		if err != nil {
			return err
		}
		wireKey[key], open[key] = n.key, raw
	}
	_, err := s.o.Tasks.Update(ctx, u.id, func(d *replica.TaskRecord) error {
		if isDone(d) {
			return errDone
		}
		d.Status, d.Requests, d.Updated = replica.TaskInputRequired, open, time.Now()
		return nil
	})
	if err != nil {
		return err
	}
	s.publish(Event{Kind: EventTask, Name: u.id})
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	obsolete := make(chan string, len(asks)) // keys whose answers are no longer needed
	for _, n := range asks {
		if n.until == nil {
			continue
		}
		asking, end := n.untilCtx(ctx)
		go func() {
			<-asking.Done()
			obsolete <- n.key
		}()
		defer end()
	}
	for left := len(wireKey); left > 0; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case name := <-obsolete:
			if err := u.withdraw(ctx, c, name, wireKey); err != nil {
				return err
			}
		case <-u.wake:
		case <-poll.C:
		}
		_, err := s.o.Tasks.Update(ctx, u.id, func(d *replica.TaskRecord) error {
			for key, raw := range d.Answers {
				if name, ok := wireKey[key]; ok {
					put(&c.history().answers, name, raw)
					delete(wireKey, key)
				}
			}
			d.Answers = nil
			return nil
		})
		if err != nil {
			return err
		}
		left = len(wireKey)
	}
	return nil
}

// withdraw removes a question from the task, unless it was answered meanwhile.
func (u *runner) withdraw(ctx context.Context, c *Call, name string, wireKey map[string]string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for key := range wireKey {
		if wireKey[key] != name {
			continue
		}
		open := false
		_, err := u.calls.server.o.Tasks.Update(ctx, u.id, func(d *replica.TaskRecord) error {
			if _, open = d.Requests[key]; !open {
				return nil
			}
			delete(d.Requests, key)
			if d.Status == replica.TaskInputRequired && len(d.Requests) == 0 {
				d.Status = replica.TaskWorking
			}
			d.Updated = time.Now()
			return nil
		})
		if err != nil {
			return err
		}
		if open {
			delete(wireKey, key)
			put(&c.history().failed, name, ErrWithdrawn)
			u.calls.server.publish(Event{Kind: EventTask, Name: u.id})
		}
	}
	return nil
}
