package postgres

import (
	"context"

	"github.com/bossman-dev/bossman/board"
)

// InsertCall records a call of a claim without looking whether it is still there.
func (s *Store) InsertCall(ctx context.Context, a board.Admission, c board.Claim) (board.Call, error) {
	const query = `INSERT INTO gateway_calls (task_id, attempt, principal, worker, upstream, tool, class, args_hash, args, began_at, deadline)
SELECT ` + taskID + `, $3, $4, $5, $6, $7, $8, $9, '', n.now, n.now + least($10::interval, $11::interval) FROM (SELECT clock_timestamp() AS now) n
RETURNING id, began_at, deadline`
	call, _, err := s.admit(ctx, query, []any{
		c.Task.Project, no(c.Task), c.Attempt, c.Worker.Principal, c.Worker.Name, a.Upstream, a.Tool, a.Class, a.ArgsHash, a.Limit, c.Lease,
	})
	return call, err
}

// Place parses a cursor.
var Place = parseCursor

// Grants are what the program's role may do with each table.
var Grants = privileges

// Ready reports whether the store listens on all channels that have handlers.
func Ready(s *Store) bool { return s.listener.ready() }

// UsageQuery is the statement behind Usage.
const UsageQuery = usageQuery

// Hinted reports whether the store has no hint left to send.
func Hinted(s *Store) bool { return len(s.dirty) == 0 }

const (
	MaxQueued      = maxQueued
	MaxDurableCall = maxDurableCall
)
