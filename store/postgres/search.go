package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bossman-dev/bossman/board"
)

// The table search has a copy of the titles and descriptions of all tasks, in lower case and
// with an index on groups of three letters. It is a table of its own because every change of
// a task writes the indexes of tasks again. Triggers fill it, so that programs that do not
// know it do so as well. Where the extension pg_trgm cannot be created it is empty. New entries
// of the index are kept in a list, up to 4 MB, which a search reads too, and which then gets into
// the index at once: one by one, the entries of a task are 24 KiB of write-ahead log.

const (
	// scanned is how many tasks a search looks at before it uses the index, because a
	// frequent word is found sooner without it.
	scanned = 300
	// fewHits is how many hits of the index are read and sorted. If there are more, the word
	// is frequent enough to be found by looking at the tasks one after the other.
	fewHits = 10_000
)

// matches is the condition that the text is in a task.
const matches = ` AND (strpos(lower(t.title), lower($%[1]d)) > 0 OR EXISTS (
	SELECT FROM task_docs d WHERE d.task_id = t.id AND strpos(lower(d.description), lower($%[1]d)) > 0))`

// search lists tasks with a text.
func (r *reader) search(f board.TaskFilter) ([]board.Task, error) {
	const (
		hits    = `WITH hits AS MATERIALIZED (SELECT task_id FROM search WHERE txt LIKE lower($%d)) `
		hitList = `SELECT t.id FROM hits h CROSS JOIN LATERAL (SELECT * FROM tasks t WHERE t.id = h.task_id OFFSET 0) t
WHERE h.task_id >= p.id::bigint << 40 AND h.task_id < (p.id + 1)::bigint << 40`
		newest = `SELECT t.id FROM (
	(SELECT t.id FROM tasks t WHERE ` + inProject + ` ORDER BY t.id DESC LIMIT $%[1]d)
	UNION (SELECT t.id FROM tasks t WHERE ` + inProject + ` AND t.status NOT IN ('done', 'cancelled') ORDER BY t.id DESC LIMIT $%[1]d)) c`
		// copied selects those of c whose copy has the text. OFFSET 0 keeps the planner from
		// reading all copies.
		copied = ` CROSS JOIN LATERAL (SELECT FROM search s WHERE s.task_id = c.id AND strpos(s.txt, lower($%[2]d)) > 0 OFFSET 0) s`
		each   = ` CROSS JOIN LATERAL (SELECT * FROM tasks t WHERE t.id = c.id OFFSET 0) t WHERE true`
	)
	first := newListing(f)
	first.args[1] = scanned
	first.readFrom(f)
	first.out.add(&first.args, matches, f.Query)
	tasks, err := first.list(r)
	if err != nil || len(tasks) == limitOf(f.Limit) {
		return tasks, err
	}
	pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(f.Query) + "%"
	n, err := r.hits(f.Query, pattern)
	if err != nil {
		return nil, err
	}
	l := newListing(f)
	l.in.add(&l.args, matches, f.Query)
	switch few := f.IDs != nil || f.Hold || f.Resting || f.Stuck || f.Worker != "" || !f.Parent.IsZero(); {
	case n > fewHits || few && n < 0:
		l.readFrom(f)
	case n == noIndex:
		l.source.add(&l.args, newest+each, board.Searched)
	case n == tooShort:
		l.source.add(&l.args, newest+copied+each, board.Searched, f.Query)
	default:
		var with where
		with.add(&l.args, hits, pattern)
		l.with = with.String()
		l.source.add(&l.args, hitList)
	}
	return l.list(r)
}

// What hits returns if the index cannot be used.
const noIndex, tooShort = -1, -2

// hits returns how many tasks the index finds, up to one more than fewHits; noIndex if there
// is none; tooShort if the text has no three letters or digits in a row, which it needs.
func (r *reader) hits(text, pattern string) (int, error) {
	const query = `SELECT CASE WHEN NOT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('search_text') AND indisvalid) THEN $4
	WHEN $1 !~ '[[:alnum:]]{3}' THEN $5 ELSE (SELECT count(*) FROM (SELECT FROM search WHERE txt LIKE lower($2) LIMIT $3) h) END`
	return one(r, pgx.RowTo[int], query, text, pattern, fewHits+1, noIndex, tooShort)
}

// makeSearch fills search and makes its index, unless it is there or the extension cannot be
// created. It is called at every migration, because the extension may have become available
// since.
func makeSearch(ctx context.Context, conn *pgx.Conn) error {
	const (
		made      = `SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('search_text') AND indisvalid)`
		lock      = `SELECT pg_try_advisory_lock(x'626f7374'::int, 0)` // kept until the connection closes
		extension = `CREATE EXTENSION IF NOT EXISTS pg_trgm`
		schema    = `SELECT quote_ident(nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'`
		last      = `SELECT coalesce(max(task_id), 0) FROM task_docs`
		batch     = `
WITH b AS MATERIALIZED (SELECT task_id, description FROM task_docs WHERE task_id > $1 AND task_id <= $2 ORDER BY task_id LIMIT 5000),
copied AS (INSERT INTO search (task_id, txt) SELECT b.task_id, lower(t.title || ' ' || b.description) FROM b JOIN tasks t ON t.id = b.task_id ON CONFLICT DO NOTHING)
SELECT coalesce(max(task_id), $2) FROM b`
	)
	var ok bool
	if err := conn.QueryRow(ctx, made).Scan(&ok); err != nil || ok {
		return err
	}
	if err := conn.QueryRow(ctx, lock).Scan(&ok); err != nil || !ok {
		return err // or another process is at it
	}
	if _, err := conn.Exec(ctx, extension); err != nil {
		if _, refused := errors.AsType[*pgconn.PgError](err); refused {
			return nil // it is not allowed, or not installed
		}
		return err
	}
	var in string
	if err := conn.QueryRow(ctx, schema).Scan(&in); err != nil {
		return err
	}
	// What is created from now on gets into search by itself.
	const triggers = `ALTER TABLE task_docs ENABLE TRIGGER search_new, ENABLE TRIGGER search_doc; ALTER TABLE tasks ENABLE TRIGGER search_title`
	if _, err := conn.Exec(ctx, triggers); err != nil {
		return err
	}
	var at, end int64
	if err := conn.QueryRow(ctx, last).Scan(&end); err != nil {
		return err
	}
	for at < end {
		if err := conn.QueryRow(ctx, batch, at, end).Scan(&at); err != nil {
			return err
		}
	}
	for _, s := range []string{
		`SET maintenance_work_mem = '256MB'`,
		`DROP INDEX CONCURRENTLY IF EXISTS search_text`, // one that is not valid
		`CREATE INDEX CONCURRENTLY search_text ON search USING gin (txt ` + in + `.gin_trgm_ops) WITH (fastupdate = on, gin_pending_list_limit = 4096)`,
	} {
		if _, err := conn.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
