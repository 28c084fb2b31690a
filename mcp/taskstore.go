package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// States of a DurableCall.
const (
	CallWorking   = "working"
	CallWaiting   = "input_required"
	CallCompleted = "completed"
	CallFailed    = "failed"
	CallCancelled = "cancelled"
)

// A DurableCall is the stored record of a durable call.
type DurableCall struct {
	ID       string
	Owner    string // see Principal.Holder
	Status   string
	Message  string
	Created  time.Time
	Updated  time.Time
	Life     time.Duration              // the record may be deleted when it has passed since Created
	Result   json.RawMessage            // when completed
	Error    *jsonrpc.Error             // when failed
	Requests map[string]json.RawMessage // questions without an answer
	Answers  map[string]json.RawMessage // answers that the runner has not yet taken
	Cancel   bool                       // the client asked to cancel the call

	// RunnerUntil is when the process that runs the call is considered dead,
	// unless it renews its lease before.
	RunnerUntil time.Time
}

func (d *DurableCall) done() bool {
	return d.Status == CallCompleted || d.Status == CallFailed || d.Status == CallCancelled
}

// detail returns the task as shown to clients.
func (d *DurableCall) detail() map[string]any {
	m := map[string]any{
		"taskId":         d.ID,
		"status":         d.Status,
		"createdAt":      d.Created.UTC().Format(time.RFC3339Nano),
		"lastUpdatedAt":  d.Updated.UTC().Format(time.RFC3339Nano),
		"ttlMs":          d.Life.Milliseconds(),
		"pollIntervalMs": pollInterval.Milliseconds(),
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

// A TaskStore stores durable calls. Replicas may share it. Returned records are
// copies. Times may be rounded to microseconds.
type TaskStore interface {
	Create(ctx context.Context, d *DurableCall) error
	// Get returns a call, or ErrNotFound.
	Get(ctx context.Context, id string) (*DurableCall, error)
	// Update changes a call. It passes the current record to change and stores
	// it afterwards unless change returns an error. Updates of one call do not
	// overlap. A store may call change again if storing failed.
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
	for id, old := range m.calls { // delete expired calls
		if old.done() && now.After(old.Created.Add(old.Life)) {
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
