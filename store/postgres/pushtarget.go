package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/push"
)

// Push stores targets of notifications and deliveries to them, for all replicas.
type Push struct{ store *Store }

var _ push.Store = (*Push)(nil)

// Push returns the targets and deliveries stored beside the board.
func (s *Store) Push() *Push { return &Push{s} }

// targetColumns are columns of push_targets t.
const targetColumns = `t.id, t.kind, t.key_id, t.project, t.name, t.url, t.topic, t.secret, t.public_key, t.auth_secret, t.events, t.texts,
	t.created_at, t.created_by, t.owner, t.disabled_at, t.reason, t.failures, t.last_error`

// targetInto is where targetColumns are scanned to. The secret of a browser is not text.
func targetInto(t *push.Target, browser *[]byte) []any {
	return []any{
		(*int64)(&t.ID), (*string)(&t.Kind), &t.Key, &t.Project, &t.Name, &t.URL, &t.Topic, (*string)(&t.Secret), &t.PublicKey, browser, &t.Events, &t.Text,
		&t.Created, &t.CreatedBy, &t.Owner, stamp(&t.Disabled), &t.Reason, &t.Failures, &t.LastError,
	}
}

func scanTarget(row pgx.CollectableRow) (t push.Target, err error) {
	var browser []byte
	err = row.Scan(targetInto(&t, &browser)...)
	t.AuthSecret = auth.Secret(browser)
	return t, err
}

// InsertTarget stores a target. A browser that is stored already is replaced: it may have
// another owner or other keys now.
func (p *Push) InsertTarget(ctx context.Context, t push.Target) (push.Target, error) {
	const (
		replace = `DELETE FROM push_targets WHERE kind = 'browser' AND kind = $1 AND url = $2`
		insert  = `
INSERT INTO push_targets AS t (kind, key_id, project, name, url, topic, secret, public_key, auth_secret, events, texts, created_by, owner, cursor)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING ` + targetColumns
	)
	var stored push.Target
	err := p.store.writeRetrying(ctx, func(r *reader) error {
		end, err := r.FeedEnd()
		if err != nil {
			return err
		}
		if _, err := r.exec(replace, string(t.Kind), t.URL); err != nil {
			return err
		}
		key := t.PublicKey
		if key == nil {
			key = []byte{}
		}
		stored, err = one(r, scanTarget, insert, string(t.Kind), t.Key, t.Project, t.Name, t.URL, t.Topic, t.Secret.Reveal(), key, []byte(t.AuthSecret.Reveal()),
			orEmpty(t.Events), t.Text, t.CreatedBy, t.Owner, string(end))
		return err
	})
	return stored, err
}

// Target reads a target.
func (p *Push) Target(ctx context.Context, id push.TargetID) (t push.Target, err error) {
	const query = `SELECT ` + targetColumns + ` FROM push_targets t WHERE t.id = $1`
	err = p.store.readRetrying(ctx, func(r *reader) (err error) {
		t, err = one(r, scanTarget, query, int64(id))
		return named(err, "target", int64(id))
	})
	return t, err
}

// Targets lists the targets of a key, or webhooks.
func (p *Push) Targets(ctx context.Context, key string) (found []push.Target, err error) {
	const query = `SELECT ` + targetColumns + ` FROM push_targets t WHERE t.key_id = $1 ORDER BY t.id`
	err = p.store.readRetrying(ctx, func(r *reader) (err error) {
		found, err = list(r, scanTarget, query, key)
		return err
	})
	return found, err
}

// Disable disables a target and drops what is on its way.
func (p *Push) Disable(ctx context.Context, id push.TargetID, reason string) error {
	const (
		disable = `UPDATE push_targets SET disabled_at = coalesce(disabled_at, statement_timestamp()), reason = $2 WHERE id = $1`
		drop    = `DELETE FROM push_deliveries WHERE target_id = $1 AND dead_at IS NULL`
	)
	return p.store.writeRetrying(ctx, func(r *reader) error {
		if err := r.write(notFound("target", int64(id)), disable, int64(id), reason); err != nil {
			return err
		}
		_, err := r.exec(drop, int64(id))
		return err
	})
}

// Enable enables a webhook from the end of the feed on, and records who is responsible for it now.
func (p *Push) Enable(ctx context.Context, id push.TargetID, owner string) error {
	const query = `UPDATE push_targets SET disabled_at = NULL, reason = '', failures = 0, last_error = '', cursor = $2, owner = $3 WHERE id = $1 AND disabled_at IS NOT NULL`
	return p.store.writeRetrying(ctx, func(r *reader) error {
		end, err := r.FeedEnd()
		if err != nil {
			return err
		}
		_, err = r.exec(query, int64(id), string(end), owner)
		return err
	})
}

// DeleteTarget deletes a target and its deliveries.
func (p *Push) DeleteTarget(ctx context.Context, id push.TargetID) error {
	return p.store.writeRetrying(ctx, func(r *reader) error {
		return r.write(notFound("target", int64(id)), `DELETE FROM push_targets WHERE id = $1`, int64(id))
	})
}

// VAPID returns the key of this server for push services, and stores made if there is none.
func (p *Push) VAPID(ctx context.Context, made []byte) (key []byte, err error) {
	const (
		insert = `INSERT INTO push_keys (id, vapid) VALUES (1, $1) ON CONFLICT DO NOTHING`
		query  = `SELECT vapid FROM push_keys WHERE id = 1`
	)
	err = p.store.writeRetrying(ctx, func(r *reader) error {
		if _, err := r.exec(insert, made); err != nil {
			return err
		}
		key, err = one(r, pgx.RowTo[[]byte], query)
		return err
	})
	if err != nil {
		err = fmt.Errorf("read the key for push services: %w", err)
	}
	return key, err
}

// A feedPlace is a cursor that can be compared.
type feedPlace struct {
	epoch int32
	xid   uint64
	id    int64
}

func (a feedPlace) before(b feedPlace) bool {
	if a.epoch != b.epoch {
		return a.epoch < b.epoch
	}
	if a.xid != b.xid {
		return a.xid < b.xid
	}
	return a.id < b.id
}

func placeOf(c board.Cursor) (p feedPlace, err error) {
	var xid string
	if p.epoch, xid, p.id, err = parseCursor(c); err == nil {
		_, err = fmt.Sscan(xid, &p.xid)
	}
	return p, err
}
