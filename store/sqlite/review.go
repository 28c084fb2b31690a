package sqlite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

// reviewColumns has the columns of claimColumns; a review has no attempt and no place.
const reviewColumns = `SELECT p.slug, c.task_id, 0, c.nonce, c.principal, c.worker, c.owner, c.session, c.granted_at, c.lease_until,
	c.lease, c.deliveries, NULL, w.last_seen, w.owner <> c.owner
	FROM reviews c LEFT JOIN workers w ON w.principal = c.principal AND w.name = c.worker CROSS JOIN projects p ON p.id = c.task_id >> 40`

func (r *reader) Reviews(f board.ClaimFilter) ([]board.Claim, error) {
	if len(f.Areas) > 0 {
		return nil, nil
	}
	q := newQuery(reviewColumns)
	if err := r.filterClaims(q, f); err != nil {
		if errors.Is(err, board.ErrNotFound) {
			return nil, nil
		}
		return nil, err
	}
	q.end(`ORDER BY c.task_id LIMIT ?`, limitOr(f.Limit, -1))
	var list []board.Claim
	err := r.eachOf(q, func(scan scan) error {
		c, err := scanClaim(scan)
		list = append(list, c)
		return err
	})
	return list, err
}

func (r *reader) Reviewable(w board.Want) (board.Reviewable, error) {
	const query = `SELECT t.id, t.priority, l.skills FROM tasks t INDEXED BY tasks_state CROSS JOIN lanes l ON l.id = t.lane_id
		WHERE t.status = 'review' AND t.id BETWEEN ?1 AND ?3 AND t.open_children = 0
		AND NOT EXISTS (SELECT 1 FROM reviews r WHERE r.task_id = t.id)
		AND NOT EXISTS (SELECT 1 FROM declines d WHERE d.principal = ?4 AND d.worker = ?5 AND d.task_id = t.id AND d.until > ?6)
		AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.task_id = t.id AND (a.owner = ?2 OR ` + actedAs + ` OR a.principal = ?4 AND (a.worker = ?5 OR ?7 OR ` + inDir + `)))
		ORDER BY t.priority, t.queued_at, t.id`
	projects, err := r.Projects(w.Reviews...)
	if err != nil || len(w.Reviews) == 0 {
		return board.Reviewable{}, err
	}
	var first board.Reviewable
	best := -1
	who := w.For[0]
	for _, p := range projects {
		if p.Policy != board.PolicyReview || p.PausedBy != "" || p.Archived {
			continue
		}
		id, err := r.projectID(p.Slug)
		if err != nil {
			return first, err
		}
		low, high := idRange(id)
		args := []any{low, who.Owner, high, who.Worker.Principal, who.Worker.Name, r.now(), who.OneWorker}
		err = r.each(query, args, func(scan scan) error {
			var task int64
			var priority int
			var skills string
			if err := scan(&task, &priority, &skills); err != nil {
				return err
			}
			wanted, err := listFromJSON[string](skills)
			if err != nil || w.Skills != nil && slices.ContainsFunc(wanted, func(s string) bool { return !slices.Contains(w.Skills, s) }) {
				return err
			}
			if best < 0 || priority < best {
				first.Task, best = unpack(p.Slug, task), priority
			}
			return errStop
		})
		if err != nil {
			return first, err
		}
	}
	if first.Task.IsZero() {
		return first, nil
	}
	first.Behind, err = r.moreUrgent(w, best)
	return first, err
}

// moreUrgent reports whether a ready task that fits has a higher priority.
func (r *reader) moreUrgent(w board.Want, priority int) (bool, error) {
	const query = `SELECT EXISTS (SELECT 1 FROM tasks t INDEXED BY tasks_ready WHERE t.lane_id = ? AND t.ready AND t.priority < ?)`
	projects, err := r.fitting(w)
	if err != nil {
		return false, err
	}
	for _, p := range projects {
		for _, lane := range p.lanes {
			var more bool
			if err := r.get(query, []any{lane, priority}, &more); err != nil || more {
				return more, err
			}
		}
	}
	return false, nil
}

func (t *tx) InsertReview(c board.Claim) error {
	const query = `INSERT INTO reviews (task_id, nonce, principal, worker, owner, session, granted_at, lease_until, lease, deliveries)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	id, err := t.pack(c.Task)
	if err != nil {
		return err
	}
	_, err = t.exec(query, id, c.Nonce, c.Worker.Principal, c.Worker.Name, c.Owner, c.Session,
		c.GrantedAt.UnixMicro(), c.LeaseUntil.UnixMicro(), micros(c.Lease), c.Deliveries)
	if isDuplicate(err) {
		return fmt.Errorf("%w: worker %s or task %v already has a review", board.ErrConflict, c.Worker.Name, c.Task)
	}
	return err
}

func (t *tx) UpdateReview(c board.Claim) error {
	const query = `UPDATE reviews SET owner = ?, session = ?, lease_until = ?, lease = ?, deliveries = ? WHERE task_id = ? AND nonce = ?`
	id, err := t.pack(c.Task)
	if err != nil {
		return err
	}
	n, err := t.exec(query, c.Owner, c.Session, c.LeaseUntil.UnixMicro(), micros(c.Lease), c.Deliveries, id, c.Nonce)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %v is not live", board.ErrConflict, c.Handle)
	}
	return err
}

func (t *tx) DeleteReview(id board.ID) error {
	const query = `DELETE FROM reviews WHERE task_id = ?`
	packed, err := t.pack(id)
	if err != nil {
		return err
	}
	_, err = t.exec(query, packed)
	return err
}

// ExpiredReviews returns them in the order in which their leases expired.
func (t *tx) ExpiredReviews(limit int) ([]board.Claim, error) {
	const query = reviewColumns + ` WHERE c.lease_until <= ?
		OR EXISTS (SELECT 1 FROM claims x WHERE x.principal = c.principal AND x.worker = c.worker) ORDER BY c.lease_until, c.task_id LIMIT ?`
	return t.claims(query, t.now(), limitOr(limit, pageSize))
}
