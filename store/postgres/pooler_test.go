package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// PgBouncer is recognized where sessions do not work through it, and used where they do.
func TestPooler(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	const ignore = "ignore_startup_parameters = enable_seqscan, max_parallel_workers_per_gather, plan_cache_mode, jit, lock_timeout, statement_timeout, " +
		"idle_in_transaction_session_timeout, tcp_user_timeout, tcp_keepalives_idle, tcp_keepalives_interval, tcp_keepalives_count\n"
	for _, x := range []struct{ settings, says string }{
		{"pool_mode = transaction", "it refuses a setting of the connection: unsupported startup parameter"},
		{"pool_mode = transaction\n" + ignore, "it gives connections a session for one transaction at a time"},
	} {
		s, err := postgres.Open(t.Context(), c.Bouncer(t, db, x.settings), nil)
		if err == nil {
			s.Close()
		}
		e, ok := errors.AsType[*postgres.PoolerError](err)
		if !ok || !strings.Contains(e.Error(), x.says) {
			t.Errorf("Open with %q = %v, want that %s", x.settings, err, x.says)
		}
	}
	s, err := postgres.Open(t.Context(), c.Bouncer(t, db, "pool_mode = session\n"+ignore), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seed(t, s, "web", 1, nil)
	if claims, err := s.Claim(t.Context(), want("web", "a")); err != nil || len(claims) != 1 {
		t.Errorf("Claim in session mode = %v, %v", claims, err)
	}
}
