package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// A durable call is a tool call that became a task of the protocol's Tasks
// extension: the client gets a task id at once and fetches the result later.

const (
	tasksExtension = "io.modelcontextprotocol/tasks"

	durableTTL   = time.Hour        // how long the result is available
	pollInterval = time.Second      // poll interval that clients are told to use
	runnerLease  = 30 * time.Second // a runner that does not renew its lease is considered dead
	maxRunning   = 10_000           // limit of running durable calls
)

// TaskSupport says whether calls of a tool may become tasks.
type TaskSupport uint8

// Whether calls of a tool may become tasks.
const (
	TaskForbidden TaskSupport = iota
	TaskOptional              // for clients that support tasks
	TaskRequired              // clients that do not support tasks are refused
)

// startDurable is the error by which a handler continues as a durable call.
type startDurable struct {
	run func(ctx context.Context, c *Call) (Result, error)
}

func (*startDurable) Error() string { return "mcp: continues as a task" }

// AsTask turns the rest of a tool call into a task if the client supports
// tasks: the client gets a task id, and run continues in the background.
// Otherwise run is part of the call. The handler must return what AsTask
// returns. AsTask panics if Tool.Tasks does not allow tasks.
//
// Inside run use only the Call passed to it; questions then go through the
// task. Its context ends when the client cancels the task, its principal is
// revoked, or the server closes. If the process dies, run is not repeated and the task fails.
func AsTask[Out any](c *Call, run func(context.Context, *Call) (Out, error)) (Out, error) {
	var out Out
	if c.tool == nil || c.tool.Tasks == TaskForbidden {
		panic("mcp: AsTask called outside a tool whose Tasks allows it")
	}
	if c.inTask || !c.Request.supportsTasks() {
		return run(c.ctx, c)
	}
	return out, &startDurable{func(ctx context.Context, c *Call) (Result, error) {
		out, err := run(ctx, c)
		if err != nil {
			return nil, err
		}
		if raw, ok := any(out).(json.RawMessage); ok && c.tool.raw != nil {
			return rawResult(c.Request, raw)
		}
		res, err := newToolResult(out)
		if err != nil {
			return nil, err
		}
		return res, c.tool.verify(res)
	}}
}

func (r *Request) supportsTasks() bool {
	_, ok := r.Capabilities.Extensions[tasksExtension]
	return ok && r.Revision.Stateless()
}

func tasksCapability() ClientCapabilities {
	return ClientCapabilities{Extensions: map[string]json.RawMessage{tasksExtension: json.RawMessage("{}")}}
}

// offersTasks reports whether any tool can become a task.
func (s *Server) offersTasks() bool {
	for _, t := range s.tools.snapshot().items {
		if t.Tasks != TaskForbidden {
			return true
		}
	}
	return false
}

func newTaskID() string { return rand.Text() + rand.Text() }

// durableCalls runs the durable calls of a server.
type durableCalls struct {
	server    *Server
	baseCtx   context.Context
	cancelAll context.CancelCauseFunc
	wg        sync.WaitGroup

	mu      sync.Mutex
	running map[string]*runner
}

func newDurableCalls(s *Server) *durableCalls {
	d := &durableCalls{server: s, running: map[string]*runner{}}
	d.baseCtx, d.cancelAll = context.WithCancelCause(context.Background())
	return d
}

func (d *durableCalls) close() {
	d.cancelAll(jsonrpc.ErrClosed)
	d.wg.Wait()
}

// start creates the task and runs the rest of the call in the background.
func (d *durableCalls) start(c *Call, work *startDurable) (Result, error) {
	c.Request.keep()
	now := time.Now().Truncate(time.Microsecond) // the precision of stores, so that the client always sees the same time
	call := &replica.TaskRecord{
		ID: newTaskID(), Owner: c.Request.Principal.holder(), Status: replica.TaskWorking,
		Created: now, Updated: now, TTL: durableTTL, LeaseExpires: now.Add(runnerLease),
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
	life := time.AfterFunc(call.TTL, func() { cancel(errExpired) }) // the result could no longer be fetched
	stop := context.AfterFunc(d.baseCtx, func() { cancel(jsonrpc.ErrClosed) })
	run := &runner{id: call.ID, cancel: cancel, wake: make(chan struct{}, 1), askCount: map[string]int{}, calls: d}
	c.mu.Lock()
	c.becameTask = true // from now on only the inner Call is valid
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
	res := taskDetail(call)
	res["resultType"] = "task"
	return res, nil
}
