package mcp

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/mcp/replica"
)

func isDone(d *replica.TaskRecord) bool {
	return d.Status == replica.TaskCompleted || d.Status == replica.TaskFailed || d.Status == replica.TaskCancelled
}

// taskDetail returns the task as shown to clients.
func taskDetail(d *replica.TaskRecord) map[string]any {
	m := map[string]any{
		"taskId":         d.ID,
		"status":         d.Status,
		"createdAt":      d.Created.UTC().Format(time.RFC3339Nano),
		"lastUpdatedAt":  d.Updated.UTC().Format(time.RFC3339Nano),
		"ttlMs":          d.TTL.Milliseconds(),
		"pollIntervalMs": pollInterval.Milliseconds(),
	}
	if d.Message != "" {
		m["statusMessage"] = d.Message
	}
	switch d.Status {
	case replica.TaskInputRequired:
		m["inputRequests"] = d.Requests
	case replica.TaskCompleted:
		m["result"] = d.Result
	case replica.TaskFailed:
		m["error"] = d.Error
	}
	return m
}

type memoryTasks struct {
	mu    sync.Mutex
	calls map[string]*replica.TaskRecord
}

var _ replica.TaskStore = (*memoryTasks)(nil)

func newMemoryTasks() *memoryTasks { return &memoryTasks{calls: map[string]*replica.TaskRecord{}} }

func (m *memoryTasks) Create(_ context.Context, d *replica.TaskRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for id, old := range m.calls { // delete expired calls
		if isDone(old) && now.After(old.Created.Add(old.TTL)) {
			delete(m.calls, id)
		}
	}
	m.calls[d.ID] = cloneTask(d)
	return nil
}

func (m *memoryTasks) Get(_ context.Context, id string) (*replica.TaskRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.calls[id]
	if !ok {
		return nil, ErrNotFound
	}
	return cloneTask(d), nil
}

func (m *memoryTasks) Update(_ context.Context, id string, change func(*replica.TaskRecord) error) (*replica.TaskRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.calls[id]
	if !ok {
		return nil, ErrNotFound
	}
	next := cloneTask(d)
	if err := change(next); err != nil {
		return nil, err
	}
	m.calls[id] = next
	return cloneTask(next), nil
}

func cloneTask(d *replica.TaskRecord) *replica.TaskRecord {
	c := *d
	c.Requests, c.Answers = maps.Clone(d.Requests), maps.Clone(d.Answers)
	return &c
}
