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

// A link is what we know of a connection beside the driver.
type link struct {
	// quiet is set while something commits. The driver sends a cancel request when it
	// gives up a connection; PostgreSQL, if it waits for a standby just then, stops
	// waiting and reports success.
	quiet atomic.Bool
	// warning is the last one the server sent.
	warning atomic.Pointer[pgconn.Notice]
}

const linkKey = "bossman"

// newLink makes the link of the connection that c is for. Cancel requests are sent
// over connections that DialFunc makes.
func newLink(c *pgx.ConnConfig) {
	l := &link{}
	dial := c.DialFunc
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if l.quiet.Load() {
			return nil, errors.New("postgres: no cancel request during a commit")
		}
		return dial(ctx, network, addr)
	}
	c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			l.warning.Store(n)
		}
	}
	c.Config.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[linkKey] = l
		return nil
	}
}

func linkOf(conn *pgx.Conn) *link { return conn.PgConn().CustomData()[linkKey].(*link) }

// dialer notices within half a minute that a server has gone without a word.
func dialer() *net.Dialer {
	return &net.Dialer{
		Timeout:         connectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
		Control:         control,
	}
}
