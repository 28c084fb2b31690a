package replica

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A TaskStatus is the state of a task.
type TaskStatus string

// The states of a task. The last three are final.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// A TaskRecord is a task as a TaskStore stores it.
type TaskRecord struct {
	ID              string
	Owner           string // opaque; see transport.Holder
	Status          TaskStatus
	Message         string
	Created         time.Time
	Updated         time.Time
	TTL             time.Duration              // the record may be deleted when it has passed since Created
	Result          json.RawMessage            // when completed
	Error           *jsonrpc.Error             // when failed
	Requests        map[string]json.RawMessage // questions without an answer
	Answers         map[string]json.RawMessage // answers that the runner has not yet taken
	CancelRequested bool                       // the client asked to cancel the task

	// LeaseExpires is when the process that runs the task is considered dead,
	// unless it renews its lease before.
	LeaseExpires time.Time
}

// A TaskStore stores tasks. Replicas may share it. Returned records are
// copies. Times may be rounded to microseconds.
type TaskStore interface {
	// Create stores a new task.
	Create(ctx context.Context, t *TaskRecord) error
	// Get returns a task, or mcp.ErrNotFound.
	Get(ctx context.Context, id string) (*TaskRecord, error)
	// Update changes a task. It passes the current record to change and stores
	// it afterwards unless change returns an error. Updates of one task do not
	// overlap. A store may call change again if storing failed.
	Update(ctx context.Context, id string, change func(*TaskRecord) error) (*TaskRecord, error)
}
