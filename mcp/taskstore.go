package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// The states of a DurableCall.
const (
	CallWorking   = "working"
	CallWaiting   = "input_required"
	CallCompleted = "completed"
	CallFailed    = "failed"
	CallCancelled = "cancelled"
)

// A DurableCall is what a TaskStore keeps of one.
type DurableCall struct {
	ID       string
	Owner    string // the principal's
	Status   string
	Message  string
	Created  time.Time
	Updated  time.Time
	Life     time.Duration
	Result   json.RawMessage            // when completed
	Error    *jsonrpc.Error             // when failed
	Requests map[string]json.RawMessage // questions that are open
	Answers  map[string]json.RawMessage // answers that the runner has not taken
	Cancel   bool                       // the client wants it to end

	// RunnerUntil is when the process that runs the call is given up for dead,
	// unless it gives a sign before.
	RunnerUntil time.Time
}

func (d *DurableCall) ended() bool {
	return d.Status == CallCompleted || d.Status == CallFailed || d.Status == CallCancelled
}

// detail is the call as the client is shown it.
func (d *DurableCall) detail() map[string]any {
	m := map[string]any{
		"taskId":         d.ID,
		"status":         d.Status,
		"createdAt":      d.Created.UTC().Format(time.RFC3339Nano),
		"lastUpdatedAt":  d.Updated.UTC().Format(time.RFC3339Nano),
		"ttlMs":          d.Life.Milliseconds(),
		"pollIntervalMs": pollEvery.Milliseconds(),
	}
	if d.Message != "" {
		m["statusMessage"] = d.Message
	}
	switch d.Status {
	case CallWaiting:
		m["inputRequests"] = d.Requests
	case CallCompleted:
		m["result"] = d.Result
	case CallFailed:
		m["error"] = d.Error
	}
	return m
}

// A TaskStore keeps durable calls. It may be shared by replicas. What it hands
// out is the caller's own copy. Times may be kept to the microsecond.
type TaskStore interface {
	Create(ctx context.Context, d *DurableCall) error
	// Get finds a call, or returns ErrNotFound.
	Get(ctx context.Context, id string) (*DurableCall, error)
	// Update changes a call: change sees the present state, and what it leaves
	// is kept unless it returns an error. No two changes of a call overlap. A
	// store may call change again, if what it left could not be kept.
	Update(ctx context.Context, id string, change func(*DurableCall) error) (*DurableCall, error)
}

type memoryTasks struct {
	mu    sync.Mutex
	calls map[string]*DurableCall
}

var _ TaskStore = (*memoryTasks)(nil)

func newMemoryTasks() *memoryTasks { return &memoryTasks{calls: map[string]*DurableCall{}} }

func (m *memoryTasks) Create(_ context.Context, d *DurableCall) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for id, old := range m.calls { // forget what has had its time
		if old.ended() && now.After(old.Created.Add(old.Life)) {
			delete(m.calls, id)
		}
	}
	m.calls[d.ID] = d.clone()
	return nil
}

func (m *memoryTasks) Get(_ context.Context, id string) (*DurableCall, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.calls[id]
	if !ok {
		return nil, ErrNotFound
	}
	return d.clone(), nil
}

func (m *memoryTasks) Update(_ context.Context, id string, change func(*DurableCall) error) (*DurableCall, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.calls[id]
	if !ok {
		return nil, ErrNotFound
	}
	next := d.clone()
	if err := change(next); err != nil {
		return nil, err
	}
	m.calls[id] = next
	return next.clone(), nil
}

func (d *DurableCall) clone() *DurableCall {
	c := *d
	c.Requests, c.Answers = maps.Clone(d.Requests), maps.Clone(d.Answers)
	return &c
}
