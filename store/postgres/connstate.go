package postgres

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A connState is what we keep about a connection, in addition to the driver.
type connState struct {
	// connected is set once the connection has been made.
	connected atomic.Bool
	// committing is set during a commit. The driver sends a cancel request when it gives
	// up a connection. If PostgreSQL is waiting for a standby at that time, it stops
	// waiting and reports success.
	committing atomic.Bool
	// session is the server's side of the connection.
	session session
	// stale is set if the connection was idle before its current use.
	stale bool
	// warning is the last warning of the server.
	warning atomic.Pointer[pgconn.Notice]
}

// connStateKey is the key of the connState in the custom data of a connection.
const connStateKey = "bossman"

// newConnState adds a connState to the connection that will be made with c. Cancel requests
// are sent over connections that DialFunc dials, so they can be refused there.
func newConnState(c *pgx.ConnConfig) {
	state := &connState{}
	dial := c.DialFunc
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if state.committing.Load() {
			return nil, errors.New("postgres: cancel request during a commit refused")
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if state.connected.Load() { // this is for a cancel request
			_ = conn.SetDeadline(time.Now().Add(closeTimeout))
		}
		return impatientConn{conn}, nil
	}
	c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			state.warning.Store(n)
		}
	}
	c.Config.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[connStateKey] = state
		state.connected.Store(true)
		return nil
	}
}

// closeTimeout is how long a server may take to answer when a connection to it is given up.
const closeTimeout = time.Second

// An impatientConn limits how long the driver waits for the server when it gives up a
// connection. The driver allows 15 s, and so long the connection keeps its place in the
// pool: the calls that a frozen server did not answer would fill the pool, and nobody could
// connect to the server that has taken over.
type impatientConn struct{ net.Conn }

// SetDeadline sets the deadline. The driver sets one in the future only to close.
func (c impatientConn) SetDeadline(t time.Time) error {
	if latest := time.Now().Add(closeTimeout); t.After(latest) {
		t = latest
	}
	return c.Conn.SetDeadline(t)
}

// stateOf returns the connState of a connection.
func stateOf(conn *pgx.Conn) *connState { return conn.PgConn().CustomData()[connStateKey].(*connState) }
