package postgres

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A connState is what we keep about a connection, in addition to the driver.
type connState struct {
	// committing is set during a commit. The driver sends a cancel request when it gives
	// up a connection. If PostgreSQL is waiting for a standby at that time, it stops
	// waiting and reports success.
	committing atomic.Bool
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
		return dial(ctx, network, addr)
	}
	c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			state.warning.Store(n)
		}
	}
	c.Config.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[connStateKey] = state
		return nil
	}
}

// stateOf returns the connState of a connection.
func stateOf(conn *pgx.Conn) *connState { return conn.PgConn().CustomData()[connStateKey].(*connState) }
