package sqlite

import (
	"errors"
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
)

func (t *tx) ArtifactBytes(id board.ID, principal string) (own, project int64, err error) {
	const (
		ofTask    = `SELECT coalesce(sum(stored), 0) FROM gateway_artifacts WHERE task_id = ?`
		ofProject = `SELECT coalesce(sum(stored), 0) FROM gateway_artifacts WHERE task_id BETWEEN ? AND ?`
		alone     = `SELECT coalesce(sum(stored), 0) FROM gateway_artifacts WHERE task_id IS NULL AND principal = ?`
	)
	if id.IsZero() {
		return own, 0, t.get(alone, []any{principal}, &own)
	}
	packed, err := t.pack(id)
	if err != nil {
		return 0, 0, err
	}
	if err := t.get(ofTask, []any{packed}, &own); err != nil {
		return 0, 0, err
	}
	first, last := idRange(packed >> noBits)
	return own, project, t.get(ofProject, []any{first, last}, &project)
}

func (t *tx) InsertArtifact(a board.Artifact) (board.ArtifactID, error) {
	const query = `INSERT INTO gateway_artifacts (task_id, principal, name, size, stored, body, at) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`
	task, err := t.packOrNull(a.Task)
	if err != nil {
		return 0, err
	}
	var id board.ArtifactID
	err = t.get(query, []any{task, a.Principal, a.Name, a.Size, a.Stored, []byte(a.Body), a.At.UnixMicro()}, (*int64)(&id))
	return id, err
}

func (r *reader) Artifact(id board.ArtifactID) (a board.Artifact, err error) {
	const query = `SELECT a.id, coalesce(p.slug, ''), coalesce(a.task_id, 0), a.principal, a.name, a.size, a.stored, a.at, a.body
		FROM gateway_artifacts a LEFT JOIN projects p ON p.id = a.task_id >> 40 WHERE a.id = ?`
	var task, at int64
	var body []byte
	err = r.get(query, []any{int64(id)}, (*int64)(&a.ID), &a.Task.Project, &task, &a.Principal, &a.Name, &a.Size, &a.Stored, &at, &body)
	if errors.Is(err, board.ErrNotFound) {
		err = fmt.Errorf("%w: artifact %d", board.ErrNotFound, id)
	}
	if err != nil {
		return a, err
	}
	if task != 0 {
		a.Task = unpack(a.Task.Project, task)
	}
	a.At, a.Body = fromMicros(at), string(body)
	return a, nil
}

func (t *tx) ForgetArtifacts(age time.Duration) error {
	_, err := t.exec(`DELETE FROM gateway_artifacts WHERE at < ?`, t.now()-micros(age))
	return err
}

func (r *reader) Upstream(name string) (u board.Upstream, err error) {
	const (
		catalogue = `SELECT body FROM gateway_catalogues WHERE upstream = ?`
		pins      = `SELECT kind, name, hash, body, by, at FROM gateway_pins WHERE upstream = ? ORDER BY at, kind, name, hash`
	)
	if err := r.each(catalogue, []any{name}, func(scan scan) error { return scan(&u.Catalogue) }); err != nil {
		return u, err
	}
	err = r.each(pins, []any{name}, func(scan scan) error {
		var p board.UpstreamPin
		var at int64
		err := scan(&p.Kind, &p.Name, &p.Hash, &p.Definition, &p.By, &at)
		p.At = fromMicros(at)
		u.Pins = append(u.Pins, p)
		return err
	})
	return u, err
}

func (t *tx) PutCatalogue(name, catalogue string) error {
	_, err := t.exec(`INSERT INTO gateway_catalogues (upstream, body) VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body`, name, catalogue)
	return err
}

func (t *tx) PutPin(upstream string, p board.UpstreamPin) error {
	const query = `INSERT INTO gateway_pins (upstream, kind, name, hash, body, by, at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET by = excluded.by, at = excluded.at WHERE gateway_pins.by = '' AND excluded.by <> ''`
	_, err := t.exec(query, upstream, p.Kind, p.Name, p.Hash, p.Definition, p.By, p.At.UnixMicro())
	return err
}
