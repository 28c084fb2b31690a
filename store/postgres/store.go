package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bossman-dev/bossman/board"
)

// A Store is a board in a PostgreSQL database. It is safe for concurrent use.
type Store struct {
	pool     *pgxpool.Pool
	config   *pgx.ConnConfig // for connections outside the pool
	opts     Options
	name     string        // identifies this process in hints and messages
	dirty    chan struct{} // a hint is pending
	listener *listener
	relay    *Relay
	bus      *Bus
	log      *slog.Logger
	// database is the database of the newest connection, and xid the next transaction id that
	// it had, if it does not tell its identity.
	database atomic.Pointer[identity]
	xid      atomic.Int64
	scan     leaseScan
}

var _ board.Store = (*Store)(nil)

// Options configures a Store. The zero value selects the defaults.
type Options struct {
	// MaxConns is the maximum number of connections; default the DSN's pool_max_conns, or
	// four per processor and at least 8.
	MaxConns int
	// CommitTimeout is how long a COMMIT may take, including the wait for a standby, before
	// its outcome is ErrUnknown; default 30 s.
	CommitTimeout time.Duration
	// StatementTimeout is the timeout of a statement; default 10 s.
	StatementTimeout time.Duration
	// LockTimeout is the timeout of the wait for a lock; default 5 s.
	LockTimeout time.Duration
	// Observe is called with the duration and the error of each operation: OpClaim, OpRead
	// and OpWrite are transactions including retries, OpConnect is the wait for a
	// connection within them. It must be quick. It may be nil.
	Observe func(op string, d time.Duration, err error)
	// Log logs failures in the background. Nil: no logging.
	Log *slog.Logger
}

// The operations of Options.Observe.
const (
	OpClaim   = "claim"
	OpRead    = "read"
	OpWrite   = "write"
	OpConnect = "connect"
)

const (
	// retries is how often something is tried again that lost its connection, and
	// abortRetries how often a transaction is that the database aborted: of several
	// that lock in opposite order, the same one may be chosen again and again.
	retries        = 3
	abortRetries   = 6
	connectTimeout = 10 * time.Second
	// hostTimeout is the connect timeout if there are several hosts, so that one that is
	// down does not delay the connection to its standby.
	hostTimeout     = 2 * time.Second
	rollbackTimeout = 2 * time.Second
	pingTimeout     = 5 * time.Second
	// answerTimeout is how long the client waits for an answer after the server's own
	// statement timeout.
	answerTimeout = 2 * time.Second
)

// Open connects to a board. The error is a *SchemaError if the schema is missing or old,
// see Migrate. With several hosts in the DSN it connects to the one that accepts writes.
func Open(ctx context.Context, dsn string, opts *Options) (*Store, error) {
	s := &Store{name: rand.Text(), dirty: make(chan struct{}, 1), listener: newListener()}
	if opts != nil {
		s.opts = *opts
	}
	s.opts.CommitTimeout = cmp.Or(s.opts.CommitTimeout, 30*time.Second)
	s.opts.StatementTimeout = cmp.Or(s.opts.StatementTimeout, 10*time.Second)
	s.opts.LockTimeout = cmp.Or(s.opts.LockTimeout, 5*time.Second)

	if s.log = s.opts.Log; s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.relay = newRelay(s)
	s.bus = newBus(s.relay)

	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	fromDSN, _ := pgx.ParseConfig(dsn) // with the parameters that pgxpool removes
	switch {
	case s.opts.MaxConns > 0:
		config.MaxConns = int32(s.opts.MaxConns)
	case fromDSN == nil || fromDSN.RuntimeParams["pool_max_conns"] == "":
		config.MaxConns = int32(max(8, 4*runtime.GOMAXPROCS(0)))
	}
	s.configure(config.ConnConfig)
	s.config = config.ConnConfig
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		newConnState(c)
		return nil
	}
	config.AfterConnect = s.prepareConn
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		stateOf(p.Conn).stale = p.IdleDuration > time.Second
		return false // see alive
	}
	config.PrepareConn = s.alive

	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	conn, err := s.acquire(ctx)
	if err != nil {
		s.pool.Close()
		return nil, err
	}
	err = s.checkPooler(ctx, conn.Conn())
	conn.Release()
	if err != nil {
		s.pool.Close()
		return nil, err
	}
	return s, nil
}

// configure sets the defaults of all connections, which the DSN can override.
func (s *Store) configure(c *pgx.ConnConfig) {
	for name, value := range map[string]string{
		"plan_cache_mode":                     "force_generic_plan", // planning costs more than executing
		"enable_seqscan":                      "off",                // a plan for a small table must also suit a large one
		"jit":                                 "off",
		"max_parallel_workers_per_gather":     "0", // what a call reads is little, and in the order of an index
		"lock_timeout":                        millis(s.opts.LockTimeout),
		"statement_timeout":                   millis(s.opts.StatementTimeout),
		"idle_in_transaction_session_timeout": millis(2 * s.opts.StatementTimeout),
		"tcp_user_timeout":                    "30000",
		"tcp_keepalives_idle":                 "15",
		"tcp_keepalives_interval":             "5",
		"tcp_keepalives_count":                "3",
	} {
		if _, ok := c.RuntimeParams[name]; !ok {
			c.RuntimeParams[name] = value
		}
	}
	c.RuntimeParams["application_name"] = applicationName(c.RuntimeParams["application_name"])
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
		if severalHosts(c) {
			c.ConnectTimeout = hostTimeout
		}
	}
	// Sessions must not survive the promotion of a standby: they would use the old epoch.
	if c.ValidateConnect == nil {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.DialFunc = dialer().DialContext
}

// applicationName is what PostgreSQL calls a connection. Others can tell from it which schema this
// program knows. The user's own name for it stays before that.
func applicationName(own string) string {
	const longest = 63 // PostgreSQL cuts off the rest
	name := fmt.Sprintf("bossman/%d", Schema)
	if own == "" || own == "bossman" {
		return name
	}
	return strings.ToValidUTF8(own[:min(len(own), longest-len(name)-1)], "") + " " + name
}

// severalHosts reports whether there is more than one server to connect to. A fallback may
// also be the same host without TLS.
func severalHosts(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != c.Host || f.Port != c.Port })
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// prepareConn prepares a new connection of the pool.
func (s *Store) prepareConn(ctx context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	if err := checkSchema(ctx, conn); err != nil {
		return err
	}
	if err := s.checkEpoch(ctx, conn); err != nil {
		return err
	}
	var err error
	stateOf(conn).session, err = sessionOf(ctx, conn)
	return err
}

// alive reports whether a connection that the pool is about to hand out still answers; it
// asks if the connection was idle for a while. If it does not answer, neither will the
// others: to find that out one by one would take minutes.
func (s *Store) alive(ctx context.Context, conn *pgx.Conn) (bool, error) {
	if !stateOf(conn).stale {
		return true, nil
	}
	ping, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := conn.Ping(ping)
	if err != nil && ctx.Err() == nil {
		s.pool.Reset()
	}
	return err == nil, nil
}

// Close waits for operations in flight and closes all connections.
func (s *Store) Close() error {
	s.pool.Close()
	s.bus.drained.Wait()
	return nil
}

// Read runs f on a connection, without a transaction.
func (s *Store) Read(ctx context.Context, f func(board.Reader) error) (err error) {
	defer s.observe(OpRead, time.Now(), &err)
	return retryAborted(ctx, func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		return f(s.reader(ctx, conn.Conn()))
	})
}

func (s *Store) reader(ctx context.Context, conn *pgx.Conn) *reader {
	return &reader{ctx: ctx, conn: conn, timeout: s.opts.StatementTimeout + answerTimeout, scan: &s.scan}
}

// readRetrying is Read for an f that can be repeated: it retries with another connection
// if the connection was lost, for instance because the server was restarted.
func (s *Store) readRetrying(ctx context.Context, f func(*reader) error) error {
	return retryLost(ctx, func() error {
		return s.Read(ctx, func(r board.Reader) error { return f(r.(*reader)) })
	})
}

// writeRetrying is Write in the same way.
func (s *Store) writeRetrying(ctx context.Context, f func(*reader) error) error {
	return retryLost(ctx, func() error {
		return s.Write(ctx, func(t board.Tx) error { return f(&t.(*tx).reader) })
	})
}

// retryLost retries f if it lost its connection and had no effect.
func retryLost(ctx context.Context, f func() error) error {
	for try := 0; ; try++ {
		err := f()
		_, refused := errors.AsType[*pgconn.ConnectError](err)
		if try == retries || refused || !isUnavailable(err) || errors.Is(err, board.ErrUnknown) || ctx.Err() != nil {
			return err
		}
	}
}

// withCommit runs f, which commits. Its error is ErrUnknown unless it is certain that f had
// no effect. Cancellation of ctx does not affect it.
func (s *Store) withCommit(ctx context.Context, conn *pgx.Conn, f func(context.Context) error) error {
	if conn.IsClosed() {
		return unavailable(errors.New("postgres: connection lost before the commit"))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.CommitTimeout)
	defer cancel()
	state := stateOf(conn)
	state.committing.Store(true)
	state.warning.Store(nil)
	err := f(ctx)
	if !conn.IsClosed() {
		state.committing.Store(false)
	}
	warning := state.warning.Load()
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil && warning == nil:
		return nil
	case err == nil:
		return fmt.Errorf("%w: %s (%s)", board.ErrUnknown, warning.Message, warning.Code)
	case ok && e.SeverityUnlocalized == "ERROR":
		return translate(err)
	case !conn.IsClosed(): // the answer could not be decoded
		return err
	}
	// The driver considers some of these errors safe to retry, even if they occurred after
	// the commit was sent.
	return fmt.Errorf("%w: %w", board.ErrUnknown, err)
}

// acquire takes a connection from the pool.
func (s *Store) acquire(ctx context.Context) (conn *pgxpool.Conn, err error) {
	defer s.observe(OpConnect, time.Now(), &err)
	conn, err = s.pool.Acquire(ctx)
	if err == nil {
		return conn, nil
	}
	if _, ok := errors.AsType[*SchemaError](err); ok || errors.Is(err, board.ErrTooNew) {
		return nil, err
	}
	if _, ok := errors.AsType[*RoleError](err); ok {
		return nil, err
	}
	if err := pooled(err); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("postgres: connect: %w", err)
	}
	return nil, unavailable(err)
}

// observe calls Options.Observe for an operation that ends now.
func (s *Store) observe(op string, began time.Time, err *error) {
	if s.opts.Observe != nil {
		s.opts.Observe(op, time.Since(began), *err)
	}
}

// retryAborted retries f if the database aborted it because of a deadlock or a
// serialization failure.
func retryAborted(ctx context.Context, f func() error) error {
	for try := 0; ; try++ {
		err := f()
		if try == abortRetries || !aborted(err) {
			return err
		}
		if e := sleep(ctx, 5*time.Millisecond<<try); e != nil {
			return err
		}
	}
}

// sleep waits for a random duration between d/2 and 3d/2, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d/2 + mrand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
