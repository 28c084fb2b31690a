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
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bossman-dev/bossman/board"
)

// A Store is a board in PostgreSQL. It is safe for concurrent use.
type Store struct {
	pool   *pgxpool.Pool
	config *pgx.ConnConfig // of a connection outside the pool
	opts   Options
	name   string        // tells what we say from what others do
	dirty  chan struct{} // a hint to be sent
	line   *line
	relay  *Relay
	bus    *Bus
	log    *slog.Logger
	// database is the last one that was met.
	database atomic.Pointer[identity]
}

var _ board.Store = (*Store)(nil)

// Options are the choices there are. The zero value is the usual one.
type Options struct {
	// MaxConns bounds the connections; the DSN's pool_max_conns if it has one, else
	// four for each processor and at least 8.
	MaxConns int
	// CommitTimeout is how long a COMMIT may take, standby included, before its
	// outcome is called unknown; 30 s if zero.
	CommitTimeout time.Duration
	// StatementTimeout bounds each statement; 10 s if zero.
	StatementTimeout time.Duration
	// LockTimeout bounds the wait for a lock; 5 s if zero.
	LockTimeout time.Duration
	// Observe is told how long it took to do something for a caller, and what came of
	// it: OpClaim, OpRead and OpWrite are whole transactions with their repetitions,
	// OpConnect is the wait for a connection in these. It must be quick.
	Observe func(op string, d time.Duration, err error)
	// Log is told of what goes wrong in the background. Nil: nobody is.
	Log *slog.Logger
}

// What Options.Observe is told about.
const (
	OpClaim   = "claim"
	OpRead    = "read"
	OpWrite   = "write"
	OpConnect = "connect"
)

const (
	// retries is how often a transaction that the database aborted is run again.
	retries        = 3
	connectTimeout = 10 * time.Second
	// hostTimeout is connectTimeout where there is another host to try: one whose
	// machine is gone must not hold up the way to its standby.
	hostTimeout  = 2 * time.Second
	rollbackTime = 2 * time.Second
	// answerTime is how much later than a statement\'s end its answer may come.
	answerTime = 2 * time.Second
)

// Open connects to a board. The schema must be there: a *SchemaError says that it
// is not, and what to run. A DSN of several hosts finds the one that takes writes.
func Open(ctx context.Context, dsn string, opts *Options) (*Store, error) {
	s := &Store{name: rand.Text(), dirty: make(chan struct{}, 1), line: newLine()}
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
	fromDSN, _ := pgx.ParseConfig(dsn) // keeps what pgxpool takes out
	switch {
	case s.opts.MaxConns > 0:
		config.MaxConns = int32(s.opts.MaxConns)
	case fromDSN == nil || fromDSN.RuntimeParams["pool_max_conns"] == "":
		config.MaxConns = int32(max(8, 4*runtime.GOMAXPROCS(0)))
	}
	s.configure(config.ConnConfig)
	s.config = config.ConnConfig
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		newLink(c)
		return nil
	}
	config.AfterConnect = s.welcome
	config.PingTimeout = 5 * time.Second

	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	conn, err := s.acquire(ctx)
	if err != nil {
		s.pool.Close()
		return nil, err
	}
	conn.Release()
	return s, nil
}

// configure sets what every connection has, unless the DSN says otherwise.
func (s *Store) configure(c *pgx.ConnConfig) {
	for name, value := range map[string]string{
		"application_name":                    "bossman",
		"plan_cache_mode":                     "force_generic_plan", // planning costs more than executing
		"enable_seqscan":                      "off",                // a plan made for a small table must do for a large one
		"jit":                                 "off",
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
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
		if severalHosts(c) {
			c.ConnectTimeout = hostTimeout
		}
	}
	// A standby that is promoted under a session would write with the old epoch.
	if c.ValidateConnect == nil {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.DialFunc = dialer().DialContext
}

// severalHosts reports whether there is more than one server to connect to. With TLS
// that is not demanded, one host is tried twice.
func severalHosts(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != c.Host || f.Port != c.Port })
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// welcome prepares a new connection, before anything else uses it.
func (s *Store) welcome(ctx context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	if err := checkSchema(ctx, conn); err != nil {
		return err
	}
	return s.checkEpoch(ctx, conn)
}

// Close waits for what is under way and disconnects.
func (s *Store) Close() error {
	s.pool.Close()
	s.bus.ended.Wait()
	return nil
}

// Read runs f on a connection, without a transaction.
func (s *Store) Read(ctx context.Context, f func(board.Reader) error) (err error) {
	defer s.observe(OpRead, time.Now(), &err)
	return repeat(ctx, func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		return f(s.reader(ctx, conn.Conn()))
	})
}

func (s *Store) reader(ctx context.Context, conn *pgx.Conn) *reader {
	return &reader{ctx: ctx, conn: conn, most: s.opts.StatementTimeout + answerTime}
}

// look and change are Read and Write for an f that may be run again: connections that
// turn out to be gone, as after a restart of the server, are no error as long as there
// is another.
func (s *Store) look(ctx context.Context, f func(*reader) error) error {
	return again(ctx, func() error {
		return s.Read(ctx, func(r board.Reader) error { return f(r.(*reader)) })
	})
}

func (s *Store) change(ctx context.Context, f func(*reader) error) error {
	return again(ctx, func() error {
		return s.Write(ctx, func(t board.Tx) error { return f(&t.(*tx).reader) })
	})
}

// again runs f again if it lost its connection and nothing has happened.
func again(ctx context.Context, f func() error) error {
	for try := 0; ; try++ {
		err := f()
		_, refused := errors.AsType[*pgconn.ConnectError](err)
		if try == retries || refused || !isUnavailable(err) || errors.Is(err, board.ErrUnknown) || ctx.Err() != nil {
			return err
		}
	}
}

// Write runs f in a transaction.
func (s *Store) Write(ctx context.Context, f func(board.Tx) error) (err error) {
	defer s.observe(OpWrite, time.Now(), &err)
	return repeat(ctx, func() error {
		conn, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release() // one that is still in a transaction is closed
		t := &tx{reader: *s.reader(ctx, conn.Conn())}
		if _, err := t.exec("BEGIN ISOLATION LEVEL READ COMMITTED"); err != nil {
			return err
		}
		err = f(t)
		if err == nil {
			err = cmp.Or(t.failed, ctx.Err())
		} else if aborted(t.failed) {
			err = t.failed // whatever f made of it
		}
		if err == nil {
			return s.commit(ctx, conn.Conn())
		}
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
		defer cancel()
		if _, e := conn.Exec(undo, "ROLLBACK"); e != nil {
			conn.Conn().PgConn().Close(undo)
		}
		return err
	})
}

// commit ends a transaction. What the caller's context does meanwhile is nothing to
// it: half a commit helps nobody.
func (s *Store) commit(ctx context.Context, conn *pgx.Conn) error {
	return s.decide(ctx, conn, func(ctx context.Context) error {
		tag, err := conn.Exec(ctx, "COMMIT")
		if err == nil && tag.String() != "COMMIT" {
			err = fmt.Errorf("postgres: commit answered %s", tag)
		}
		return err
	})
}

// decide runs what commits, and sorts its errors into those that mean that nothing
// happened and ErrUnknown.
func (s *Store) decide(ctx context.Context, conn *pgx.Conn, f func(context.Context) error) error {
	if conn.IsClosed() {
		return unavailable(errors.New("postgres: the connection was lost before the commit"))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.CommitTimeout)
	defer cancel()
	l := linkOf(conn)
	l.quiet.Store(true)
	l.warning.Store(nil)
	err := f(ctx)
	if !conn.IsClosed() {
		l.quiet.Store(false)
	}
	warning := l.warning.Load()
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil && warning == nil:
		return nil
	case err == nil:
		return fmt.Errorf("%w: %s (%s)", board.ErrUnknown, warning.Message, warning.Code)
	case ok && e.SeverityUnlocalized == "ERROR":
		return translate(err)
	case !conn.IsClosed(): // an answer that we could not read
		return err
	}
	// The driver calls some of these errors safe to retry, also when the server's last
	// word came after the commit was sent.
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
	if ctx.Err() != nil {
		return nil, fmt.Errorf("postgres: connect: %w", err)
	}
	return nil, unavailable(err)
}

// observe tells the observer of something that began a while ago and ends now.
func (s *Store) observe(op string, begun time.Time, err *error) {
	if s.opts.Observe != nil {
		s.opts.Observe(op, time.Since(begun), *err)
	}
}

// repeat runs f again if the database aborted it for the sake of others.
func repeat(ctx context.Context, f func() error) error {
	for try := 0; ; try++ {
		err := f()
		if try == retries || !aborted(err) {
			return err
		}
		if e := pause(ctx, 5*time.Millisecond<<try); e != nil {
			return err
		}
	}
}

// pause waits for about d.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d/2 + mrand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
