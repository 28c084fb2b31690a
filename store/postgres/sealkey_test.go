package postgres_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/mcp/replica"
	"github.com/bossman-dev/bossman/store/postgres"
)

// keysOf gives a replica's keys as text.
func keysOf(t *testing.T, s *postgres.Store) []string {
	t.Helper()
	secrets, err := s.SealKeys().Keys(t.Context())
	if err != nil {
		t.Fatalf("Keys = %v", err)
	}
	var keys []string
	for _, s := range secrets {
		if len(s) != 32 {
			t.Errorf("a key has %d bytes", len(s))
		}
		keys = append(keys, string(s))
	}
	return keys
}

// Replicas that start at the same moment make one key.
func TestSealKeys_firstStart(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	for range 3 {
		db := c.Database(t)
		var stores []*postgres.Store
		for range 6 {
			stores = append(stores, c.OpenIn(t, db, &postgres.Options{MaxConns: 2}))
		}
		keys := make([][]string, len(stores))
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i, s := range stores {
			wg.Go(func() {
				<-start
				keys[i] = keysOf(t, s)
			})
		}
		close(start)
		wg.Wait()
		for i := range keys {
			if len(keys[i]) != 1 || keys[i][0] != keys[0][0] {
				t.Errorf("replica %d has %d keys, or another than replica 0", i, len(keys[i]))
			}
		}
	}
}

// A key's life, hour by hour.
func TestSealKeys_life(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	here, there := c.OpenIn(t, db, nil), c.OpenIn(t, db, nil)
	later := func(d string) {
		t.Helper()
		c.Exec(t, db, `UPDATE seal_keys SET created = created - interval '`+d+`', seals_from = seals_from - interval '`+d+`',
			opens_until = opens_until - interval '`+d+`'`)
	}
	first := keysOf(t, here)[0]
	later("23 h")
	if got := keysOf(t, there); !slices.Equal(got, []string{first}) {
		t.Errorf("after 23 h there are %d keys", len(got))
	}
	later("2 h")
	both := keysOf(t, there)
	if len(both) != 2 || both[0] != first {
		t.Fatalf("a key that is due: %d keys, and the new one must not seal yet", len(both))
	}
	second := both[1]
	later("110 s")
	if got := keysOf(t, here); !slices.Equal(got, []string{first, second}) {
		t.Errorf("before its two minutes are over the new key seals")
	}
	later("11 s")
	if got := keysOf(t, here); !slices.Equal(got, []string{second, first}) {
		t.Errorf("after two minutes the new key does not seal")
	}
	later("23 h")
	later("2 h")
	keysOf(t, here)
	later("1 h")
	if got := keysOf(t, there); len(got) != 3 || got[1] != second || got[2] != first {
		t.Errorf("after two periods there are %d keys, want three, the oldest last", len(got))
	}
	later("21 h") // 47 h since the first stopped to seal
	if got := keysOf(t, there); !slices.Contains(got, first) {
		t.Error("a key is gone before a session's life and a period")
	}
	later("2 h")
	if got := keysOf(t, there); slices.Contains(got, first) || !slices.Contains(got, second) {
		t.Errorf("after a session's life and a period the key is still there, or the second is gone")
	}
	// All replicas were away for a week: the last key still opens.
	later("3 min")
	last := keysOf(t, there)[0]
	later("168 h")
	got := keysOf(t, here)
	if !slices.Contains(got, last) {
		t.Error("after a week without replicas nothing opens")
	}
}

// Run gives a keyring the keys: what one replica seals the other opens.
func TestSealKeys_run(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var rings []*replica.Keyring
	for range 2 {
		s := c.OpenIn(t, db, nil)
		ring, err := replica.NewKeyring(make([]byte, 32)) // Run replaces it
		if err != nil {
			t.Fatal(err)
		}
		rings = append(rings, ring)
		wg.Go(func() {
			if err := s.SealKeys().Run(ctx, ring); err != nil {
				t.Errorf("Run = %v", err)
			}
		})
		eventually(t, "the ring to be filled", func() bool { return ring.Rotations() == 2 })
	}
	if data, err := rings[1].Open("p", rings[0].Seal("p", []byte("x"))); err != nil || string(data) != "x" {
		t.Errorf("Open by the other replica = %q, %v", data, err)
	}
	began := time.Now()
	cancel()
	wg.Wait()
	if time.Since(began) > 20*time.Second {
		t.Error("Run did not end at once")
	}
}
