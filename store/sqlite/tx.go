package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
	sqlite3 "modernc.org/sqlite/lib"
)

// A reader reads a snapshot of the board.
type reader struct {
	ctx   context.Context
	store *Store
	conn  *conn
	clock int64 // the largest time in the file
	given int64 // the latest time that now returned
	ended error // set if SQLite has rolled back the transaction

	// projects caches row ids. Projects are never deleted or renamed.
	projects map[string]int64
}

var _ board.Reader = (*reader)(nil)

// A tx is a reader that also writes.
type tx struct {
	reader
	left []string // the owners that leave, once it is committed
}

var _ board.Tx = (*tx)(nil)

func (s *Store) read(ctx context.Context, f func(board.Reader) error) error {
	file, err := s.attach(ctx)
	if err != nil {
		return err
	}
	if file == nil {
		return f(empty{s})
	}
	defer s.detach(file)
	c, err := file.reader(ctx)
	if err != nil {
		return err
	}
	good := false
	defer func() { file.put(c, good) }()
	r := &reader{ctx: ctx, store: s, conn: c, projects: map[string]int64{}}
	if _, err := r.exec(`BEGIN`); err != nil {
		return err
	}
	err = r.begin()
	if err == nil {
		err = f(r)
	}
	r.ctx = context.WithoutCancel(ctx)
	_, rollback := r.exec(`ROLLBACK`)
	good = rollback == nil && ctx.Err() == nil
	if file.frozen && file.changed(s.path) {
		return errChanged
	}
	return err
}

func (s *Store) write(ctx context.Context, file *file, f func(board.Tx) error) error {
	// The statements are short, so they run to their end. Cancellation is checked before
	// the commit, whose outcome is therefore always known.
	whole := context.WithoutCancel(ctx)
	c, err := file.write(whole)
	if err != nil {
		return err
	}
	t := &tx{reader: reader{ctx: whole, store: s, conn: c, projects: map[string]int64{}}}
	if _, err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	open := true
	defer func() {
		if !open {
			return
		}
		t.ended = nil
		if _, err := t.exec(`ROLLBACK`); err != nil {
			// SQLite has rolled back itself, or the connection is unusable.
			c.discard()
			file.writer = nil
		}
	}()
	if err := t.begin(); err != nil {
		return err
	}
	if err := f(t); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.keepClock(); err != nil {
		return err
	}
	if err := t.commit(); err != nil {
		return err
	}
	open = false
	s.depart(t.left)
	return nil
}

// commit commits the transaction. After an I/O error its outcome is unknown.
func (t *tx) commit() error {
	_, err := t.exec(`COMMIT`)
	if code(err)&0xff == sqlite3.SQLITE_IOERR {
		return fmt.Errorf("%w: %w", board.ErrUnknown, err)
	}
	return err
}

// begin reads the clock of the file, and checks that this program can use its schema.
func (r *reader) begin() error {
	const query = `SELECT min_schema, clock FROM meta`
	var schema int64
	if err := r.get(query, nil, &schema, &r.clock); err != nil {
		return err
	}
	if schema > r.store.known {
		return board.ErrTooNew
	}
	return nil
}

// keepClock stores the latest time that was used, for processes whose clock is behind.
func (t *tx) keepClock() error {
	const query = `UPDATE meta SET clock = ? WHERE clock < ?`
	if t.given <= t.clock {
		return nil
	}
	_, err := t.exec(query, t.given, t.given)
	return err
}

// Now returns the store's clock. It is never before a time stored in the file.
func (r *reader) Now() (time.Time, error) { return fromMicros(r.now()), nil }

func (r *reader) now() int64 {
	r.given = r.store.clock.read(r.clock)
	return r.given
}

// exec runs a constant statement and returns the number of rows it changed.
func (r *reader) exec(query string, args ...any) (int64, error) {
	if r.ended != nil {
		return 0, r.ended
	}
	stmt, err := r.conn.stmt(r.ctx, query)
	if err != nil {
		return 0, r.failed(err)
	}
	res, err := stmt.ExecContext(r.ctx, args...)
	if err != nil {
		return 0, r.failed(err)
	}
	return res.RowsAffected()
}

// get reads the row of a constant query; ErrNotFound if there is none.
func (r *reader) get(query string, args []any, into ...any) error {
	if r.ended != nil {
		return r.ended
	}
	stmt, err := r.conn.stmt(r.ctx, query)
	if err != nil {
		return r.failed(err)
	}
	if err := stmt.QueryRowContext(r.ctx, args...).Scan(into...); err != nil {
		return r.failed(err)
	}
	return nil
}

// each calls f for every row of a constant query.
func (r *reader) each(query string, args []any, f func(scan) error) error {
	if r.ended != nil {
		return r.ended
	}
	stmt, err := r.conn.stmt(r.ctx, query)
	if err != nil {
		return r.failed(err)
	}
	rows, err := stmt.QueryContext(r.ctx, args...)
	return r.rows(rows, err, f)
}

// eachOf is each for a composed query, which is not cached.
func (r *reader) eachOf(q *query, f func(scan) error) error {
	if r.ended != nil {
		return r.ended
	}
	rows, err := r.conn.c.QueryContext(r.ctx, q.String(), q.args...)
	return r.rows(rows, err, f)
}

// A scan reads the columns of a row.
type scan func(into ...any) error

// errStop makes each stop without an error.
var errStop = errors.New("stop")

func (r *reader) rows(rows *sql.Rows, err error, f func(scan) error) error {
	if err != nil {
		return r.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			if err == errStop {
				return nil
			}
			return r.failed(err)
		}
	}
	if err := rows.Err(); err != nil {
		return r.failed(err)
	}
	return nil
}

// failed translates an error, and records whether it has ended the transaction.
func (r *reader) failed(err error) error {
	mapped := mapError(r.ctx, err)
	if endsTransaction(err) {
		r.ended = mapped
	}
	return mapped
}

// changed returns ErrNotFound for a statement that changed no row.
func changed(n int64, err error) error {
	if err == nil && n == 0 {
		return board.ErrNotFound
	}
	return err
}
