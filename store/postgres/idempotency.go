package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
)

// Once stores a key. It waits for a concurrent transaction that stores the same key. A
// caller that finds an answer returns it as its own, so its commit must wait until the
// standby has that answer too. A commit waits for the standby only if the transaction has
// written something, which the row lock does.
func (t *tx) Once(k board.Key) (*board.Kept, error) {
	const (
		insert = `INSERT INTO idempotency (principal, key, op, hash) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`
		query  = `SELECT op, hash, answer FROM idempotency WHERE principal = $1 AND key = $2 FOR KEY SHARE`
	)
	for {
		n, err := t.exec(insert, k.Principal, k.Key, k.Op, k.Hash)
		if err != nil || n > 0 {
			return nil, err
		}
		kept, err := list(&t.reader, func(row pgx.CollectableRow) (k board.Kept, err error) {
			err = row.Scan(&k.Op, &k.Hash, &k.Answer)
			return k, err
		}, query, k.Principal, k.Key)
		if err != nil {
			return nil, err
		}
		if len(kept) > 0 {
			return &kept[0], nil
		}
		// The key was deleted between the two statements: try again.
	}
}

// Keep stores the answer of a key.
func (t *tx) Keep(k board.Key, answer string) error {
	const query = `UPDATE idempotency SET answer = $3 WHERE principal = $1 AND key = $2`
	return t.write(notFound("key", k.Key), query, k.Principal, k.Key, answer)
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
