package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// The feed of all events is in the order of (epoch, xid, id). Neither the id of an event nor
// the xid of its transaction is in commit order. But no event can appear any more below
// the oldest running transaction, so the feed ends there. Transaction ids may repeat in a
// database that was restored elsewhere or that lost its last transactions in a failover:
// then the epoch increases.

// eventColumns are columns of projects p and events e.
const eventColumns = `p.slug, e.task_id, e.seq, e.at, e.actor, e.kind, e.from_status, e.to_status, e.detail::text, e.epoch, e.xid::text, e.id`

func scanEvent(row pgx.CollectableRow) (board.Event, error) { return scanEventAnd(row) }

// scanEventAnd reads an event, and more columns after it.
func scanEventAnd(row pgx.CollectableRow, more ...any) (e board.Event, err error) {
	var key, id int64
	var epoch int
	var xid string
	err = row.Scan(append([]any{
		&e.Task.Project, &key, &e.Seq, &e.At, &e.Actor, (*string)(&e.Kind), (*string)(&e.From), (*string)(&e.To), jsonInto{&e.Detail}, &epoch, &xid, &id,
	}, more...)...)
	e.Task.No = number(key)
	e.Cursor = board.Cursor(fmt.Sprintf("%d.%s.%d", epoch, xid, id))
	return e, err
}

// parseCursor parses a cursor.
func parseCursor(c board.Cursor) (epoch int32, xid string, id int64, err error) {
	if c == "" {
		return 0, "0", 0, nil
	}
	a, rest, _ := strings.Cut(string(c), ".")
	b, d, _ := strings.Cut(rest, ".")
	e, err1 := strconv.ParseInt(a, 10, 32)
	x, err2 := strconv.ParseUint(b, 10, 64)
	id, err3 := strconv.ParseInt(d, 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || e < 0 || id < 0 {
		return 0, "", 0, fmt.Errorf("%w: invalid cursor %.60q", board.ErrInvalid, c)
	}
	return int32(e), strconv.FormatUint(x, 10), id, nil
}

// lastEventsQuery returns the newest event first.
const lastEventsQuery = `SELECT ` + eventColumns + ` FROM events e JOIN projects p ON p.slug = $1
WHERE e.task_id = ` + taskID + ` ORDER BY e.seq DESC LIMIT $3`

// Events lists a task's events.
func (r *reader) Events(id board.ID, after int64, limit int) ([]board.Event, error) {
	const query = `SELECT ` + eventColumns + ` FROM events e JOIN projects p ON p.slug = $1
WHERE e.task_id = ` + taskID + ` AND e.seq > $3 ORDER BY e.seq LIMIT $4`
	return list(r, scanEvent, query, id.Project, no(id), after, limitOf(limit))
}

// Feed lists the events after a cursor that are safe to show.
func (r *reader) Feed(projects []string, after board.Cursor, limit int) ([]board.Event, error) {
	const (
		safe = ` (e.epoch, e.xid, e.id) > ($1::int, $2::text::xid8, $3::bigint) AND` + notTooOld + `
	AND (e.epoch, e.xid) < (SELECT feed_epoch, pg_snapshot_xmin(pg_current_snapshot()) FROM meta)
	ORDER BY e.epoch, e.xid, e.id LIMIT $4`
		all  = `SELECT ` + eventColumns + ` FROM (SELECT e.* FROM events e WHERE` + safe + `) e JOIN projects p ON p.id = e.project_id ORDER BY e.epoch, e.xid, e.id`
		some = `SELECT ` + eventColumns + ` FROM projects p CROSS JOIN LATERAL (
	SELECT e.* FROM events e WHERE e.project_id = p.id AND` + safe + `) e
WHERE p.slug = ANY($5) ORDER BY e.epoch, e.xid, e.id LIMIT $4`
	)
	if after == "" {
		floor, err := r.feedFloor()
		if err != nil {
			return nil, err
		}
		after = floor
	}
	epoch, xid, id, err := parseCursor(after)
	if err != nil {
		return nil, err
	}
	args := []any{epoch, xid, id, limitOf(limit)}
	query := all
	if projects != nil {
		query, args = some, append(args, projects)
	}
	events, err := list(r, scanEvent, query, args...)
	return events, tooOld(err)
}

// FeedEnd returns the position before the oldest running transaction.
func (r *reader) FeedEnd() (board.Cursor, error) {
	const query = `SELECT feed_epoch || '.' || pg_snapshot_xmin(pg_current_snapshot())::text || '.0' FROM meta`
	end, err := one(r, pgx.RowTo[string], query)
	return board.Cursor(end), err
}

// Append adds events. That of a task of which only the seq is written becomes one statement
// with that.
func (t *tx) Append(events ...board.Event) error {
	const (
		columns = `epoch, project_id, task_id, seq, actor, kind, from_status, to_status, detail`
		insert  = `INSERT INTO events (` + columns + `)
SELECT feed_epoch, $1::bigint >> 40, $1, $2, $3, $4, $5, $6, $7::text::json FROM meta`
		touch = `WITH written AS (UPDATE tasks SET seq = $2 WHERE id = $1 AND seq = $8 RETURNING 1),
told AS (INSERT INTO events (` + columns + `)
SELECT m.feed_epoch, $1::bigint >> 40, $1, $2, $3, $4, $5, $6, $7::text::json FROM written, meta m)
SELECT 1 / count(*) FROM written`
	)
	for _, e := range events {
		detail, err := encode(e.Detail)
		if err != nil {
			return err
		}
		key, err := t.key(e.Task)
		if err != nil {
			return err
		}
		t.sign = &sign{key, e.Seq, e.Actor, string(e.Kind), detail}
		args := []any{key, e.Seq, e.Actor, string(e.Kind), string(e.From), string(e.To), detail}
		if last := t.touched; last != nil && last.Arguments[0] == any(key) && last.Arguments[1] == any(e.Seq) {
			last.SQL, last.Arguments = touch, append(args, last.Arguments[2])
			t.touched = nil
			continue
		}
		t.later(insert, args...)
	}
	return nil
}
