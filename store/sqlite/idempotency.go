package sqlite

import (
	"time"

	"github.com/bossman-dev/bossman/board"
)

// Ahead does nothing: a read is not a round trip, and the transaction holds the only lock.
func (t *tx) Ahead(board.Ahead) error { return nil }

func (t *tx) Once(k board.Key) (*board.Kept, error) {
	const claim = `INSERT INTO idempotency (principal, key, op, hash, answer, at) VALUES (?, ?, ?, ?, '', ?) ON CONFLICT DO NOTHING`
	const find = `SELECT op, hash, answer FROM idempotency WHERE principal = ? AND key = ?`
	n, err := t.exec(claim, k.Principal, k.Key, k.Op, k.Hash, t.now())
	if err != nil || n == 1 {
		return nil, err
	}
	kept := &board.Kept{}
	if err := t.get(find, []any{k.Principal, k.Key}, &kept.Op, &kept.Hash, &kept.Answer); err != nil {
		return nil, err
	}
	return kept, nil
}

func (t *tx) Keep(k board.Key, answer string) error {
	const query = `UPDATE idempotency SET answer = ? WHERE principal = ? AND key = ?`
	return changed(t.exec(query, answer, k.Principal, k.Key))
}

func (t *tx) Forget(age time.Duration) error {
	const query = `DELETE FROM idempotency WHERE at < ?`
	_, err := t.exec(query, t.now()-micros(age))
	return err
}
