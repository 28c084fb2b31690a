package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// Events of all tasks are in the order of (epoch, xid, id). The number of an event
// is not the order of commits, and neither is that of a transaction; but below the
// oldest transaction that still runs nothing can appear any more, and the feed shows
// no more than that. Transaction numbers start again in a database that was restored
// elsewhere, or lost its last ones in a failover: then the epoch grows.

// An identity is what tells a database from the one that it is a copy of: a promoted
// standby has another timeline, and what is restored elsewhere another system.
type identity struct{ system, timeline int64 }

// checkEpoch begins a new epoch if the database is not the one that wrote last. The
// timeline is that of the log being written: the one in pg_control_checkpoint is that
// of the last checkpoint, which a promotion does not wait for.
func (s *Store) checkEpoch(ctx context.Context, conn *pgx.Conn) error {
	const (
		now = `SELECT system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint,
	current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local')
FROM pg_control_system()`
		differs = `SELECT EXISTS (SELECT FROM meta WHERE (system_id, timeline) <> ($1, $2))`
		update  = `UPDATE meta SET feed_epoch = feed_epoch + 1, system_id = $1, timeline = $2 WHERE (system_id, timeline) <> ($1, $2)`
	)
	var id identity
	var waits bool
	if err := conn.QueryRow(ctx, now).Scan(&id.system, &id.timeline, &waits); err != nil {
		return fmt.Errorf("postgres: identify the database: %w", err)
	}
	var other bool
	if err := conn.QueryRow(ctx, differs, pgx.QueryExecModeExec, id.system, id.timeline).Scan(&other); err != nil {
		return err
	}
	if other {
		if _, err := conn.Exec(ctx, update, pgx.QueryExecModeExec, id.system, id.timeline); err != nil {
			return err
		}
	}
	s.met(id, waits)
	return nil
}

// met tells the operator of a database that is new to this process: that it is, and
// whether its commits wait for a standby if there is another to fail over to.
func (s *Store) met(id identity, waits bool) {
	before := s.database.Swap(&id)
	if before != nil && *before == id {
		return
	}
	if before != nil {
		s.log.Warn("another database serves now: it was promoted or restored", "timeline", id.timeline, "before", before.timeline)
	}
	if !waits && severalHosts(s.config) {
		s.log.Warn("commits do not wait for a standby, so a failover can lose what was acknowledged: set synchronous_standby_names", "timeline", id.timeline)
	}
}

// eventColumns are of projects p and events e.
const eventColumns = `p.slug, e.task_id, e.seq, e.at, e.actor, e.kind, e.from_status, e.to_status, e.detail::text, e.epoch, e.xid::text, e.id`

func scanEvent(row pgx.CollectableRow) (e board.Event, err error) {
	var key, id int64
	var epoch int
	var xid string
	err = row.Scan(&e.Task.Project, &key, &e.Seq, &e.At, &e.Actor, (*string)(&e.Kind), (*string)(&e.From), (*string)(&e.To), jsonInto{&e.Detail}, &epoch, &xid, &id)
	e.Task.No = number(key)
	e.Cursor = board.Cursor(fmt.Sprintf("%d.%s.%d", epoch, xid, id))
	return e, err
}

// place reads a cursor.
func place(c board.Cursor) (epoch int32, xid string, id int64, err error) {
	if c == "" {
		return 0, "0", 0, nil
	}
	a, rest, _ := strings.Cut(string(c), ".")
	b, d, _ := strings.Cut(rest, ".")
	e, err1 := strconv.ParseInt(a, 10, 32)
	x, err2 := strconv.ParseUint(b, 10, 64)
	id, err3 := strconv.ParseInt(d, 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || e < 0 || id < 0 {
		return 0, "", 0, fmt.Errorf("%w: %.60q is not a cursor", board.ErrInvalid, c)
	}
	return int32(e), strconv.FormatUint(x, 10), id, nil
}

// lastEventsQuery gives the newest first.
const lastEventsQuery = `SELECT ` + eventColumns + ` FROM events e JOIN projects p ON p.slug = $1
WHERE e.task_id = ` + taskID + ` ORDER BY e.seq DESC LIMIT $3`

// Events lists a task's events.
func (r *reader) Events(id board.ID, after int64, limit int) ([]board.Event, error) {
	const query = `SELECT ` + eventColumns + ` FROM events e JOIN projects p ON p.slug = $1
WHERE e.task_id = ` + taskID + ` AND e.seq > $3 ORDER BY e.seq LIMIT $4`
	return list(r, scanEvent, query, id.Project, no(id), after, limitOf(limit))
}

// Feed lists what is safe to show after a cursor.
func (r *reader) Feed(projects []string, after board.Cursor, limit int) ([]board.Event, error) {
	const (
		safe = ` (e.epoch, e.xid, e.id) > ($1::int, $2::text::xid8, $3::bigint)
	AND (e.epoch < (SELECT feed_epoch FROM meta) OR e.xid < pg_snapshot_xmin(pg_current_snapshot()))
	ORDER BY e.epoch, e.xid, e.id LIMIT $4`
		all  = `SELECT ` + eventColumns + ` FROM (SELECT e.* FROM events e WHERE` + safe + `) e JOIN projects p ON p.id = e.project_id ORDER BY e.epoch, e.xid, e.id`
		some = `SELECT ` + eventColumns + ` FROM projects p CROSS JOIN LATERAL (
	SELECT e.* FROM events e WHERE e.project_id = p.id AND` + safe + `) e
WHERE p.slug = ANY($5) ORDER BY e.epoch, e.xid, e.id LIMIT $4`
	)
	epoch, xid, id, err := place(after)
	if err != nil {
		return nil, err
	}
	args := []any{epoch, xid, id, limitOf(limit)}
	if projects == nil {
		return list(r, scanEvent, all, args...)
	}
	return list(r, scanEvent, some, append(args, projects)...)
}

// FeedEnd is before the oldest transaction that still runs.
func (r *reader) FeedEnd() (board.Cursor, error) {
	const query = `SELECT feed_epoch || '.' || pg_snapshot_xmin(pg_current_snapshot())::text || '.0' FROM meta`
	end, err := one(r, pgx.RowTo[string], query)
	return board.Cursor(end), err
}

// Append adds events.
func (t *tx) Append(events ...board.Event) error {
	const query = `
INSERT INTO events (epoch, project_id, task_id, seq, actor, kind, from_status, to_status, detail)
SELECT m.feed_epoch, p.id, p.id::bigint << 40 | v.no, v.seq, v.actor, v.kind, v.from_status, v.to_status, v.detail::json
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
	WITH ORDINALITY v(slug, no, seq, actor, kind, from_status, to_status, detail, ord)
JOIN projects p ON p.slug = v.slug CROSS JOIN meta m ORDER BY v.ord`
	if len(events) == 0 {
		return nil
	}
	var slugs, actors, kinds, from, to, details []string
	var nos, seqs []int64
	for _, e := range events {
		detail, err := encode(e.Detail)
		if err != nil {
			return err
		}
		slugs, nos, seqs = append(slugs, e.Task.Project), append(nos, no(e.Task)), append(seqs, e.Seq)
		actors, kinds = append(actors, e.Actor), append(kinds, string(e.Kind))
		from, to, details = append(from, string(e.From)), append(to, string(e.To)), append(details, detail)
	}
	n, err := t.exec(query, slugs, nos, seqs, actors, kinds, from, to, details)
	if err == nil && n != int64(len(events)) {
		err = fmt.Errorf("%w: project of an event", board.ErrNotFound)
	}
	return err
}
