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
)

// maxDurableCall bounds what is kept of a durable call, in bytes.
const maxDurableCall = 16 << 20

// DurableCalls keeps tool calls that go on without their client, for all replicas.
// Times are kept to the microsecond. A call that has outlived its life is swept by
// Run, a little later. A change may be made anew if the database lost it.
type DurableCalls struct{ store *Store }

var _ mcp.TaskStore = (*DurableCalls)(nil)

// DurableCalls gives the durable calls that are kept beside the board.
func (s *Store) DurableCalls() *DurableCalls { return &DurableCalls{s} }

const durableCallColumns = `id, owner, status, message, created_at, updated_at, life, result::text, error::text, requests::text, answers::text, cancel, runner_until`

func scanDurableCall(row pgx.CollectableRow) (*mcp.DurableCall, error) {
	d := new(mcp.DurableCall)
	var result *string
	err := row.Scan(&d.ID, &d.Owner, &d.Status, &d.Message, &d.Created, &d.Updated, &d.Life,
		&result, jsonInto{&d.Error}, jsonInto{&d.Requests}, jsonInto{&d.Answers}, &d.Cancel, &d.RunnerUntil)
	if result != nil {
		d.Result = json.RawMessage(*result)
	}
	return d, err
}

// durableCallValues are in the order of the columns.
func durableCallValues(d *mcp.DurableCall) ([]any, error) {
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
			return nil, fmt.Errorf("%w: what is kept of a durable call is not JSON", board.ErrInvalid)
		}
		*v.text, size = &text, size+len(text)
	}
	if size > maxDurableCall {
		return nil, fmt.Errorf("%w: %d bytes are more than the %d that are kept of a durable call", board.ErrInvalid, size, maxDurableCall)
	}
	var result *string
	if d.Result != nil {
		result = new(string(d.Result))
	}
	return []any{
		d.ID, d.Owner, d.Status, d.Message, d.Created, d.Updated, d.Life,
		result, failure, requests, answers, d.Cancel, d.RunnerUntil,
	}, nil
}

// Create keeps a new call.
func (c *DurableCalls) Create(ctx context.Context, d *mcp.DurableCall) error {
	const query = `
INSERT INTO durable_calls (id, owner, status, message, created_at, updated_at, life, until, result, error, requests, answers, cancel, runner_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $5::timestamptz + $7::interval, $8::text::json, $9::text::json, $10::text::json, $11::text::json, $12, $13)
ON CONFLICT DO NOTHING`
	values, err := durableCallValues(d)
	if err != nil {
		return err
	}
	return c.store.change(ctx, func(r *reader) error {
		return r.write(fmt.Errorf("%w: there is a durable call %.80q", board.ErrConflict, d.ID), query, values...)
	})
}

// Get finds a call, or returns mcp.ErrNotFound.
func (c *DurableCalls) Get(ctx context.Context, id string) (d *mcp.DurableCall, err error) {
	const query = `SELECT ` + durableCallColumns + ` FROM durable_calls WHERE id = $1`
	err = c.store.look(ctx, func(r *reader) (err error) {
		d, err = one(r, scanDurableCall, query, id)
		return err
	})
	return d, unknownToMCP(err)
}

// errSame ends a transaction in which nothing was changed, so that nothing is written.
var errSame = errors.New("nothing has changed")

// Update changes a call, whose row is locked meanwhile.
func (c *DurableCalls) Update(ctx context.Context, id string, change func(*mcp.DurableCall) error) (d *mcp.DurableCall, err error) {
	const (
		query  = `SELECT ` + durableCallColumns + ` FROM durable_calls WHERE id = $1 FOR UPDATE`
		update = `
UPDATE durable_calls SET owner = $2, status = $3, message = $4, created_at = $5, updated_at = $6, life = $7, until = $5::timestamptz + $7::interval,
	result = $8::text::json, error = $9::text::json, requests = $10::text::json, answers = $11::text::json, cancel = $12, runner_until = $13
WHERE id = $1`
	)
	var refused error
	err = c.store.change(ctx, func(r *reader) (err error) {
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
		return nil, unknownToMCP(err)
	}
	return d, nil
}

// unknownToMCP gives ErrNotFound the kind that package mcp has for it.
func unknownToMCP(err error) error {
	if errors.Is(err, board.ErrNotFound) {
		return mcp.ErrNotFound
	}
	return err
}
