package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/internal/gatewaycli"
	"github.com/bossman-dev/bossman/internal/loopback"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/push"
	"github.com/bossman-dev/bossman/remote"
	"github.com/bossman-dev/bossman/telemetry"
	"github.com/bossman-dev/bossman/tools"
	"github.com/bossman-dev/bossman/web"
	"golang.org/x/sync/errgroup"
)

// Options configure a Server. Logger and Telemetry are required.
type Options struct {
	Logger    *slog.Logger
	Telemetry *telemetry.Telemetry
	// Version is the program's, and BoardName what the log calls the board.
	Version, BoardName string
	// Project is the one project of a board in a file, which the first write creates. It is
	// empty for a database.
	Project string
	// Admin is where metrics and profiles are served, without a key; nil for nowhere.
	Admin net.Listener
	// Hosts are the names that clients may use for this server, and Origins the web pages
	// that may use it.
	Hosts, Origins []string
	// Proxies are the networks of load balancers whose X-Forwarded-For is believed.
	Proxies []netip.Prefix
	// Issuer is an authorization server whose access tokens are accepted if they are for
	// Audience, the URL of this server. Rules give them roles.
	Issuer, Audience string
	Rules            []auth.Rule
	// Person are the claims by which a token is a person's. Without any, no token is.
	Person []auth.Match
	// TLS is the configuration of TLS, nil to serve without it.
	TLS *tls.Config
	// MaxConnections is the maximum number of connections; default 32,768, or as many as
	// the files that the process may open allow, with a reserve.
	MaxConnections int
	// URL is the address of this server for people, which notifications name; default the
	// audience, the first host, or the listener's address.
	URL string
	// Gateway has the tools of other servers; nil if there are none. Journal records calls of them.
	Gateway *gateway.Gateway
	Journal *board.Journal
	// PushLocal is set if notifications may be sent to loopback and private addresses.
	PushLocal bool
	// Linger is how long to keep serving after the context of Run has ended, so that load
	// balancers can drain.
	Linger time.Duration
}

// A Store keeps the board and who may use it.
type Store interface {
	board.Store
	auth.Store
}

// A NoKeyError is returned by New if there is no key yet and other machines can connect.
type NoKeyError struct{ Addr net.Addr }

func (e *NoKeyError) Error() string {
	return fmt.Sprintf("there is no key yet, and other machines can connect to %s", e.Addr)
}

// A Server is the server of a team.
type Server struct {
	board    *board.Board
	store    Store
	listener net.Listener
	conns    *connections // over listener
	o        Options
	log      *slog.Logger
	tel      *telemetry.Telemetry
	keys     *auth.Authenticator
	limiter  auth.Limiter
	delayed  atomic.Int64 // refusals that are being delayed
	counts   usageCounts
	shared   shared
	spare    *spareKey // nil if there are keys
	mcp      *mcp.Server
	tools    *tools.Tools
	handler  *streamable.Handler
	bearer   *streamable.BearerAuth // nil if nobody issues tokens
	routes   []route
	notFound http.Handler
	site     *web.Site
	push     *push.Sender // nil without a database
	health   *health
}

// New returns a Server for a board, on a listener that the caller closes. The error is a
// *NoKeyError if nobody could use the server.
func New(ctx context.Context, b *board.Board, store Store, l net.Listener, o *Options) (*Server, error) {
	s := &Server{board: b, store: store, listener: l, o: *o, log: o.Logger, tel: o.Telemetry}
	tokens := &auth.Options{Logger: s.log, Issuer: o.Issuer, Audience: o.Audience, Rules: o.Rules, Person: o.Person, ClientIP: proxies(o.Proxies).clientIP, Revoked: s.dismiss}
	if err := tokens.Check(); err != nil {
		return nil, err
	}
	most, err := maxConnections(o.MaxConnections, openFiles())
	if err != nil {
		return nil, err
	}
	s.conns = newConnections(l, limitsOf(most), proxies(o.Proxies), s.log)
	s.tel.WatchConnections(s.conns.max, s.conns.count)
	s.keys = auth.New(store, tokens)
	if err := s.needKey(ctx); err != nil {
		return nil, err
	}
	s.health = &health{check: func(ctx context.Context) error {
		return store.Read(ctx, func(r board.Reader) error {
			_, err := r.Now()
			return err
		})
	}}
	if err := s.share(ctx); err != nil {
		return nil, err
	}
	projects := &projectList{board: b, home: o.Project}
	extensions := map[string]any{tools.SkillsExtension: struct{}{}}
	if o.Gateway != nil {
		extensions[gateway.Extension] = struct{}{}
	}
	s.mcp = mcp.NewServer(
		mcp.Implementation{Name: "bossman", Title: "Bossman", Version: o.Version},
		&mcp.ServerOptions{
			Instructions: tools.Instructions(), Logger: s.log, Visible: gatewaycli.Visible(o.Gateway, tools.Visible), Observer: s.tel.Observer(),
			SeesPart: func(ctx context.Context, p mcp.Principal, project string) bool {
				c, err := projects.clientOf(ctx, p)
				return err == nil && c.May(access.Get, project) == nil
			},
			Extensions: extensions, Keyring: s.shared.seal, Tasks: s.shared.tasks, Bus: s.shared.bus,
			Complete: gatewaycli.Complete(o.Gateway, func(ctx context.Context, c *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, error) {
				return s.tools.Complete(ctx, c, p)
			}),
		},
	)
	s.mcp.Use(s.tel.Middleware(), s.limit)
	s.mcp.Use(tools.Authorize(projects.clientOf))
	s.tools = tools.Register(s.mcp, b, &tools.Options{Logger: s.log, Lost: b.Unanswered})
	remote.Register(s.mcp, b)
	if o.Gateway != nil {
		if s.shared.relay != nil {
			o.Gateway.Join(s.shared.relay)
		}
		o.Gateway.Attach(s.mcp)
	}
	s.mcp.HandleMethod(access.Login.Method(), mcp.Method{Handle: s.serveLogin})
	s.bearer = s.newBearer()
	hosts := s.hosts()
	if len(hosts) > 0 {
		s.log.Info("clients may use these names, and --host names others", "hosts", strings.Join(hosts, " "))
	}
	s.handler = streamable.NewHandler(s.mcp, &streamable.Options{
		Authenticate: s.identify, LimitBatch: s.batch, Hosts: hosts, Origins: o.Origins, Logger: s.log,
		Sessions: s.shared.sessions, Relay: s.shared.relay, OnForeign: (&refusalLog{log: s.log}).refused,
	})
	s.notFound = s.handler.Guard(http.NotFoundHandler())
	s.routes = []route{
		{"/mcp", false, s.handler},
		{"/livez", true, s.anyHost(s.health.live)},
		{"/readyz", true, s.anyHost(s.health.ready)},
	}
	if err := s.newSender(ctx); err != nil {
		return nil, err
	}
	s.site, err = web.New(web.Options{
		Board: b, Push: s.push, Door: web.NewKeyDoor(s.keys, projects.callerOf), Host: hostOf(hosts), TLS: o.TLS != nil, Directory: s.keys, Gateway: o.Gateway, Logger: s.log, Admit: s.admit, Audit: s.audit,
	})
	if err != nil {
		return nil, err
	}
	if s.bearer != nil {
		s.routes = append(s.routes, route{s.bearer.MetadataPath(), true, s.handler.Guard(s.bearer)})
	}
	return s, nil
}

// SpareKey is a key for this run, empty if there are keys in the store.
func (s *Server) SpareKey() auth.Secret {
	if s.spare == nil {
		return ""
	}
	return s.spare.text
}

// needKey creates a spare key if the server has no other credentials, or returns an error if
// that would be unsafe.
func (s *Server) needKey(ctx context.Context) error {
	if s.o.Issuer != "" {
		return nil
	}
	all, err := s.keys.Keys(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	if slices.ContainsFunc(all, func(k auth.Key) bool { return !k.Ended(now) }) {
		return nil
	}
	if addr := s.listener.Addr(); !loopback.Addr(addr) {
		return &NoKeyError{Addr: addr}
	}
	s.spare = newSpareKey()
	return nil
}

// hosts are the names that clients may use for this server. For a listener on the loopback
// interface the handler knows them.
func (s *Server) hosts() []string {
	addr := s.listener.Addr()
	if len(s.o.Hosts) > 0 || loopback.Addr(addr) {
		return s.o.Hosts
	}
	_, port, _ := net.SplitHostPort(addr.String())
	name, _ := os.Hostname()
	out := []string{"localhost", "127.0.0.1", "[::1]"}
	if name != "" {
		out = append(out, name)
	}
	for i := range len(out) {
		out = append(out, out[i]+":"+port)
	}
	return out
}

// Run serves until ctx ends, and then shuts down in order: load balancers see that it is
// not ready, event streams end, calls finish, leases stay.
func (s *Server) Run(ctx context.Context) error {
	defer s.mcp.Close()
	s.log.Info("serving", "address", s.listener.Addr().String(), "board", s.o.BoardName, "version", s.o.Version, "connections", s.conns.max)
	listener := net.Listener(s.conns)
	if s.o.TLS != nil {
		listener = tls.NewListener(listener, s.o.TLS)
	}
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, inner := errgroup.WithContext(inner)
	g.Go(func() error { return s.board.Run(inner) })
	g.Go(func() error { return s.tools.Run(inner) })
	g.Go(func() error { return s.site.Run(inner) })
	g.Go(func() error { return s.keys.Run(inner) })
	g.Go(func() error { return s.tel.WatchBoard(inner, s.board) })
	if s.o.Gateway != nil {
		g.Go(func() error { return s.o.Gateway.Run(inner) })
		g.Go(func() error { return s.o.Journal.Run(inner) })
	}
	if s.push != nil {
		g.Go(func() error { return s.push.Run(inner) })
	}
	if s.shared.run != nil {
		g.Go(func() error { return s.shared.run(inner) })
	}
	if s.o.Admin != nil {
		g.Go(func() error { return s.runAdmin(inner, s.o.Admin) })
	}
	g.Go(func() error {
		defer stop() // end the others after the last call
		serving, end := context.WithCancel(inner)
		defer end()
		defer context.AfterFunc(ctx, func() {
			s.health.drain()
			s.log.Info("ending")
			time.Sleep(s.o.Linger)
			s.board.EndWaits() // the client waits on, at another replica
			s.site.EndStreams()
			end()
		})()
		return streamable.Serve(serving, listener, s.handler, s.tel.HTTP(s, s.sender))
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
