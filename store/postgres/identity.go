package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// An identity distinguishes a database from its copies: a promoted standby has another
// timeline, and a database restored elsewhere has another system identifier. Zero is what
// the server refuses to say, as some managed services do.
type identity struct{ system, timeline int64 }

// checkEpoch starts a new epoch if the database has another identity than at the last
// write. Without an identity it does so if transaction ids have gone back.
func (s *Store) checkEpoch(ctx context.Context, conn *pgx.Conn) error {
	const (
		read = `SELECT EXISTS (SELECT FROM meta WHERE $1::bigint NOT IN (0, system_id) OR $2::bigint NOT IN (0, timeline)),
	current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local')`
		update = `UPDATE meta SET feed_epoch = feed_epoch + 1, system_id = coalesce(nullif($1::bigint, 0), system_id), timeline = coalesce(nullif($2::bigint, 0), timeline)
WHERE $1::bigint NOT IN (0, system_id) OR $2::bigint NOT IN (0, timeline)`
	)
	id, err := identify(ctx, conn)
	if err != nil {
		return fmt.Errorf("postgres: identify the database: %w", err)
	}
	var other, waits bool
	if err := conn.QueryRow(ctx, read, pgx.QueryExecModeExec, id.system, id.timeline).Scan(&other, &waits); err != nil {
		return err
	}
	if other {
		if _, err := conn.Exec(ctx, update, pgx.QueryExecModeExec, id.system, id.timeline); err != nil {
			return err
		}
	}
	if id.system == 0 || id.timeline == 0 {
		if err := s.checkXID(ctx, conn); err != nil {
			return err
		}
	}
	s.noteDatabase(id, waits)
	return nil
}

// identify asks the database who it is. It reads the timeline from the current WAL file,
// because pg_control_checkpoint has that of the last checkpoint, which may be older than a
// promotion.
func identify(ctx context.Context, conn *pgx.Conn) (id identity, err error) {
	for _, q := range []struct {
		query string
		into  *int64
	}{
		{`SELECT system_identifier FROM pg_control_system()`, &id.system},
		{`SELECT ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint`, &id.timeline},
	} {
		err := conn.QueryRow(ctx, q.query, pgx.QueryExecModeExec).Scan(q.into)
		if err != nil && !notAllowed(err) {
			return id, err
		}
	}
	return id, nil
}

// notAllowed reports whether a server does not have a function, or not for this role.
func notAllowed(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "42501" || e.Code == "42883" || e.Code == "0A000")
}

// checkXID starts a new epoch if the next transaction id is not above those of the events, as
// in a database restored elsewhere, or below one that this process has seen, as after a
// failover that lost transactions.
func (s *Store) checkXID(ctx context.Context, conn *pgx.Conn) error {
	const (
		read = `
SELECT m.feed_epoch, pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
	coalesce((SELECT e.xid::text::bigint FROM events e WHERE e.epoch = m.feed_epoch ORDER BY e.epoch DESC, e.xid DESC, e.id DESC LIMIT 1), 0)
FROM meta m`
		update = `UPDATE meta SET feed_epoch = feed_epoch + 1 WHERE feed_epoch = $1`
	)
	var epoch int32
	var next, newest int64
	if err := conn.QueryRow(ctx, read, pgx.QueryExecModeExec).Scan(&epoch, &next, &newest); err != nil {
		return err
	}
	if seen := s.xid.Swap(next); next > newest && next >= seen {
		return nil
	}
	s.log.Warn("the database was promoted or restored: its transaction ids have gone back", "next", next)
	_, err := conn.Exec(ctx, update, pgx.QueryExecModeExec, epoch)
	return err
}

// noteDatabase records the database of a new connection. It warns if the database has
// changed, and if commits do not wait for a standby although there are several hosts.
func (s *Store) noteDatabase(id identity, waits bool) {
	before := s.database.Swap(&id)
	if before != nil && *before == id {
		return
	}
	if before != nil {
		s.log.Warn("the database was promoted or restored", "timeline", id.timeline, "before", before.timeline)
	} else if id.system == 0 || id.timeline == 0 {
		s.log.Info("this role may not ask the server for its identity; a failover is noticed if transaction ids go back")
	}
	if !waits && severalHosts(s.config) {
		s.log.Warn("commits do not wait for a standby, so a failover can lose acknowledged writes: set synchronous_standby_names", "timeline", id.timeline)
	}
}
