package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/board"
)

const (
	claimColumns = `SELECT p.slug, c.task_id, c.attempt, c.nonce, c.principal, c.worker, c.owner, c.session, c.granted_at, c.lease_until,
		c.lease, c.deliveries, (SELECT a.place FROM attempts a WHERE a.task_id = c.task_id AND a.attempt = c.attempt),
		w.last_seen, w.owner <> c.owner FROM claims c LEFT JOIN workers w ON w.principal = c.principal AND w.name = c.worker CROSS JOIN projects p ON p.id = c.task_id >> 40`
	claimByTask = claimColumns + ` WHERE c.task_id = ?`
)

func scanClaim(scan scan) (board.Claim, error) {
	var c board.Claim
	var id, granted, until, lease int64
	var place *string
	var seen *int64
	var left *bool
	err := scan(&c.Task.Project, &id, &c.Handle.Attempt, &c.Nonce, &c.Worker.Principal, &c.Worker.Name, &c.Owner, &c.Session, &granted, &until,
		&lease, &c.Deliveries, &place, &seen, &left)
	c.LastCall, c.Left = fromNullTime(seen), left != nil && *left
	if err == nil && place != nil {
		err = fromJSON(*place, &c.Where)
	}
	c.Task = unpack(c.Task.Project, id)
	c.GrantedAt, c.LeaseUntil, c.Lease = fromMicros(granted), fromMicros(until), toDuration(lease)
	return c, err
}

// claims runs a constant query that begins with claimColumns.
func (r *reader) claims(query string, args ...any) ([]board.Claim, error) {
	var list []board.Claim
	err := r.each(query, args, func(scan scan) error {
		c, err := scanClaim(scan)
		list = append(list, c)
		return err
	})
	return list, err
}

// filterClaims restricts a query of claims or reviews; ErrNotFound if nothing can match.
func (r *reader) filterClaims(q *query, f board.ClaimFilter) error {
	for _, field := range []struct{ condition, value string }{
		{`p.slug = ?`, f.Project},
		{`c.principal = ?`, f.Principal},
		{`c.owner = ?`, f.Owner},
		{`c.worker = ?`, f.Worker},
		{`c.session = ?`, f.Session},
	} {
		if field.value != "" {
			q.and(field.condition, field.value)
		}
	}
	if f.Tasks != nil {
		packed, err := r.packed(f.Tasks)
		if err != nil {
			return err
		}
		q.and(`c.task_id IN (SELECT value FROM json_each(?))`, packed)
	}
	if f.Task.IsZero() {
		return nil
	}
	task, err := r.pack(f.Task)
	if err == nil {
		q.and(`c.task_id = ?`, task)
	}
	return err
}

func (r *reader) Claims(f board.ClaimFilter) ([]board.Claim, error) {
	q := newQuery(claimColumns)
	if err := r.filterClaims(q, f); err != nil {
		if errors.Is(err, board.ErrNotFound) {
			return nil, nil
		}
		return nil, err
	}
	if len(f.Areas) > 0 {
		q.and(`c.areas <> ?`, "[]")
	}
	q.end(`ORDER BY c.task_id`)
	if len(f.Areas) == 0 {
		q.end(`LIMIT ?`, limitOr(f.Limit, -1))
	}
	var list []board.Claim
	err := r.eachOf(q, func(scan scan) error {
		c, err := scanClaim(scan)
		list = append(list, c)
		return err
	})
	if err == nil && len(f.Areas) > 0 {
		list, err = r.overlapping(list, f.Areas)
		if f.Limit > 0 {
			list = list[:min(len(list), f.Limit)]
		}
	}
	return list, err
}

// overlapping returns the claims whose areas overlap the given ones.
func (r *reader) overlapping(claims []board.Claim, paths []string) (list []board.Claim, err error) {
	const query = `SELECT areas FROM claims WHERE task_id = ?`
	for _, c := range claims {
		id, err := r.pack(c.Task)
		if err != nil {
			return nil, err
		}
		busy := newAreas()
		if err := r.each(query, []any{id}, func(scan scan) error {
			var text string
			if err := scan(&text); err != nil {
				return err
			}
			areas, err := listFromJSON[string](text)
			busy.add(areas)
			return err
		}); err != nil {
			return nil, err
		}
		if busy.overlap(paths) {
			list = append(list, c)
		}
	}
	return list, nil
}

func (t *tx) LiveClaim(id board.ID) (board.Claim, error) {
	packed, err := t.pack(id)
	if err != nil {
		return board.Claim{}, err
	}
	claims, err := t.claims(claimByTask, packed)
	if err == nil && len(claims) == 0 {
		err = fmt.Errorf("%w: claim on %v", board.ErrNotFound, id)
	}
	if err != nil {
		return board.Claim{}, err
	}
	return claims[0], nil
}

func (t *tx) InsertClaim(c board.Claim, areas []string) error {
	const query = `INSERT INTO claims (task_id, attempt, nonce, principal, worker, owner, session, granted_at, lease_until, lease, deliveries, areas)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	id, err := t.pack(c.Task)
	if err != nil {
		return err
	}
	paths, err := listJSON(areas)
	if err != nil {
		return err
	}
	_, err = t.exec(query, id, c.Handle.Attempt, c.Nonce, c.Worker.Principal, c.Worker.Name, c.Owner, c.Session,
		c.GrantedAt.UnixMicro(), c.LeaseUntil.UnixMicro(), micros(c.Lease), c.Deliveries, paths)
	if isDuplicate(err) {
		return fmt.Errorf("%w: worker %s or task %v already has a claim", board.ErrConflict, c.Worker.Name, c.Task)
	}
	return err
}

func (t *tx) UpdateClaim(c board.Claim) error {
	const query = `UPDATE claims SET owner = ?, session = ?, lease_until = ?, lease = ?, deliveries = ?
		WHERE task_id = ? AND attempt = ? AND nonce = ?`
	id, err := t.pack(c.Task)
	if err != nil {
		return err
	}
	n, err := t.exec(query, c.Owner, c.Session, c.LeaseUntil.UnixMicro(), micros(c.Lease), c.Deliveries, id, c.Handle.Attempt, c.Nonce)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %v is not the live claim of %v", board.ErrConflict, c.Handle, c.Task)
	}
	return err
}

// DeleteClaim deletes the claim on a task, if there is one.
func (t *tx) DeleteClaim(id board.ID) error {
	const query = `DELETE FROM claims WHERE task_id = ?`
	packed, err := t.pack(id)
	if err != nil {
		return err
	}
	_, err = t.exec(query, packed)
	return err
}

// Renew restores the full lease of a claim that has not expired.
func (s *Store) Renew(ctx context.Context, h board.Handle) (renewed bool, err error) {
	err = s.Write(ctx, func(t board.Tx) error {
		if t, ok := t.(*tx); ok { // there is a board
			renewed, err = t.renew(h)
		}
		return err
	})
	return renewed, err
}

func (t *tx) renew(h board.Handle) (bool, error) {
	const query = `UPDATE claims SET lease_until = max(lease_until, ? + lease)
		WHERE task_id = ? AND attempt = ? AND nonce = ? AND lease_until > ?`
	id, err := t.pack(h.Task)
	if err != nil {
		return false, err
	}
	now := t.now()
	n, err := t.exec(query, now, id, h.Attempt, h.Nonce, now)
	return n == 1, err
}
