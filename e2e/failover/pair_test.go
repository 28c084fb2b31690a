package failover

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// A pair is a database and its standby, with a board in it.
type pair struct {
	t               *testing.T
	primary, backup *pgtest.Cluster
	db              string
	pids            []int
	promotedAt      time.Time
	// dsn names both, as a server's operator would.
	dsn string
}

// newPair starts a database whose standby follows it. If it is synchronous, no commit
// is answered before the standby has it on its disk.
func newPair(t *testing.T, synchronous bool) *pair {
	t.Helper()
	p := &pair{t: t}
	t.Cleanup(p.gone) // runs after those below
	p.primary = pgtest.Start(t, "max_connections = 120")
	p.db = p.primary.NewDatabase(t)
	p.backup = p.primary.Standby(t)
	p.pids = []int{p.primary.PID(), p.backup.PID()}
	p.dsn = fmt.Sprintf("postgres://%s@%s,%s/%s?sslmode=disable&target_session_attrs=read-write",
		pgtest.App, p.primary.Addr(), p.backup.Addr(), p.db)
	if synchronous {
		// After the copy was made: the standby, once promoted, waits for nobody.
		p.primary.Exec(t, "postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
		p.await("a synchronous standby", p.primary, `SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'`)
	}
	return p
}

// gone shows that nothing of the two is left.
func (p *pair) gone() {
	for _, c := range []*pgtest.Cluster{p.primary, p.backup} {
		if c == nil {
			continue
		}
		eventually(p.t, "removed: "+c.Dir(), func() bool {
			_, err := os.Stat(c.Dir())
			return os.IsNotExist(err)
		})
	}
	for _, pid := range p.pids {
		if pid == 0 || pgtest.Runs(pid) {
			p.t.Errorf("process %d of a database is left", pid)
		}
	}
}

// await waits until a query says true.
func (p *pair) await(what string, c *pgtest.Cluster, query string) {
	p.t.Helper()
	conn := p.connect(c)
	defer conn.Close(context.Background())
	eventually(p.t, what, func() bool { return p.ask(conn, query) })
}

func (p *pair) connect(c *pgtest.Cluster) *pgx.Conn {
	p.t.Helper()
	conn, err := pgx.Connect(p.t.Context(), c.DSN(p.db))
	if err != nil {
		p.t.Fatal(err)
	}
	return conn
}

func (p *pair) ask(conn *pgx.Conn, query string) (yes bool) {
	p.t.Helper()
	if err := conn.QueryRow(p.t.Context(), query).Scan(&yes); err != nil {
		p.t.Fatalf("%s: %v", query, err)
	}
	return yes
}

// open opens the board that is writable now.
func (p *pair) open() *postgres.Store {
	p.t.Helper()
	s, err := postgres.Open(p.t.Context(), p.dsn, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { s.Close() })
	return s
}

// cut keeps the standby from hearing more, as a network would that has broken.
func (p *pair) cut() {
	p.t.Helper()
	p.backup.Exec(p.t, "postgres", "ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
	p.await("cut off", p.primary, `SELECT count(*) = 0 FROM pg_stat_replication`)
}

// kill ends the primary, in one of two ways.
func (p *pair) kill(hard bool) {
	p.t.Helper()
	kill := p.primary.Kill
	if !hard {
		kill = func() error { return p.primary.Stop("immediate") }
	}
	if err := kill(); err != nil {
		p.t.Fatal(err)
	}
}

// promote makes the standby the primary, and tells when that was done.
func (p *pair) promote() time.Time {
	p.t.Helper()
	conn := p.connect(p.backup)
	defer conn.Close(context.Background())
	failed := make(chan error, 1)
	go func() { failed <- p.backup.Promote() }()
	eventually(p.t, "promoted", func() bool { return p.ask(conn, `SELECT NOT pg_is_in_recovery()`) })
	p.promotedAt = time.Now()
	if err := <-failed; err != nil {
		p.t.Fatal(err)
	}
	return p.promotedAt
}
