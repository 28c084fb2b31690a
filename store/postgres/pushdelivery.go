package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/push"
)

// FanOut turns events and questions into deliveries.
func (p *Push) FanOut(ctx context.Context, limit int, choose func(*push.Batch) []push.Delivery) (more bool, err error) {
	const lock = `SELECT pg_try_advisory_xact_lock(x'626f7373'::int, -1)` // as in LockProject, whose projects are above 0
	err = p.store.writeRetrying(ctx, func(r *reader) error {
		more = false
		mine, err := one(r, pgx.RowTo[bool], lock)
		if err != nil || !mine {
			return err
		}
		b, end, err := r.pushBatch(limit)
		if err != nil || b == nil {
			return err
		}
		more = len(b.Events) == limit || len(b.Questions) == limit
		return r.pushOut(b, end, choose(b))
	})
	return more, err
}

// A target's cursor.
type targetCursor struct {
	target push.Target
	place  feedPlace
	cursor board.Cursor
}

func scanTargetCursor(row pgx.CollectableRow) (t targetCursor, err error) {
	var browser []byte
	if err = row.Scan(append(targetInto(&t.target, &browser), (*string)(&t.cursor))...); err != nil {
		return t, err
	}
	t.target.AuthSecret = auth.Secret(browser)
	t.place, err = placeOf(t.cursor)
	return t, err
}

// pushBatch reads what is new, and the cursor after it. The batch is nil if nothing is.
func (r *reader) pushBatch(limit int) (b *push.Batch, end board.Cursor, err error) {
	const (
		targets   = `SELECT ` + targetColumns + `, t.cursor FROM push_targets t WHERE t.disabled_at IS NULL ORDER BY t.id`
		questions = `SELECT ` + questionColumns + ` FROM questions q JOIN projects p ON p.id = q.project_id
WHERE q.task_id IS NULL AND q.pushed <> q.state ORDER BY q.id LIMIT $1 FOR UPDATE OF q SKIP LOCKED`
		keys = `SELECT ` + keyColumns + ` WHERE k.id = ANY($1)`
	)
	b = &push.Batch{Keys: map[string]auth.Key{}}
	if b.Questions, err = list(r, scanQuestion, questions, limit); err != nil {
		return nil, "", err
	}
	all, err := list(r, scanTargetCursor, targets)
	if err != nil {
		return nil, "", err
	}
	places := map[push.TargetID]feedPlace{}
	ids := []string{}
	for i, t := range all {
		b.Targets = append(b.Targets, t.target)
		places[t.target.ID] = t.place
		if t.target.Key != "" {
			ids = append(ids, t.target.Key)
		}
		if i == 0 || t.place.before(places[0]) {
			places[0], end = t.place, t.cursor // there is no target 0
		}
	}
	if len(all) > 0 {
		floor, err := r.feedFloor()
		if err != nil {
			return nil, "", err
		}
		if begin, err := placeOf(floor); err != nil || places[0].before(begin) {
			end = floor // what was before it was archived, and nobody is told of it any more
		}
		if b.Events, err = r.Feed(nil, end, limit); err != nil {
			return nil, "", err
		}
	}
	if len(b.Events) == 0 && len(b.Questions) == 0 {
		return nil, "", nil
	}
	if len(b.Events) > 0 {
		end = b.Events[len(b.Events)-1].Cursor
	} else {
		end = ""
	}
	b.Seen = func(t *push.Target, e *board.Event) bool {
		at, err := placeOf(e.Cursor)
		return err != nil || !places[t.ID].before(at)
	}
	found, err := list(r, scanKey, keys, ids)
	if err != nil {
		return nil, "", err
	}
	for _, k := range found {
		b.Keys[k.ID] = k
	}
	if b.Projects, err = r.Projects(); err != nil {
		return nil, "", err
	}
	b.Now, err = r.Now()
	return b, end, err
}

// pushOut stores deliveries and moves the cursors to end, unless that is empty. A target that
// was made meanwhile may be further already.
func (r *reader) pushOut(b *push.Batch, end board.Cursor, deliveries []push.Delivery) error {
	const (
		insert = `
INSERT INTO push_deliveries (id, target_id, type, at, project, task_no, seq, question, attempt, from_status, to_status)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::timestamptz[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::int[], $10::text[], $11::text[])`
		move = `UPDATE push_targets SET cursor = $2 WHERE id = ANY($1)`
		told = `UPDATE questions SET pushed = s.state FROM unnest($1::bigint[], $2::text[]) s (id, state) WHERE questions.id = s.id`
	)
	if n := len(deliveries); n > 0 {
		ids, types, projects, from, to := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
		targets, tasks, seqs, questions := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
		times, attempts := make([]time.Time, n), make([]int32, n)
		for i, d := range deliveries {
			ids[i], types[i], projects[i], from[i], to[i] = d.ID, d.Type, d.Project, string(d.From), string(d.To)
			targets[i], tasks[i], seqs[i], questions[i] = int64(d.Target), d.Task.No, d.Seq, int64(d.Question)
			times[i], attempts[i] = d.At, int32(d.Attempt)
		}
		if _, err := r.exec(insert, ids, targets, types, times, projects, tasks, seqs, questions, attempts, from, to); err != nil {
			return err
		}
	}
	if end != "" {
		behind := []int64{}
		for i := range b.Targets {
			if !b.Seen(&b.Targets[i], &board.Event{Cursor: end}) {
				behind = append(behind, int64(b.Targets[i].ID))
			}
		}
		if _, err := r.exec(move, behind, string(end)); err != nil {
			return err
		}
	}
	if len(b.Questions) == 0 {
		return nil
	}
	ids, states := make([]int64, len(b.Questions)), make([]string, len(b.Questions))
	for i, q := range b.Questions {
		ids[i], states[i] = int64(q.ID), string(q.State)
	}
	_, err := r.exec(told, ids, states)
	return err
}

// deliveryColumns are columns of push_deliveries d.
const deliveryColumns = `d.id, d.target_id, d.type, d.at, d.project, d.task_no, d.seq, d.question, d.attempt, d.from_status, d.to_status, d.tries, d.dead_at, d.error`

func scanClaimed(row pgx.CollectableRow) (c push.Claimed, err error) {
	d := &c.Delivery
	var no int64
	var browser []byte
	err = row.Scan(append([]any{
		&d.ID, (*int64)(&d.Target), &d.Type, &d.At, &d.Project, &no, &d.Seq, (*int64)(&d.Question), &d.Attempt, (*string)(&d.From), (*string)(&d.To), &d.Tries, stamp(&d.Dead), &d.Error,
	}, targetInto(&c.Target, &browser)...)...)
	c.Target.AuthSecret = auth.Secret(browser)
	if no > 0 {
		d.Task = board.ID{Project: d.Project, No: no}
	}
	return c, err
}

// Claim leases deliveries that are due.
func (p *Push) Claim(ctx context.Context, f push.Filter) (claimed []push.Claimed, err error) {
	const query = `
WITH due AS (
	SELECT x.id FROM push_targets t CROSS JOIN LATERAL (
		SELECT d.id, d.next_at FROM push_deliveries d WHERE d.target_id = t.id AND d.dead_at IS NULL AND d.next_at <= statement_timestamp()
		ORDER BY d.next_at LIMIT $2 FOR UPDATE SKIP LOCKED
	) x
	WHERE t.disabled_at IS NULL AND (t.failures > 0) = $3 AND t.id <> ALL($4::bigint[]) ORDER BY x.next_at LIMIT $1
), d AS (
	UPDATE push_deliveries d SET tries = d.tries + 1, next_at = statement_timestamp() + $5::interval FROM due WHERE d.id = due.id RETURNING d.*
)
SELECT ` + deliveryColumns + `, ` + targetColumns + ` FROM d JOIN push_targets t ON t.id = d.target_id`
	except := make([]int64, len(f.Except))
	for i, id := range f.Except {
		except[i] = int64(id)
	}
	err = p.store.writeRetrying(ctx, func(r *reader) (err error) {
		claimed, err = list(r, scanClaimed, query, f.Limit, f.Each, f.Failing, except, f.Lease)
		return err
	})
	return claimed, err
}

// Delivered ends a delivery that has arrived.
func (p *Push) Delivered(ctx context.Context, d *push.Delivery) error {
	const (
		end = `DELETE FROM push_deliveries WHERE id = $1`
		ok  = `UPDATE push_targets SET failures = 0, last_error = '' WHERE id = $1 AND failures > 0`
	)
	return p.store.writeRetrying(ctx, func(r *reader) error {
		if _, err := r.exec(end, d.ID); err != nil {
			return err
		}
		_, err := r.exec(ok, int64(d.Target))
		return err
	})
}

const pushFailed = `UPDATE push_targets SET failures = failures + 1, last_error = $2 WHERE id = $1`

// Retry sets when a delivery is tried again, unless another replica has claimed it since.
func (p *Push) Retry(ctx context.Context, d *push.Delivery, after time.Duration, why string) error {
	const query = `UPDATE push_deliveries SET next_at = statement_timestamp() + $3::interval, error = $4 WHERE id = $1 AND tries = $2`
	return p.store.writeRetrying(ctx, func(r *reader) error {
		if _, err := r.exec(query, d.ID, d.Tries, after, why); err != nil {
			return err
		}
		_, err := r.exec(pushFailed, int64(d.Target), why)
		return err
	})
}

// Bury makes a delivery a dead letter.
func (p *Push) Bury(ctx context.Context, d *push.Delivery, keep int, why string) error {
	const (
		query = `UPDATE push_deliveries SET dead_at = statement_timestamp(), error = $3 WHERE id = $1 AND tries = $2`
		trim  = `DELETE FROM push_deliveries WHERE id IN (
	SELECT id FROM push_deliveries WHERE target_id = $1 AND dead_at IS NOT NULL ORDER BY dead_at DESC OFFSET $2)`
	)
	return p.store.writeRetrying(ctx, func(r *reader) error {
		if _, err := r.exec(query, d.ID, d.Tries, why); err != nil {
			return err
		}
		if _, err := r.exec(trim, int64(d.Target), keep); err != nil {
			return err
		}
		_, err := r.exec(pushFailed, int64(d.Target), why)
		return err
	})
}

// Drop deletes a delivery.
func (p *Push) Drop(ctx context.Context, id string) error {
	return p.store.writeRetrying(ctx, func(r *reader) error {
		_, err := r.exec(`DELETE FROM push_deliveries WHERE id = $1`, id)
		return err
	})
}

// Revive makes a dead letter due.
func (p *Push) Revive(ctx context.Context, id string) error {
	const query = `UPDATE push_deliveries SET dead_at = NULL, tries = 0, next_at = statement_timestamp() WHERE id = $1 AND dead_at IS NOT NULL`
	return p.store.writeRetrying(ctx, func(r *reader) error { return r.write(notFound("dead letter", id), query, id) })
}

// Dead lists dead letters of webhooks.
func (p *Push) Dead(ctx context.Context, projects []string, limit int) (dead []push.Claimed, err error) {
	const query = `
SELECT ` + deliveryColumns + `, ` + targetColumns + ` FROM push_targets t CROSS JOIN LATERAL (
	SELECT * FROM push_deliveries d WHERE d.target_id = t.id AND d.dead_at IS NOT NULL ORDER BY d.dead_at DESC LIMIT $2
) d
WHERE t.key_id = '' AND ($1::text[] IS NULL OR t.project = ANY($1)) ORDER BY d.dead_at DESC, d.id LIMIT $2`
	err = p.store.readRetrying(ctx, func(r *reader) (err error) {
		dead, err = list(r, scanClaimed, query, projects, limit)
		return err
	})
	return dead, err
}

// DeadLetter reads one dead letter.
func (p *Push) DeadLetter(ctx context.Context, id string) (c push.Claimed, err error) {
	const query = `SELECT ` + deliveryColumns + `, ` + targetColumns + ` FROM push_deliveries d JOIN push_targets t ON t.id = d.target_id WHERE d.id = $1 AND d.dead_at IS NOT NULL`
	err = p.store.readRetrying(ctx, func(r *reader) (err error) {
		c, err = one(r, scanClaimed, query, id)
		return named(err, "dead letter", id)
	})
	return c, err
}
