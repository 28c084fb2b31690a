package push

import (
	"context"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// A Store keeps targets and deliveries. Each method is one transaction; the time is the
// store's.
type Store interface {
	// FanOut reads events that the targets have not seen, and questions without a task whose
	// state has changed, stores the deliveries that choose returns for them, and moves the
	// cursors, in one transaction. One process does it at a time: more is false, without an
	// error, if another does it now. At most limit events are read; more reports whether
	// there may be others.
	FanOut(ctx context.Context, limit int, choose func(*Batch) []Delivery) (more bool, err error)
	// Claim leases deliveries that are due, the oldest first, and counts the try.
	Claim(ctx context.Context, f Filter) ([]Claimed, error)
	// Delivered ends a delivery that has arrived.
	Delivered(ctx context.Context, d *Delivery) error
	// Retry sets when a claimed delivery is tried again, and records why it failed.
	Retry(ctx context.Context, d *Delivery, after time.Duration, why string) error
	// Bury keeps a claimed delivery whose last try failed as a dead letter. The oldest dead
	// letters of its target are dropped if there are more than keep.
	Bury(ctx context.Context, d *Delivery, keep int, why string) error
	// Drop deletes a delivery.
	Drop(ctx context.Context, id string) error
	// Revive makes a dead letter due again, as if it had never been tried.
	Revive(ctx context.Context, id string) error
	// Dead lists dead letters of projects' webhooks with their targets, newest first, or those
	// of all webhooks if projects is nil.
	Dead(ctx context.Context, projects []string, limit int) ([]Claimed, error)
	// DeadLetter reads one dead letter with its target.
	DeadLetter(ctx context.Context, id string) (Claimed, error)

	// InsertTarget stores a target whose cursor is the end of the feed, and returns it with its
	// ID. A browser that is stored already is replaced.
	InsertTarget(ctx context.Context, t Target) (Target, error)
	// Target reads a target; board.ErrNotFound if there is none.
	Target(ctx context.Context, id TargetID) (Target, error)
	// Targets lists targets of a person's key, or webhooks if key is empty.
	Targets(ctx context.Context, key string) ([]Target, error)
	// Disable disables a target and drops its deliveries, except dead letters.
	Disable(ctx context.Context, id TargetID, reason string) error
	// Enable enables a webhook, from the end of the feed on, and records its new Owner.
	Enable(ctx context.Context, id TargetID, owner string) error
	// DeleteTarget deletes a target and its deliveries.
	DeleteTarget(ctx context.Context, id TargetID) error

	// VAPID returns the private key of this server for push services. The first call stores
	// the one that it is given.
	VAPID(ctx context.Context, made []byte) ([]byte, error)
}

// A Batch is what FanOut has read.
type Batch struct {
	// Targets are those that are enabled.
	Targets []Target
	// Events are new for the targets from Seen on.
	Events []board.Event
	// Seen reports whether a target has seen an event.
	Seen func(t *Target, e *board.Event) bool
	// Questions belong to no task, and have a new state.
	Questions []board.Question
	// Keys are the keys of people's targets, by id.
	Keys     map[string]auth.Key
	Projects []board.Project
	Now      time.Time
}

// A Filter says what to claim.
type Filter struct {
	// Limit is the maximum number, and Each that of one target.
	Limit, Each int
	// Failing selects targets that have failed last, or only the others.
	Failing bool
	// Except are targets to leave alone.
	Except []TargetID
	// Lease is how long nobody else gets them.
	Lease time.Duration
}

// Claimed is a delivery with its target.
type Claimed struct {
	Delivery Delivery
	Target   Target
}
