package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bossman-dev/bossman/board"
)

// A reader looks things up on one connection. Its methods are in the files of their
// nouns.
type reader struct {
	ctx  context.Context
	conn *pgx.Conn
	// most bounds a statement. The server has a bound of its own, which is less, but one
	// that hangs keeps to none.
	most time.Duration
	// failed is the first error after which the transaction, if there is one, cannot
	// commit.
	failed error
}

// A tx is a reader in a transaction, and writes.
type tx struct{ reader }

var (
	_ board.Reader = (*reader)(nil)
	_ board.Tx     = (*tx)(nil)
)

// taskID is the key of the task whose project's slug is $1 and whose number is $2.
const taskID = `(SELECT p.id::bigint << 40 | $2::bigint FROM projects p WHERE p.slug = $1::text)`

// Now reads the database's clock.
func (r *reader) Now() (time.Time, error) {
	return one(r, pgx.RowTo[time.Time], `SELECT clock_timestamp()`)
}

// check gives an error its kind, and remembers it.
func (r *reader) check(err error) error {
	if err == nil {
		return nil
	}
	err = translate(err)
	if r.conn.IsClosed() && r.ctx.Err() == nil && !isUnavailable(err) {
		err = unavailable(err)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "25006" {
		// The server became a standby: the next connection finds another.
		_ = r.conn.Close(r.ctx)
	}
	if r.failed == nil && (r.conn.IsClosed() || r.conn.PgConn().TxStatus() == 'E') {
		r.failed = err
	}
	return err
}

// exec runs a statement and gives the number of rows it wrote.
func (r *reader) exec(query string, args ...any) (int64, error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.most)
	defer cancel()
	tag, err := r.conn.Exec(ctx, query, args...)
	return tag.RowsAffected(), r.check(err)
}

// write runs a statement that must write something, else it is missing.
func (r *reader) write(missing error, query string, args ...any) error {
	n, err := r.exec(query, args...)
	if err == nil && n == 0 {
		err = missing
	}
	return err
}

// list runs a query and gives its rows.
func list[T any](r *reader, scan pgx.RowToFunc[T], query string, args ...any) ([]T, error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.most)
	defer cancel()
	rows, err := r.conn.Query(ctx, query, args...)
	if err != nil {
		return nil, r.check(err)
	}
	v, err := pgx.CollectRows(rows, scan)
	return v, r.check(err)
}

// one runs a query and gives its row; none is ErrNotFound.
func one[T any](r *reader, scan pgx.RowToFunc[T], query string, args ...any) (T, error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.most)
	defer cancel()
	rows, err := r.conn.Query(ctx, query, args...)
	if err != nil {
		var zero T
		return zero, r.check(err)
	}
	v, err := pgx.CollectExactlyOneRow(rows, scan)
	return v, r.check(err)
}

// A batch is queries that go in one round trip.
type batch struct{ pgx.Batch }

// batchList and batchOne add a query whose rows go to dest; batchOne leaves dest
// alone if there is no row, unless there must be one.
func batchList[T any](b *batch, dest *[]T, scan pgx.RowToFunc[T], query string, args ...any) {
	b.Queue(query, args...).Query(func(rows pgx.Rows) error {
		v, err := pgx.CollectRows(rows, scan)
		*dest = v
		return err
	})
}

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

func (r *reader) send(b *batch) error {
	ctx, cancel := context.WithTimeout(r.ctx, r.most)
	defer cancel()
	return r.check(r.conn.SendBatch(ctx, &b.Batch).Close())
}
