package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// A session identifies the server's side of a connection. The zero value is none.
type session struct {
	pid   uint32
	began time.Time // a later session may have the same pid
}

// sessionOf reads the session of a new connection.
func sessionOf(ctx context.Context, conn *pgx.Conn) (s session, err error) {
	const query = `SELECT pid, backend_start FROM pg_stat_get_activity(pg_backend_pid())`
	return s, conn.QueryRow(ctx, query, pgx.QueryExecModeExec).Scan(&s.pid, &s.began)
}

// handOut runs HandOut in a transaction of its own. If its answer is lost, it finds out what
// became of it, and runs it again if nothing did. If it is not known what became of some
// claimants, the error is ErrUnknown, with the rows of the others.
func (s *Store) handOut(ctx context.Context, args []any) (granted []handout, err error) {
	end := time.Time{}
	for {
		sent := time.Now()
		var ran session
		granted, ran, err = s.tryHandOut(ctx, args)
		if !errors.Is(err, board.ErrUnknown) {
			return granted, err
		}
		if end.IsZero() {
			end = time.Now().Add(s.opts.CommitTimeout)
		}
		settling, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
		granted, complete := s.settle(settling, ran, args, sent)
		cancel()
		switch {
		case !complete:
			return granted, err
		case len(granted) > 0:
			return granted, nil
		case ctx.Err() != nil: // nobody needs it any more
			return nil, ctx.Err()
		}
	}
}

// tryHandOut runs HandOut once. If its answer was lost, the session may still be running it.
func (s *Store) tryHandOut(ctx context.Context, args []any) (granted []handout, ran session, err error) {
	err = retryAborted(ctx, func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		err = s.withCommit(ctx, conn.Conn(), func(ctx context.Context) (err error) {
			rows, err := conn.Query(ctx, HandOut, args...)
			if err != nil {
				return err
			}
			granted, err = pgx.CollectRows(rows, scanHandout)
			return err
		})
		if conn.Conn().IsClosed() {
			ran = stateOf(conn.Conn()).session
		}
		return err
	})
	return granted, ran, err
}

// settle finds out what became of a hand-out whose answer was lost, until ctx ends. If it is
// complete, those without a row got nothing, and never will: the session that ran it has
// ended. sent is when the statement was sent.
func (s *Store) settle(ctx context.Context, ran session, args []any, sent time.Time) (granted []handout, complete bool) {
	// The rows are locked so that the commit waits until a standby has them, see Once.
	const claims = `
SELECT r.no, false, true, p.slug, c.task_id, c.attempt, c.nonce, c.granted_at, c.lease_until, c.lease
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY r(principal, name, nonce, no)
JOIN claims c ON c.principal = r.principal AND c.worker = r.name AND c.nonce = r.nonce
JOIN projects p ON p.id = c.task_id >> 40
FOR KEY SHARE OF c`
	// A claim may have ended since. A grant also writes the worker.
	const ended = `
SELECT true FROM unnest($1::text[], $2::text[], $3::text[]) r(principal, name, nonce)
JOIN workers w ON w.principal = r.principal AND w.name = r.name AND w.last_seen >= $4
WHERE NOT EXISTS (SELECT FROM claims c WHERE c.principal = r.principal AND c.worker = r.name AND c.nonce = r.nonce) LIMIT 1`
	principals, names, nonces := args[2], args[3], args[6]
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		over, err := s.end(ctx, ran)
		if err == nil && over {
			var seen []bool
			err = s.Write(ctx, func(t board.Tx) (err error) {
				r := &t.(*tx).reader
				if granted, err = list(r, scanHandout, claims, principals, names, nonces); err != nil {
					return err
				}
				now, err := r.Now()
				if err != nil {
					return err
				}
				// At the database, the statement was sent at this time or later.
				since := now.Add(-time.Since(sent))
				seen, err = list(r, pgx.RowTo[bool], ended, principals, names, nonces, since)
				return err
			})
			if err == nil {
				return granted, len(seen) == 0
			}
		}
		if sleep(ctx, wait) != nil {
			return nil, false
		}
	}
}

// settleWrite finds out what became of a transaction whose COMMIT was not answered, until ctx
// ends or for CommitTimeout. The session may still be running it. If the transaction had no effect, the error is ErrUnavailable.
func (s *Store) settleWrite(ctx context.Context, t *tx, ran session, unknown error) error {
	// The lock is for the same as in settle.
	const query = `SELECT true FROM tasks t JOIN events e ON e.task_id = t.id
WHERE t.id = $1 AND e.seq = $2 AND e.actor = $3 AND e.kind = $4 AND e.detail::text = $5 AND e.xid = $6::text::xid8
FOR KEY SHARE OF t`
	ctx, cancel := context.WithTimeout(ctx, s.opts.CommitTimeout)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		over, err := s.end(ctx, ran)
		if err == nil && over {
			var found []bool
			err = s.Write(ctx, func(u board.Tx) (err error) {
				found, err = list(&u.(*tx).reader, pgx.RowTo[bool], query, t.sign.task, t.sign.seq, t.sign.actor, t.sign.kind, t.sign.detail, t.xid)
				return err
			})
			switch {
			case err == nil && len(found) > 0:
				return nil
			case err == nil:
				return unavailable(errors.New("postgres: connection lost before the commit"))
			}
		}
		if sleep(ctx, wait) != nil {
			return unknown
		}
	}
}

// end ends a session and reports whether it is over. One that waits for a standby has
// committed: it is left to wait, because it would report success if it was disturbed.
func (s *Store) end(ctx context.Context, ran session) (over bool, err error) {
	if ran.pid == 0 {
		return true, nil
	}
	const query = `
SELECT CASE WHEN wait_event IS DISTINCT FROM 'SyncRep' THEN pg_terminate_backend(pid) END IS NOT NULL
FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2`
	err = s.Read(ctx, func(r board.Reader) error {
		rows, err := list(r.(*reader), pgx.RowTo[bool], query, ran.pid, ran.began)
		over = len(rows) == 0
		return err
	})
	return over, err
}
