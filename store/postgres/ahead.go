package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// A held is a claim in force, with what belongs to it. Its task is locked.
type held struct {
	attempt board.Attempt
	claim   *board.Claim // nil once it was deleted
	worker  board.Worker
	asked   bool // the task has questions
}

// Ahead locks and reads what it is told in one round trip, together with BEGIN. What does
// not exist it leaves to the reads that will ask for it.
func (t *tx) Ahead(a board.Ahead) error {
	const (
		// Links are added under the locks of both tasks, so those that are read afterwards
		// are final. If one was added meanwhile, its task is left to Lock.
		family = `SELECT ` + lockedColumns + ` FROM projects p JOIN tasks t ON t.id = ANY (ARRAY(
	SELECT f.id FROM (SELECT ` + taskID + ` AS id) f
	UNION SELECT x.parent_id FROM tasks x WHERE x.id = ` + taskID + ` AND x.parent_id IS NOT NULL
	UNION SELECT l.task_id FROM links l WHERE l.blocker_id = ` + taskID + `))
WHERE p.slug = $1 ORDER BY t.id FOR UPDATE OF t`
		asked = `SELECT ` + lockedColumns + ` FROM tasks t JOIN projects p ON p.id = (t.id >> 40)::int
WHERE t.id = (SELECT q.task_id FROM questions q WHERE q.id = $1) FOR UPDATE OF t`
		lanes = `SELECT l.id, l.skills FROM projects p JOIN lanes l ON l.project_id = p.id WHERE p.slug = $1 AND l.skills <@ $2::text[]`
	)
	var b batch
	if a.Key != nil {
		t.known.once = batchOnce(&b, *a.Key)
	}
	var related links
	switch {
	case !a.Family.IsZero():
		t.batchLock(&b, family, a.Family.Project, no(a.Family))
		batchEach(&b, related.scan(a.Family.Project), linksQuery, a.Family.Project, no(a.Family))
	case a.Question > 0:
		t.batchLock(&b, asked, int64(a.Question))
		batchEach(&b, func(row pgx.CollectableRow) error {
			q, err := scanQuestion(row)
			t.known.question = &q
			return err
		}, questionQuery, int64(a.Question))
	case len(a.Lock) > 0:
		t.batchLockTasks(&b, a.Lock)
	}
	if !a.Doc.IsZero() {
		batchEach(&b, func(row pgx.CollectableRow) error {
			d, err := scanDoc(row)
			t.known.docs[a.Doc] = d
			return err
		}, docQuery, a.Doc.Project, no(a.Doc))
	}
	if a.Numbers > 0 {
		t.known.numbers = &numbers{slug: a.Project, n: a.Numbers}
		batchOne(&b, &t.known.numbers.first, false, pgx.RowTo[int64], numbersQuery, a.Project, a.Numbers)
		batchEach(&b, func(row pgx.CollectableRow) error {
			var id int
			var skills []string
			err := row.Scan(&id, &skills)
			t.known.lanes[laneKey(a.Project, skills)] = id
			return err
		}, lanes, a.Project, orEmpty(a.Skills))
	}
	if a.Ends { // so that the time which is read next is later than the beginning of all calls under it
		b.Queue(`SELECT FROM claims WHERE task_id = `+taskID+` FOR UPDATE`, a.Claim.Task.Project, no(a.Claim.Task))
		t.known.claims[a.Claim.Task] = true
	}
	switch {
	case !a.Claim.IsZero():
		batchEach(&b, t.scanHeld, heldQuery, a.Claim.Task.Project, no(a.Claim.Task), a.Claim.Attempt)
	case a.Project != "":
		batchEach(&b, t.scanSettings, settingsQuery, a.Project)
	default:
		t.batchMoment(&b)
	}
	if err := t.send(&b); err != nil {
		return err
	}
	if !a.Family.IsZero() {
		t.known.links[a.Family] = related
	}
	return nil
}

// settingsColumns are columns of projects p, and the time.
const settingsColumns = `p.id::bigint, p.slug, p.name, p.policy, p.accept, p.lease, p.skills, p.paused_by, p.keep, p.land, p.archived, ` + momentColumns

const settingsQuery = `SELECT ` + settingsColumns + ` FROM projects p WHERE p.slug = $1`

// scanSettings reads settingsColumns.
func (t *tx) scanSettings(row pgx.CollectableRow) error { return t.scanSettingsAnd(row) }

// scanSettingsAnd reads settingsColumns, and more columns after them.
func (t *tx) scanSettingsAnd(row pgx.CollectableRow, more ...any) error {
	var id int64
	var p board.Project
	var accept string
	if err := row.Scan(slices.Concat([]any{&id}, projectInto(&p, &accept), []any{&t.known.now, &t.xid}, more)...); err != nil {
		return err
	}
	t.known.projects[p.Slug] = id
	t.known.settings[p.Slug] = storedProject(p, accept)
	return nil
}

// heldQuery reads attempt $3 of a task if its claim is in force. OFFSET 0 as in HandOut.
const heldQuery = `SELECT ` + settingsColumns + `, ` + attemptColumns + `,
	c.owner, c.session, c.lease_until, c.lease, c.deliveries, w.owner, w.last_seen, w.stopped_by,
	EXISTS (SELECT FROM questions q WHERE q.task_id = a.task_id)
FROM projects p
CROSS JOIN LATERAL (SELECT * FROM attempts a WHERE a.task_id = p.id::bigint << 40 | $2::bigint AND a.attempt = $3 OFFSET 0) a
CROSS JOIN LATERAL (SELECT * FROM claims c WHERE c.task_id = a.task_id AND c.attempt = a.attempt AND c.nonce = a.nonce OFFSET 0) c
CROSS JOIN LATERAL (SELECT * FROM workers w WHERE w.principal = a.principal AND w.name = a.worker OFFSET 0) w
WHERE p.slug = $1`

// scanHeld reads a row of heldQuery.
func (t *tx) scanHeld(row pgx.CollectableRow) error {
	h := &held{claim: &board.Claim{}}
	a, c, w := &h.attempt, h.claim, &h.worker
	if err := t.scanSettingsAnd(row, append(attemptInto(a),
		&c.Owner, &c.Session, &c.LeaseUntil, &c.Lease, &c.Deliveries, &w.Owner, &w.LastSeen, &w.StoppedBy, &h.asked)...); err != nil {
		return err
	}
	w.WorkerID = a.Worker
	c.Handle, c.Worker, c.GrantedAt, c.Where = a.Handle, a.Worker, a.GrantedAt, a.Where
	c.LastCall, c.Left = w.LastSeen, w.Owner != c.Owner
	t.known.held = h
	return nil
}
