package server

import (
	"container/list"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/mcp/streamable"
)

const (
	// defaultConnections is the maximum number of connections, if the process may open so
	// many files.
	defaultConnections = 32 << 10
	// pendingTime is how long a connection may take until a request on it has a good key,
	// and maxPendingTime how long if its client is not silent then.
	pendingTime    = 10 * time.Second
	maxPendingTime = 30 * time.Second
	// idleTime is how long a client must have been silent until its pending connection is
	// closed for a newer one. Many that begin at once, as after a restart, do not push each
	// other out while they are served.
	idleTime = 500 * time.Millisecond
	// maxLook is how many of the oldest connections are looked at for one that is idle.
	maxLook = 32
)

// connections is a listener that bounds the connections of the server, so that nobody can
// use up its descriptors and memory.
//
//	accepted ──► pending, by address ── a good key ──► known, by owner
//	                  │
//	                  └─► closed after pendingTime, or when there are too many: the oldest
//	                      idle one of its address, or of all
//
// Connections of trusted proxies carry requests of many clients. They are known from the
// beginning, and counted in total only.
type connections struct {
	net.Listener
	proxies proxies
	log     *slog.Logger
	closed  refusalLog
	connectionLimits
	all sync.Map // *connection by remote address

	mu      sync.Mutex
	pending list.List             // of *connection, the oldest first
	from    map[string]*list.List // the same, by address
	known   int
	owned   map[string]int // known ones, by owner
}

// connectionLimits are the maximum numbers of connections.
type connectionLimits struct {
	max        int // in total
	pending    int // without a good key yet
	perAddress int // the same, from one address
	perOwner   int // known, of all keys of one owner
}

// limitsOf divides up the connections. Some are kept for those who have just come, so that
// they can be told why they are refused.
func limitsOf(most int) connectionLimits {
	l := connectionLimits{max: most, pending: max(most/8, min(most/2, 64))}
	l.perAddress = max(l.pending/4, min(l.pending, 64))
	known := most - l.pending
	l.perOwner = max(known/4, min(known/2, 256))
	return l
}

// maxConnections returns the maximum number of connections: the default, or the one that
// was asked for, and never more than the files that the process may open, with a reserve.
func maxConnections(asked int, files uint64) (int, error) {
	most := defaultConnections
	if files > 0 {
		most = int(min(uint64(most), max(files, 256)-reserve(files)))
	}
	if asked == 0 {
		return most, nil
	}
	if asked < 16 {
		return 0, fmt.Errorf("--max-connections %d is too few: at least 16", asked)
	}
	if files > 0 && uint64(asked) > files-min(files, reserve(files)) {
		return 0, fmt.Errorf("--max-connections %d needs %d open files with the database and a reserve, and this process may open %d: raise that limit (ulimit -n, LimitNOFILE= of systemd)",
			asked, uint64(asked)+reserve(files), files)
	}
	return asked, nil
}

// reserve is how many files are kept for everything but connections: the database, the
// certificate, metrics.
func reserve(files uint64) uint64 { return max(128, files/32) }

func newConnections(l net.Listener, limits connectionLimits, p proxies, log *slog.Logger) *connections {
	return &connections{
		Listener: l, connectionLimits: limits, proxies: p, log: log, closed: refusalLog{log: log},
		from: map[string]*list.List{}, owned: map[string]int{},
	}
}

// A connection is one that was accepted.
type connection struct {
	net.Conn
	in      *connections
	remote  string // address and port
	address string // whose pending connections it counts to; empty for a proxy
	timer   *time.Timer
	isKnown atomic.Bool
	waiting atomic.Int64 // since when a pending one waits for its client, in Unix nanoseconds; zero if it does not

	// Guarded by the mutex of in.
	owner      string
	inAll, own *list.Element // in pending and from, while it is pending
	gone       bool
}

// Accept accepts the next connection.
func (s *connections) Accept() (net.Conn, error) {
	for {
		raw, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: raw, in: s, remote: raw.RemoteAddr().String()}
		if from := remoteIP(c.remote); !s.proxies.has(from) {
			c.address = networkOf(from)
		}
		if s.add(c) {
			return c, nil
		}
		_ = raw.Close()
	}
}

// add admits a connection. It may close an older one for it.
func (s *connections) add(c *connection) bool {
	s.mu.Lock()
	var crowd *list.List // that the connection does not fit into
	switch own := s.from[c.address]; {
	case c.address != "" && own != nil && own.Len() >= s.perAddress:
		crowd = own
	case c.address != "" && s.pending.Len() >= s.connectionLimits.pending, s.known+s.pending.Len() >= s.max:
		crowd = &s.pending
	}
	var victim *connection
	if crowd != nil {
		if victim = oldestIdle(crowd); victim == nil {
			s.mu.Unlock()
			s.report(c, "refused a connection: there are too many")
			return false
		}
		s.removeLocked(victim)
	}
	s.all.Store(c.remote, c)
	if c.address == "" {
		s.known++
		c.isKnown.Store(true)
	} else {
		own := s.from[c.address]
		if own == nil {
			own = list.New()
			s.from[c.address] = own
		}
		c.inAll, c.own = s.pending.PushBack(c), own.PushBack(c)
		c.timer = time.AfterFunc(pendingTime, func() { c.expire(maxPendingTime - pendingTime) })
	}
	s.mu.Unlock()
	if victim != nil {
		s.report(victim, "closed a connection without a good key for a newer one: there are too many")
		_ = victim.Conn.Close()
	}
	return true
}

// oldestIdle finds a connection whose client is silent, nil if the oldest ones are all busy.
func oldestIdle(crowd *list.List) *connection {
	now := time.Now().UnixNano()
	e := crowd.Front()
	for range maxLook {
		if e == nil {
			return nil
		}
		if c := e.Value.(*connection); c.isIdle(now) {
			return c
		}
		e = e.Next()
	}
	return nil
}

// count returns how many connections there are, known and pending.
func (s *connections) count() (known, pending int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known, s.pending.Len()
}

// report logs that a connection was closed, not too often.
func (s *connections) report(c *connection, what string) {
	if more, ok := s.closed.due(time.Now()); ok {
		s.log.Warn(what, "from", c.remote, "more", more, "max", s.max, "pending", s.connectionLimits.pending, "per_address", s.perAddress,
			"next", "if the address is a load balancer's, add --proxy; for more, raise --max-connections")
	}
}

// authenticated notes that a request had a good key. The error says that its owner, or the
// server, has too many connections.
func (s *connections) authenticated(r *http.Request, owner string) error {
	v, ok := s.all.Load(r.RemoteAddr)
	if !ok {
		return nil
	}
	c := v.(*connection)
	if c.isKnown.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.gone || c.isKnown.Load():
		return nil
	case s.owned[owner] >= s.perOwner:
		return &streamable.AuthError{Status: http.StatusTooManyRequests, RetryAfter: time.Second, Text: fmt.Sprintf(
			"your connections are at the limit for one owner, %d, all keys together; close some, or let the operator raise --max-connections", s.perOwner)}
	case s.known+s.connectionLimits.pending >= s.max:
		return &streamable.AuthError{Status: http.StatusServiceUnavailable, RetryAfter: time.Second, Text: fmt.Sprintf(
			"the connections of all clients are at the limit of this server, %d; try again, or let the operator raise --max-connections", s.max)}
	}
	s.unlistLocked(c)
	c.owner = owner
	s.owned[owner]++
	s.known++
	c.isKnown.Store(true)
	return nil
}

// removeLocked forgets a connection that is being closed.
func (s *connections) removeLocked(c *connection) {
	if c.gone {
		return
	}
	c.gone = true
	s.all.CompareAndDelete(c.remote, c)
	if !c.isKnown.Load() {
		s.unlistLocked(c)
		return
	}
	s.known--
	if c.address == "" {
		return
	}
	if s.owned[c.owner]--; s.owned[c.owner] == 0 {
		delete(s.owned, c.owner)
	}
}

// unlistLocked removes a connection from those that are pending.
func (s *connections) unlistLocked(c *connection) {
	c.timer.Stop()
	s.pending.Remove(c.inAll)
	own := s.from[c.address]
	if own.Remove(c.own); own.Len() == 0 {
		delete(s.from, c.address)
	}
}

// Read reads from the client, and notes how long it is silent.
func (c *connection) Read(b []byte) (int, error) {
	if c.isKnown.Load() {
		return c.Conn.Read(b)
	}
	c.waiting.Store(time.Now().UnixNano())
	defer c.waiting.Store(0)
	return c.Conn.Read(b)
}

// isIdle reports whether the client of a pending connection is silent.
func (c *connection) isIdle(now int64) bool {
	since := c.waiting.Load()
	return since != 0 && now-since >= int64(idleTime)
}

// expire closes the connection if it is still pending. If its client is not silent it looks
// again later, so that requests are not cut off, but not for ever.
func (c *connection) expire(left time.Duration) {
	if c.isKnown.Load() {
		return
	}
	if left > 0 && !c.isIdle(time.Now().UnixNano()) {
		c.in.mu.Lock()
		defer c.in.mu.Unlock()
		if !c.gone && !c.isKnown.Load() {
			c.timer = time.AfterFunc(idleTime, func() { c.expire(left - idleTime) })
		}
		return
	}
	_ = c.Close()
}

// Close closes the connection.
func (c *connection) Close() error {
	c.in.mu.Lock()
	c.in.removeLocked(c)
	c.in.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite tells the client that nothing more comes. Net/http uses it so that a refusal
// arrives although the request was not read to its end.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func remoteIP(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}

// networkOf is whom an address belongs to. A client usually has all addresses of its /64
// network.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if !ip.Is6() {
		return ip.String()
	}
	net, _ := ip.Prefix(64)
	return net.String()
}
