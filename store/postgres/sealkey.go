package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/mcp/replica"
)

const (
	sealPeriod = 24 * time.Hour
	sealLife   = 24 * time.Hour
	// keysEvery is how often replicas read the keys. A new key is used for sealing only
	// keyLead after its creation, so that all replicas can open what one has sealed.
	keysEvery = 30 * time.Second
	keyLead   = 2 * time.Minute

	secretSize = 32
)

// SealKeys are the keys with which replicas seal the state that clients carry. One of the
// replicas creates a new key when the newest is older than Period:
//
//	made ── 2 min ── seals ── Period ── the next one seals ── Life + Period ── gone
//	└──────────────────────── opens ───────────────────────────────────────────┘
//
// A replica that cannot reach the database continues with the keys it has.
type SealKeys struct {
	// Period is how long a key is the newest; default 24 h.
	Period time.Duration
	// Life is how long sealed state can be opened, at least the maximum lifetime of a
	// session; default 24 h.
	Life time.Duration

	store *Store
}

// SealKeys returns the sealing keys stored beside the board.
func (s *Store) SealKeys() *SealKeys { return &SealKeys{store: s} }

// Keys returns the secrets, the one to seal with first. It creates a new key if one is due.
func (k *SealKeys) Keys(ctx context.Context) ([][]byte, error) {
	secrets, due, err := k.read(ctx)
	if err != nil || !due {
		return secrets, err
	}
	if err := k.make(ctx); err != nil {
		if len(secrets) > 0 {
			return secrets, nil // the next call tries again
		}
		return nil, err
	}
	secrets, _, err = k.read(ctx)
	return secrets, err
}

// Run keeps a keyring up to date until ctx ends.
func (k *SealKeys) Run(ctx context.Context, ring *replica.Keyring) error {
	var last [][]byte
	same := func(a, b []byte) bool { return string(a) == string(b) }
	for {
		secrets, err := k.Keys(ctx)
		if err == nil && !slices.EqualFunc(secrets, last, same) {
			if err = ring.Rotate(secrets...); err == nil {
				last = secrets
			}
		}
		if err != nil && ctx.Err() == nil {
			k.store.log.Warn("reading sealing keys failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(keysEvery):
		}
	}
}

// read returns the secrets in their order, and whether a new one is due.
func (k *SealKeys) read(ctx context.Context) (secrets [][]byte, due bool, err error) {
	const query = `
SELECT secret, created > statement_timestamp() - $1::interval FROM seal_keys WHERE opens_until > statement_timestamp()
ORDER BY seals_from <= statement_timestamp() DESC, seals_from DESC, id DESC`
	err = k.store.readRetrying(ctx, func(r *reader) (err error) {
		due = true
		secrets, err = list(r, func(row pgx.CollectableRow) (secret []byte, err error) {
			var young bool
			err = row.Scan(&secret, &young)
			due = due && !young
			return secret, err
		}, query, k.period())
		return err
	})
	return secrets, due, err
}

// make creates a key, unless another replica just did. The very first key seals at once.
func (k *SealKeys) make(ctx context.Context) error {
	const (
		lock   = `SELECT pg_advisory_xact_lock(x'626f7373'::int, 0)` // as in LockProject, whose projects are above 0
		insert = `
INSERT INTO seal_keys (secret, created, seals_from)
SELECT $1, statement_timestamp(), statement_timestamp() + CASE WHEN EXISTS (SELECT FROM seal_keys) THEN $3::interval ELSE '0' END
WHERE NOT EXISTS (SELECT FROM seal_keys WHERE created > statement_timestamp() - $2::interval)
RETURNING id`
		older = `
UPDATE seal_keys k SET opens_until = n.seals_from + $2::interval FROM seal_keys n
WHERE n.id = $1 AND k.id <> n.id AND k.opens_until = 'infinity'`
		gone = `DELETE FROM seal_keys WHERE opens_until < statement_timestamp()`
	)
	secret := make([]byte, secretSize)
	rand.Read(secret) // never fails
	return k.store.writeRetrying(ctx, func(r *reader) error {
		if _, err := r.exec(lock); err != nil {
			return err
		}
		made, err := list(r, pgx.RowTo[int64], insert, secret, k.period(), keyLead)
		if err != nil || len(made) == 0 {
			return err
		}
		if _, err := r.exec(older, made[0], k.life()+k.period()); err != nil {
			return err
		}
		_, err = r.exec(gone)
		return err
	})
}

func (k *SealKeys) period() time.Duration { return cmp.Or(k.Period, sealPeriod) }

func (k *SealKeys) life() time.Duration { return cmp.Or(k.Life, sealLife) }
