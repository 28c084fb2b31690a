package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bossman-dev/bossman/board"
)

// A tx is a reader in a transaction that also writes. BEGIN and writes are queued: they are
// sent together with the next statement whose answer is needed, at the latest with COMMIT.
type tx struct {
	reader
	known known
	// touched is the last queued statement, if it writes a task of which nothing but the seq
	// has changed.
	touched *pgx.QueuedQuery
	// sign is an event that the transaction appends, by which one can tell whether it has
	// committed, and xid the transaction's id, or empty.
	sign *sign
	xid  string
}

// A sign is an event as it is stored.
type sign struct {
	task, seq           int64
	actor, kind, detail string
}

// known is what a transaction has read of rows that it has locked or that never change, as
// it is after the transaction's own writes. Reads are answered from it.
type known struct {
	// now is when the last lock was taken; zero if something may have waited for one since.
	now      time.Time
	projects map[string]int64 // their row ids
	lanes    map[string]int   // the row ids of lanes, by laneKey
	settings map[string]board.Project
	tasks    map[board.ID]board.Task // as they are stored
	links    map[board.ID]links
	docs     map[board.ID]board.Doc
	held     *held
	claims   map[board.ID]bool // tasks whose claims are locked
	question *board.Question
	once     *once
	numbers  *numbers
}

// links are the links of a task.
type links struct{ blockers, dependents []board.ID }

func (s *Store) begin(ctx context.Context, conn *pgx.Conn) *tx {
	t := &tx{reader: *s.reader(ctx, conn)}
	t.known = known{
		projects: map[string]int64{}, lanes: map[string]int{}, settings: map[string]board.Project{},
		tasks: map[board.ID]board.Task{}, links: map[board.ID]links{}, docs: map[board.ID]board.Doc{},
		claims: map[board.ID]bool{},
	}
	t.queue.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	return t
}

// maxQueue is how many statements are queued at most, so that a large import does not run
// into CommitTimeout.
const maxQueue = 500

// later queues a write.
func (t *tx) later(query string, args ...any) *pgx.QueuedQuery {
	t.touched = nil
	if t.queue.Len() >= maxQueue && t.failed == nil {
		_ = t.send(&batch{}) // Write returns t.failed
	}
	return t.queue.Queue(query, args...)
}

// A queued write that must affect a row stands between mustBegin and mustEnd: if it affects
// none, it fails, so that COMMIT is not reached.
const (
	mustBegin      = `WITH written AS (`
	mustEnd        = ` RETURNING 1) SELECT 1 / count(*) FROM written`
	divisionByZero = "22012"
)

// must queues a write that fails with missing if it affects no row.
func (t *tx) must(missing error, query string, args ...any) *pgx.QueuedQuery {
	q := t.later(query, args...)
	q.Fn = func(answers pgx.BatchResults) error {
		_, err := answers.Exec()
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == divisionByZero {
			return missing
		}
		return err
	}
	return q
}

// commit sends the queue and COMMIT. It is not affected by the cancellation of ctx.
func (s *Store) commit(ctx context.Context, t *tx) error {
	if t.conn.PgConn().TxStatus() == 'I' && t.queue.Len() == 1 {
		return nil // BEGIN
	}
	return s.withCommit(ctx, t.conn, func(ctx context.Context) error {
		var b batch
		b.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
			if tag.String() != "COMMIT" {
				return fmt.Errorf("postgres: commit answered %s", tag)
			}
			return nil
		})
		return t.sendIn(ctx, &b)
	})
}

// Now reads the database's clock. After a lock it is the time at which the lock was taken.
func (t *tx) Now() (time.Time, error) {
	if !t.known.now.IsZero() {
		return t.known.now, nil
	}
	return t.reader.Now()
}

// exec is reader.exec for a statement that may wait for a lock.
func (t *tx) exec(query string, args ...any) (int64, error) {
	t.known.now = time.Time{}
	return t.reader.exec(query, args...)
}

// write is reader.write for a statement that may wait for a lock.
func (t *tx) write(missing error, query string, args ...any) error {
	t.known.now = time.Time{}
	return t.reader.write(missing, query, args...)
}

// projectID returns the row id of a project.
func (t *tx) projectID(slug string) (int64, error) {
	if id, ok := t.known.projects[slug]; ok {
		return id, nil
	}
	id, err := one(&t.reader, pgx.RowTo[int64], `SELECT id::bigint FROM projects WHERE slug = $1`, slug)
	if err != nil {
		return 0, named(err, "project", slug)
	}
	t.known.projects[slug] = id
	return id, nil
}

// key returns the row id of a task, which need not exist; its project must.
func (t *tx) key(id board.ID) (int64, error) {
	p, err := t.projectID(id.Project)
	return p<<40 | no(id), err
}

// lockedColumns are what scanLocked reads.
const lockedColumns = taskColumns + `, t.lane_id`

// scanLocked reads a task that the statement has locked.
func (t *tx) scanLocked(row pgx.CollectableRow) (board.Task, error) {
	var lane int
	task, key, err := scanTaskAnd(row, &lane)
	if err != nil {
		return task, err
	}
	t.known.projects[task.ID.Project] = key >> 40
	t.known.lanes[laneKey(task.ID.Project, task.Skills)] = lane
	t.known.tasks[task.ID] = copied(task)
	return task, nil
}

// batchLock adds a query for lockedColumns.
func (t *tx) batchLock(b *batch, query string, args ...any) {
	batchEach(b, func(row pgx.CollectableRow) error {
		_, err := t.scanLocked(row)
		return err
	}, query, args...)
}

// copied returns a task with lists of its own, which rules may change.
func copied(task board.Task) board.Task {
	task.Skills, task.Areas, task.Wants = slices.Clone(task.Skills), slices.Clone(task.Areas), slices.Clone(task.Wants)
	return task
}

func laneKey(slug string, skills []string) string { return slug + " " + strings.Join(skills, " ") }

// momentColumns are read after a lock was taken, by which a transaction gets an id.
const momentColumns = `clock_timestamp(), coalesce(pg_current_xact_id_if_assigned()::text, '')`

// batchMoment adds a query for momentColumns.
func (t *tx) batchMoment(b *batch) {
	batchEach(b, func(row pgx.CollectableRow) error { return row.Scan(&t.known.now, &t.xid) }, `SELECT `+momentColumns)
}

// Write runs f in a transaction.
func (s *Store) Write(ctx context.Context, f func(board.Tx) error) (err error) {
	defer s.observe(OpWrite, time.Now(), &err)
	return retryAborted(ctx, func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release() // which closes a connection that is still in a transaction
		t := s.begin(ctx, conn.Conn())
		err = f(t)
		if err == nil {
			err = cmp.Or(t.failed, ctx.Err())
		} else if aborted(t.failed) {
			err = t.failed // f may have replaced it
		}
		if err == nil {
			if err = s.commit(ctx, t); errors.Is(err, board.ErrUnknown) && t.sign != nil && t.xid != "" {
				var ran session
				if conn.Conn().IsClosed() {
					ran = stateOf(conn.Conn()).session
				}
				conn.Release()
				return s.settleWrite(ctx, t, ran, err)
			}
		}
		if err == nil || conn.Conn().IsClosed() || conn.Conn().PgConn().TxStatus() == 'I' {
			return err
		}
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		if _, e := conn.Exec(undo, "ROLLBACK"); e != nil {
			conn.Conn().PgConn().Close(undo)
		}
		return err
	})
}
