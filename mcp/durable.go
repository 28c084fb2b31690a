package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A durable call is a tool call that became a task of the protocol's Tasks
// extension: the client gets a handle at once and asks for the outcome later.

const (
	tasksExtension = "io.modelcontextprotocol/tasks"

	durableLife = time.Hour        // how long the outcome can be asked for
	pollEvery   = time.Second      // how often the client is told to ask
	runnerLease = 30 * time.Second // how long a runner is believed to live without a sign
	maxRunning  = 10_000           // how many may run at once
)

// startTask is how a handler hands the rest of its work to the library.
type startTask struct {
	run func(ctx context.Context, c *Call) (*ToolResult, error)
}

func (*startTask) Error() string { return "mcp: goes on as a task" }

// Durable makes the rest of a tool call a task, if the client can follow one and
// the tool is Durable: the client gets a handle, and run goes on without it.
// Otherwise run is part of the call. The handler returns what Durable returns.
// It panics if the tool is not Durable.
//
// Inside run only the Call that it is given may be used; what it asks goes
// through the task. Its context ends when the client cancels the task or the
// server closes. A run whose process dies is not run again: the task fails.
func Durable[Out any](c *Call, run func(context.Context, *Call) (Out, error)) (Out, error) {
	var out Out
	if c.tool == nil || !c.tool.Durable {
		panic("mcp: Durable in something that is not a tool with Durable set")
	}
	if c.inTask || !c.r.takesTasks() {
		return run(c.ctx, c)
	}
	return out, &startTask{func(ctx context.Context, c *Call) (*ToolResult, error) {
		out, err := run(ctx, c)
		if err != nil {
			return nil, err
		}
		return toolResult(out)
	}}
}

func (r *Request) takesTasks() bool {
	_, ok := r.Client.Extensions[tasksExtension]
	return ok && r.Revision.Stateless()
}

func tasksCapability() ClientCapabilities {
	return ClientCapabilities{Extensions: map[string]json.RawMessage{tasksExtension: json.RawMessage("{}")}}
}

// offersTasks reports whether any tool may become a task.
func (s *Server) offersTasks() bool {
	for _, t := range s.tools.shelf().items {
		if t.Durable {
			return true
		}
	}
	return false
}

func newTaskID() string { return rand.Text() + rand.Text() }

// durables runs the durable calls of a server.
type durables struct {
	server *Server
	base   context.Context
	end    context.CancelCauseFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	running map[string]*runner
}

// A runner is a durable call that this process runs.
type runner struct {
	id     string
	cancel context.CancelCauseFunc
	wake   chan struct{}  // an answer may have come
	asked  map[string]int // how often each key has been asked
	d      *durables
}

func newDurables(s *Server) *durables {
	d := &durables{server: s, running: map[string]*runner{}}
	d.base, d.end = context.WithCancelCause(context.Background())
	return d
}

func (d *durables) close() {
	d.end(jsonrpc.ErrClosed)
	d.wg.Wait()
}

// start creates the task and runs the rest of the call.
func (d *durables) start(c *Call, work *startTask) (Result, error) {
	now := time.Now().Truncate(time.Microsecond) // as stores keep it: the client is told the same later
	call := &DurableCall{
		ID: newTaskID(), Owner: c.r.Principal.ID, Status: CallWorking,
		Created: now, Updated: now, Life: durableLife, RunnerUntil: now.Add(runnerLease),
	}
	d.mu.Lock()
	full := len(d.running) >= maxRunning
	d.mu.Unlock()
	if full {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "busy: too many tasks at once")
	}
	if err := d.server.o.Tasks.Create(c.ctx, call); err != nil {
		return nil, fmt.Errorf("create task: %w", err)
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(c.ctx))
	life := time.AfterFunc(call.Life, func() { cancel(errExpired) }) // nobody can ask for it any more
	stop := context.AfterFunc(d.base, func() { cancel(jsonrpc.ErrClosed) })
	run := &runner{id: call.ID, cancel: cancel, wake: make(chan struct{}, 1), asked: map[string]int{}, d: d}
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	d.mu.Lock()
	d.running[call.ID] = run
	d.mu.Unlock()
	d.wg.Go(func() {
		defer stop()
		defer life.Stop()
		defer cancel(nil)
		run.run(ctx, c, work)
		d.mu.Lock()
		delete(d.running, call.ID)
		d.mu.Unlock()
	})
	res := call.detail()
	res["resultType"] = "task"
	return res, nil
}

var (
	errEnded   = errors.New("mcp: task has ended")
	errExpired = errors.New("mcp: task has outlived its time")
)

var errTaskCancelled = errors.New("mcp: task cancelled by the client")

// run does the work and keeps the outcome. While it works it shows that it is
// alive, and looks whether the client wants it to end.
func (u *runner) run(ctx context.Context, c *Call, work *startTask) {
	s := u.d.server
	alive, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { u.beat(alive) })
	inner := &Call{ctx: ctx, server: s, r: c.r, tool: c.tool, args: c.args, inTask: true}
	inner.rounds = rounds{answers: c.rounds.answers, once: c.rounds.once}
	res, err := u.work(ctx, inner, work)
	stop()
	wg.Wait()
	var out Result = res
	if err != nil {
		out, err = s.toolFailure(ctx, c.r, err)
	}
	var raw json.RawMessage
	if err == nil {
		raw, err = s.encode(c.r, out)
	}
	_, storeErr := s.o.Tasks.Update(context.WithoutCancel(ctx), u.id, func(d *DurableCall) error {
		if d.ended() { // given up for dead meanwhile: what has been told stays true
			return errEnded
		}
		d.Updated, d.Requests, d.Answers = time.Now(), nil, nil
		switch e, isRPC := errors.AsType[*jsonrpc.Error](err); {
		case err == nil:
			d.Status, d.Result = CallCompleted, raw
		case errors.Is(context.Cause(ctx), errTaskCancelled):
			d.Status = CallCancelled
		case isRPC:
			d.Status, d.Error = CallFailed, e
		case errors.Is(context.Cause(ctx), errExpired):
			d.Status, d.Error = CallFailed, jsonrpc.Errorf(jsonrpc.CodeInternal, "the task was not done in time")
		case errors.Is(context.Cause(ctx), jsonrpc.ErrClosed):
			d.Status, d.Error = CallFailed, jsonrpc.Errorf(jsonrpc.CodeInternal, "the server ended before the task did")
		default:
			d.Status, d.Error = CallFailed, jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", s.internal(ctx, c.r, err))
		}
		return nil
	})
	if storeErr != nil {
		s.log.Error("outcome of a durable call not kept", "task", u.id, "err", storeErr)
	}
	s.o.Bus.Publish(Event{Kind: EventTask, Name: u.id})
}

func (u *runner) work(ctx context.Context, c *Call, work *startTask) (*ToolResult, error) {
	for {
		c.rounds.used = nil
		res, err := c.guarded(func() (Result, error) { return work.run(ctx, c) })
		asking, ok := errors.AsType[*needError](err)
		if !ok {
			tr, _ := res.(*ToolResult)
			return tr, err
		}
		if c.rounds.n++; c.rounds.n > maxRounds {
			return nil, tooManyRounds()
		}
		if err := u.ask(ctx, c, asking.needs); err != nil {
			return nil, err
		}
	}
}

// beat renews the runner's lease, and looks for a cancellation that came to
// another replica.
func (u *runner) beat(ctx context.Context) {
	tick := time.NewTicker(runnerLease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		d, err := u.d.server.o.Tasks.Update(ctx, u.id, func(d *DurableCall) error {
			d.RunnerUntil = time.Now().Add(runnerLease)
			return nil
		})
		if err == nil && d.Cancel {
			u.cancel(errTaskCancelled)
		}
	}
}

// ask puts questions on the task and waits for all of them to be answered. A
// question that is asked again goes out under a new key: a task never uses one
// twice.
func (u *runner) ask(ctx context.Context, c *Call, needs []need) error {
	if n := c.lacks(needs); n != nil {
		return c.r.lacks(n.method, n.requires)
	}
	s := u.d.server
	wireKey := map[string]string{} // on the wire → in the handler
	open := map[string]json.RawMessage{}
	for _, n := range needs {
		key := n.key
		if u.asked[n.key]++; u.asked[n.key] > 1 {
			key = fmt.Sprintf("%s~%d", n.key, u.asked[n.key])
		}
		raw, err := appendResult(nil, inputRequest{n.method, shapeQuestion(n, c.r.Revision)})
		if err != nil {
			return err
		}
		wireKey[key], open[key] = n.key, raw
	}
	_, err := s.o.Tasks.Update(ctx, u.id, func(d *DurableCall) error {
		if d.ended() {
			return errEnded
		}
		d.Status, d.Requests, d.Updated = CallWaiting, open, time.Now()
		return nil
	})
	if err != nil {
		return err
	}
	s.o.Bus.Publish(Event{Kind: EventTask, Name: u.id})
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	idle := make(chan string, len(needs)) // keys that nobody needs an answer to
	for _, n := range needs {
		if n.until == nil {
			continue
		}
		asking, end := n.while(ctx)
		go func() {
			<-asking.Done()
			idle <- n.key
		}()
		defer end()
	}
	for left := len(wireKey); left > 0; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case name := <-idle:
			if err := u.withdraw(ctx, c, name, wireKey); err != nil {
				return err
			}
		case <-u.wake:
		case <-poll.C:
		}
		_, err := s.o.Tasks.Update(ctx, u.id, func(d *DurableCall) error {
			for key, raw := range d.Answers {
				if name, ok := wireKey[key]; ok {
					put(&c.rounds.answers, name, raw)
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

// withdraw takes a question back, unless its answer is there by now.
func (u *runner) withdraw(ctx context.Context, c *Call, name string, wireKey map[string]string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for key := range wireKey {
		if wireKey[key] != name {
			continue
		}
		open := false
		_, err := u.d.server.o.Tasks.Update(ctx, u.id, func(d *DurableCall) error {
			if _, open = d.Requests[key]; !open {
				return nil
			}
			delete(d.Requests, key)
			if d.Status == CallWaiting && len(d.Requests) == 0 {
				d.Status = CallWorking
			}
			d.Updated = time.Now()
			return nil
		})
		if err != nil {
			return err
		}
		if open {
			delete(wireKey, key)
			put(&c.rounds.refused, name, ErrWithdrawn)
			u.d.server.o.Bus.Publish(Event{Kind: EventTask, Name: u.id})
		}
	}
	return nil
}

// find gets a durable call for a request: only its owner's.
func (d *durables) find(ctx context.Context, r *Request, id string) (*DurableCall, error) {
	call, err := d.server.o.Tasks.Get(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && (call.Owner != r.Principal.ID || time.Now().After(call.Created.Add(call.Life))) {
		return nil, invalid("there is no task %q", id)
	}
	return call, err
}

// named is find for the task that the request names.
func (d *durables) named(ctx context.Context, r *Request) (*DurableCall, error) {
	if !r.takesTasks() {
		return nil, missing(tasksCapability())
	}
	id, err := text("taskId", r.param("taskId"))
	if err != nil {
		return nil, err
	}
	return d.find(ctx, r, id)
}

func (d *durables) get(ctx context.Context, r *Request) (Result, error) {
	call, err := d.named(ctx, r)
	if err != nil {
		return nil, err
	}
	if !call.ended() && time.Now().After(call.RunnerUntil) {
		call, err = d.server.o.Tasks.Update(ctx, call.ID, func(c *DurableCall) error {
			if !c.ended() && time.Now().After(c.RunnerUntil) {
				c.Status, c.Updated = CallFailed, time.Now()
				c.Error = jsonrpc.Errorf(jsonrpc.CodeInternal, "the process that ran the task is gone")
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return call.detail(), nil
}

func (d *durables) update(ctx context.Context, r *Request) (Result, error) {
	call, err := d.named(ctx, r)
	if err != nil {
		return nil, err
	}
	answers, err := readAnswers(r.param("inputResponses"))
	if err != nil {
		return nil, err
	}
	if call.ended() {
		return nil, nil
	}
	_, err = d.server.o.Tasks.Update(ctx, call.ID, func(c *DurableCall) error {
		if c.ended() {
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
	d.tell(call.ID, func(u *runner) {
		select {
		case u.wake <- struct{}{}:
		default:
		}
	})
	d.server.o.Bus.Publish(Event{Kind: EventTask, Name: call.ID})
	return nil, nil
}

func (d *durables) cancel(ctx context.Context, r *Request) (Result, error) {
	call, err := d.named(ctx, r)
	if err != nil {
		return nil, err
	}
	_, err = d.server.o.Tasks.Update(ctx, call.ID, func(c *DurableCall) error {
		c.Cancel = !c.ended()
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.tell(call.ID, func(u *runner) { u.cancel(errTaskCancelled) })
	return nil, nil
}

// tell reaches the runner of a call, if it is in this process.
func (d *durables) tell(id string, f func(*runner)) {
	d.mu.Lock()
	u := d.running[id]
	d.mu.Unlock()
	if u != nil {
		f(u)
	}
}
