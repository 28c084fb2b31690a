package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bossman-dev/bossman/board"
)

// Once stores a key. It waits for a concurrent transaction that stores the same key. A
// caller that finds an answer returns it as its own, so its commit must wait until the
// standby has that answer too. A commit waits for the standby only if the transaction has
// written something, which the row lock does.
func (t *tx) Once(k board.Key) (*board.Kept, error) {
	for {
		o := t.known.once
		if o == nil || o.key != k {
			t.known.now = time.Time{}
			var b batch
			o = batchOnce(&b, k)
			if err := t.send(&b); err != nil {
				return nil, err
			}
		}
		t.known.once = nil
		switch {
		case o.stored:
			return nil, nil
		case len(o.kept) > 0:
			return &o.kept[0], nil
		}
		// The key was deleted between the two statements: try again.
	}
}

// once is what became of a key: it was stored, or it was kept with an answer.
type once struct {
	key    board.Key
	stored bool
	kept   []board.Kept
}

// batchOnce adds the two statements of Once.
func batchOnce(b *batch, k board.Key) *once {
	const (
		insert = `INSERT INTO idempotency (principal, key, op, hash) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`
		query  = `SELECT op, hash, answer FROM idempotency WHERE principal = $1 AND key = $2 FOR KEY SHARE`
	)
	o := &once{key: k}
	b.Queue(insert, k.Principal, k.Key, k.Op, k.Hash).Exec(func(tag pgconn.CommandTag) error {
		o.stored = tag.RowsAffected() > 0
		return nil
	})
	batchList(b, &o.kept, func(row pgx.CollectableRow) (k board.Kept, err error) {
		err = row.Scan(&k.Op, &k.Hash, &k.Answer)
		return k, err
	}, query, k.Principal, k.Key)
	return o
}

// Keep stores the answer of a key.
func (t *tx) Keep(k board.Key, answer string) error {
	const query = mustBegin + `UPDATE idempotency SET answer = $3 WHERE principal = $1 AND key = $2` + mustEnd
	t.must(notFound("key", k.Key), query, k.Principal, k.Key, answer)
	return nil
}

// Forget deletes old keys and expired declines.
func (t *tx) Forget(age time.Duration) error {
	const (
		keys     = `DELETE FROM idempotency WHERE at < statement_timestamp() - $1::interval`
		declines = `DELETE FROM declines WHERE until < statement_timestamp()`
	)
	if _, err := t.exec(keys, age); err != nil {
		return err
	}
	_, err := t.exec(declines)
	return err
}
