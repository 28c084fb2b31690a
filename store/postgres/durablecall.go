package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// maxDurableCall is the maximum size of a stored durable call, in bytes.
const maxDurableCall = 16 << 20

// DurableCalls stores tool calls that continue without their client, for all replicas.
// Times have a resolution of a microsecond. Run deletes calls some time after their
// lifetime. A change function may be called more than once.
type DurableCalls struct{ store *Store }

var _ replica.TaskStore = (*DurableCalls)(nil)

// DurableCalls returns the durable calls stored beside the board.
func (s *Store) DurableCalls() *DurableCalls { return &DurableCalls{s} }

const durableCallColumns = `id, owner, status, message, created_at, updated_at, life, result::text, error::text, requests::text, answers::text, cancel, runner_until`

func scanDurableCall(row pgx.CollectableRow) (*replica.TaskRecord, error) {
	d := new(replica.TaskRecord)
	var result *string
	err := row.Scan(&d.ID, &d.Owner, &d.Status, &d.Message, &d.Created, &d.Updated, &d.TTL,
		&result, jsonInto{&d.Error}, jsonInto{&d.Requests}, jsonInto{&d.Answers}, &d.CancelRequested, &d.LeaseExpires)
	if result != nil {
		d.Result = json.RawMessage(*result)
	}
	return d, err
}

// durableCallValues returns the values in the order of the columns.
func durableCallValues(d *replica.TaskRecord) ([]any, error) {
	var failure, requests, answers *string
	size := len(d.Message) + len(d.Result)
	for _, v := range []struct {
		text **string
		have bool
		of   any
	}{{&failure, d.Error != nil, d.Error}, {&requests, d.Requests != nil, d.Requests}, {&answers, d.Answers != nil, d.Answers}} {
		if !v.have {
			continue
		}
		text, err := encode(v.of)
		if err != nil {
			return nil, fmt.Errorf("%w: durable call cannot be encoded as JSON", board.ErrInvalid)
		}
		*v.text, size = &text, size+len(text)
	}
	if size > maxDurableCall {
		return nil, fmt.Errorf("%w: durable call of %d bytes is too large: want at most %d", board.ErrInvalid, size, maxDurableCall)
	}
	var result *string
	if d.Result != nil {
		result = new(string(d.Result))
	}
	return []any{
		d.ID, d.Owner, d.Status, d.Message, d.Created, d.Updated, d.TTL,
		result, failure, requests, answers, d.CancelRequested, d.LeaseExpires,
	}, nil
}

// Create stores a new call.
func (c *DurableCalls) Create(ctx context.Context, d *replica.TaskRecord) error {
	const query = `
INSERT INTO durable_calls (id, owner, status, message, created_at, updated_at, life, until, result, error, requests, answers, cancel, runner_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $5::timestamptz + $7::interval, $8::text::json, $9::text::json, $10::text::json, $11::text::json, $12, $13)
ON CONFLICT DO NOTHING`
	values, err := durableCallValues(d)
	if err != nil {
		return err
	}
	return c.store.writeRetrying(ctx, func(r *reader) error {
		return r.write(fmt.Errorf("%w: durable call %.80q exists already", board.ErrConflict, d.ID), query, values...)
	})
}

// Get reads a call; mcp.ErrNotFound if there is none.
func (c *DurableCalls) Get(ctx context.Context, id string) (d *replica.TaskRecord, err error) {
	const query = `SELECT ` + durableCallColumns + ` FROM durable_calls WHERE id = $1`
	err = c.store.readRetrying(ctx, func(r *reader) (err error) {
		d, err = one(r, scanDurableCall, query, id)
		return err
	})
	return d, mcpError(err)
}

// errSame rolls back a transaction that changed nothing.
var errSame = errors.New("nothing has changed")

// Update changes a call under a row lock.
func (c *DurableCalls) Update(ctx context.Context, id string, change func(*replica.TaskRecord) error) (d *replica.TaskRecord, err error) {
	const (
		query  = `SELECT ` + durableCallColumns + ` FROM durable_calls WHERE id = $1 FOR UPDATE`
		update = `
UPDATE durable_calls SET owner = $2, status = $3, message = $4, created_at = $5, updated_at = $6, life = $7, until = $5::timestamptz + $7::interval,
	result = $8::text::json, error = $9::text::json, requests = $10::text::json, answers = $11::text::json, cancel = $12, runner_until = $13
WHERE id = $1`
	)
	var refused error
	err = c.store.writeRetrying(ctx, func(r *reader) (err error) {
		if d, err = one(r, scanDurableCall, query, id); err != nil {
			return err
		}
		before, err := durableCallValues(d)
		if err != nil {
			return err
		}
		if refused = change(d); refused != nil {
			return errSame
		}
		d.ID = id
		after, err := durableCallValues(d)
		if err != nil {
			return err
		}
		if reflect.DeepEqual(before, after) {
			return errSame
		}
		return r.write(mcp.ErrNotFound, update, after...)
	})
	if errors.Is(err, errSame) {
		err = refused
	}
	if err != nil {
		return nil, mcpError(err)
	}
	return d, nil
}

// mcpError translates ErrNotFound into that of package mcp.
func mcpError(err error) error {
	if errors.Is(err, board.ErrNotFound) {
		return mcp.ErrNotFound
	}
	return err
}
