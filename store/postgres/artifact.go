package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// ArtifactBytes sums what artifacts take, by an index that has their sizes.
func (t *tx) ArtifactBytes(id board.ID, principal string) (own, project int64, err error) {
	const (
		ofTask = `SELECT coalesce(sum(a.stored) FILTER (WHERE a.task_id = p.id::bigint << 40 | $2::bigint), 0)::bigint, coalesce(sum(a.stored), 0)::bigint
FROM projects p JOIN gateway_artifacts a ON a.task_id >= p.id::bigint << 40 AND a.task_id < (p.id + 1)::bigint << 40 WHERE p.slug = $1`
		alone = `SELECT coalesce(sum(stored), 0)::bigint, 0::bigint FROM gateway_artifacts WHERE task_id IS NULL AND principal = $1`
	)
	query, args := alone, []any{principal}
	if !id.IsZero() {
		query, args = ofTask, []any{id.Project, no(id)}
	}
	var b batch
	batchEach(&b, func(row pgx.CollectableRow) error { return row.Scan(&own, &project) }, query, args...)
	return own, project, t.send(&b)
}

// InsertArtifact stores an artifact.
func (t *tx) InsertArtifact(a board.Artifact) (board.ArtifactID, error) {
	const query = `INSERT INTO gateway_artifacts (task_id, principal, name, size, stored, body, at) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`
	var task *int64
	if !a.Task.IsZero() {
		key, err := t.key(a.Task)
		if err != nil {
			return 0, err
		}
		task = &key
	}
	id, err := one(&t.reader, pgx.RowTo[int64], query, task, a.Principal, a.Name, a.Size, a.Stored, []byte(a.Body), a.At)
	return board.ArtifactID(id), err
}

// Artifact reads an artifact.
func (r *reader) Artifact(id board.ArtifactID) (board.Artifact, error) {
	const query = `SELECT a.id, coalesce(p.slug, ''), coalesce(a.task_id, 0), a.principal, a.name, a.size, a.stored, a.at, a.body
FROM gateway_artifacts a LEFT JOIN projects p ON p.id = (a.task_id >> 40)::int WHERE a.id = $1`
	a, err := one(r, func(row pgx.CollectableRow) (a board.Artifact, err error) {
		var body []byte
		err = row.Scan((*int64)(&a.ID), &a.Task.Project, numberInto{&a.Task.No}, &a.Principal, &a.Name, &a.Size, &a.Stored, &a.At, &body)
		a.Body = string(body)
		return a, err
	}, query, int64(id))
	return a, named(err, "artifact", id)
}

// ForgetArtifacts deletes old artifacts, a hundred at a time.
func (t *tx) ForgetArtifacts(age time.Duration) error {
	const query = `DELETE FROM gateway_artifacts WHERE id IN (
	SELECT id FROM gateway_artifacts WHERE at < statement_timestamp() - $1::interval ORDER BY at LIMIT 100 FOR UPDATE SKIP LOCKED)`
	for {
		if n, err := t.exec(query, age); err != nil || n < 100 {
			return err
		}
	}
}

// Upstream reads what is stored about a server.
func (r *reader) Upstream(name string) (u board.Upstream, err error) {
	const (
		catalogue = `SELECT body FROM gateway_catalogues WHERE upstream = $1`
		pins      = `SELECT kind, name, hash, body, by, at FROM gateway_pins WHERE upstream = $1 ORDER BY at, kind, name, hash`
	)
	var b batch
	batchOne(&b, &u.Catalogue, false, pgx.RowTo[string], catalogue, name)
	batchList(&b, &u.Pins, pgx.RowToStructByPos[board.UpstreamPin], pins, name)
	return u, r.send(&b)
}

// PutCatalogue creates or replaces the catalogue of a server.
func (t *tx) PutCatalogue(name, catalogue string) error {
	t.later(`INSERT INTO gateway_catalogues (upstream, body) VALUES ($1, $2) ON CONFLICT (upstream) DO UPDATE SET body = excluded.body`, name, catalogue)
	return nil
}

// PutPin adds a pin, or the approval of one.
func (t *tx) PutPin(upstream string, p board.UpstreamPin) error {
	const query = `INSERT INTO gateway_pins AS g (upstream, kind, name, hash, body, by, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (upstream, kind, name, hash) DO UPDATE SET by = excluded.by, at = excluded.at WHERE g.by = '' AND excluded.by <> ''`
	t.later(query, upstream, p.Kind, p.Name, p.Hash, p.Definition, p.By, p.At)
	return nil
}
