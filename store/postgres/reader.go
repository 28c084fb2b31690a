package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bossman-dev/bossman/board"
)

// A reader reads on one connection.
type reader struct {
	ctx  context.Context
	conn *pgx.Conn
	// timeout is the client's timeout of a round trip. It is longer than the server's own
	// of a statement, and covers a server that hangs.
	timeout time.Duration
	// queue is what is sent before the next statement, in the same round trip.
	queue batch
	// scan is when the leases of all claims were last looked at.
	scan *leaseScan
	// failed is the first error that aborted the transaction, if there is one.
	failed error
}

var (
	_ board.Reader = (*reader)(nil)
	_ board.Tx     = (*tx)(nil)
)

// taskID is the row id of the task whose project is $1 and whose number is $2.
const taskID = `(SELECT p.id::bigint << 40 | $2::bigint FROM projects p WHERE p.slug = $1::text)`

// Now reads the database's clock.
func (r *reader) Now() (time.Time, error) {
	return one(r, pgx.RowTo[time.Time], `SELECT clock_timestamp()`)
}

// check translates an error, and records one that aborts the transaction.
func (r *reader) check(err error) error {
	if err == nil {
		return nil
	}
	err = translate(err)
	if r.conn.IsClosed() && r.ctx.Err() == nil && !isUnavailable(err) {
		err = unavailable(err)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "25006" {
		// The server has become a standby. The next connection finds the new primary.
		_ = r.conn.Close(r.ctx)
	}
	if r.failed == nil && (r.conn.IsClosed() || r.conn.PgConn().TxStatus() == 'E') {
		r.failed = err
	}
	return err
}

// exec runs a statement and returns the number of rows it affected.
func (r *reader) exec(query string, args ...any) (n int64, err error) {
	var b batch
	b.Queue(query, args...).Exec(func(tag pgconn.CommandTag) error {
		n = tag.RowsAffected()
		return nil
	})
	err = r.send(&b)
	return n, err
}

// write runs a statement, and returns missing if it affected no row.
func (r *reader) write(missing error, query string, args ...any) error {
	n, err := r.exec(query, args...)
	if err == nil && n == 0 {
		err = missing
	}
	return err
}

// list runs a query and returns its rows.
func list[T any](r *reader, scan pgx.RowToFunc[T], query string, args ...any) (v []T, err error) {
	var b batch
	batchList(&b, &v, scan, query, args...)
	err = r.send(&b)
	return v, err
}

// one runs a query and returns its only row; ErrNotFound if there is none.
func one[T any](r *reader, scan pgx.RowToFunc[T], query string, args ...any) (v T, err error) {
	var b batch
	batchOne(&b, &v, true, scan, query, args...)
	err = r.send(&b)
	return v, err
}

// A batch is a set of statements that are sent in one round trip.
type batch struct{ pgx.Batch }

// batchList adds a query whose rows are stored in dest.
func batchList[T any](b *batch, dest *[]T, scan pgx.RowToFunc[T], query string, args ...any) {
	b.Queue(query, args...).Query(func(rows pgx.Rows) error {
		v, err := pgx.CollectRows(rows, scan)
		*dest = v
		return err
	})
}

// batchOne adds a query whose row is stored in dest. If there is no row, it leaves dest
// unchanged, or fails if must is set.
func batchOne[T any](b *batch, dest *T, must bool, scan pgx.RowToFunc[T], query string, args ...any) {
	b.Queue(query, args...).Query(func(rows pgx.Rows) error {
		v, err := pgx.CollectRows(rows, scan)
		switch {
		case err != nil:
			return err
		case len(v) > 0:
			*dest = v[0]
		case must:
			return pgx.ErrNoRows
		}
		return nil
	})
}

// batchEach adds a query whose rows are handed to f.
func batchEach(b *batch, f func(pgx.CollectableRow) error, query string, args ...any) {
	b.Queue(query, args...).Query(func(rows pgx.Rows) error {
		_, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) { return struct{}{}, f(row) })
		return err
	})
}

// send sends the queue and b in one round trip.
func (r *reader) send(b *batch) error {
	ctx, cancel := context.WithTimeout(r.ctx, r.timeout)
	defer cancel()
	return r.check(r.sendIn(ctx, b))
}

func (r *reader) sendIn(ctx context.Context, b *batch) error {
	all := pgx.Batch{QueuedQueries: slices.Concat(r.queue.QueuedQueries, b.QueuedQueries)}
	r.queue = batch{}
	return r.conn.SendBatch(ctx, &all).Close()
}
