package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/remote"
	"github.com/bossman-dev/bossman/telemetry"
	"github.com/bossman-dev/bossman/tools"
	"golang.org/x/sync/errgroup"
)

// An httpServer is the server of a team.
type httpServer struct {
	o       *opened
	so      httpOptions
	log     *slog.Logger
	tel     *telemetry.Telemetry
	keys    *auth.Authenticator
	limiter auth.Limiter
	held    atomic.Int64 // refusals that are kept back
	counts  counts
	shared  shared
	spare   *spareKey // nil if there are others
	mcp     *mcp.Server
	tools   *tools.Tools
	handler *streamable.Handler
	routes  []route
	health  *health
}

// A route is a path that is served. Nothing is elsewhere.
type route struct {
	path string
	// open routes ask for no key.
	open  bool
	serve http.Handler
}

func (a *app) newHTTPServer(ctx context.Context, o *opened, so httpOptions, l net.Listener, tel *telemetry.Telemetry, log *slog.Logger) (*httpServer, error) {
	s := &httpServer{o: o, so: so, tel: tel, log: log}
	options, err := so.auth(log)
	if err != nil {
		return nil, err
	}
	s.keys = auth.New(o.store, options)
	if err := s.needKey(ctx, l, a); err != nil {
		return nil, err
	}
	s.health = &health{check: func(ctx context.Context) error {
		return o.store.Read(ctx, func(r board.Reader) error {
			_, err := r.Now()
			return err
		})
	}}
	if err := s.share(ctx); err != nil {
		return nil, err
	}
	s.mcp = mcp.NewServer(
		mcp.Implementation{Name: "bossman", Title: "Bossman", Version: buildVersion().Version},
		&mcp.ServerOptions{
			Instructions: tools.Instructions(), Logger: log, Visible: tools.Visible, Observer: tel.Observer(),
			Seal: s.shared.seal, Tasks: s.shared.tasks, Bus: s.shared.bus,
			Complete: func(ctx context.Context, c *mcp.Call, p mcp.CompleteParams) (*mcp.Completion, error) {
				return s.tools.Complete(ctx, c, p)
			},
		},
	)
	s.mcp.Use(tel.Middleware(), s.limit)
	projects := &projectList{board: o}
	if !o.server {
		projects.home = o.slug
	}
	s.mcp.Use(tools.Authorize(func(ctx context.Context, p mcp.Principal) (*access.Caller, error) {
		return callerOf(ctx, p, projects)
	}))
	s.tools = tools.Register(s.mcp, o, &tools.Options{Logger: log})
	remote.Register(s.mcp, o.local)
	s.mcp.HandleMethod(access.Login.Method(), mcp.Method{Handle: s.serveLogin})
	hosts := s.hosts(l)
	if len(hosts) > 0 {
		log.Info("clients may use these names, and --host names others", "hosts", strings.Join(hosts, " "))
	}
	s.handler = streamable.NewHandler(s.mcp, &streamable.Options{
		Authenticate: s.authenticate, Batch: s.batch, Hosts: hosts, Origins: so.origins, Logger: log,
		Store: s.shared.sessions, Relay: s.shared.relay, Foreign: (&foreign{log: log}).refused,
	})
	s.routes = []route{
		{"/", true, s.handler.Guard(text(frontPage))},
		{"/mcp", false, s.handler},
		{"/livez", true, s.fromAnywhere(s.health.live)},
		{"/readyz", true, s.fromAnywhere(s.health.ready)},
	}
	if path, doc := s.keys.Metadata(); path != "" {
		s.routes = append(s.routes, route{path, true, s.handler.Guard(document(doc))})
	}
	return s, nil
}

// needKey makes sure that somebody can get in, and nobody without a credential.
func (s *httpServer) needKey(ctx context.Context, l net.Listener, a *app) error {
	if s.so.issuer != "" {
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
	if !onlyThisMachine(l.Addr()) {
		return console.Errorf(console.Denied, "bossman key create --project NAME --role lead --person YOU makes one",
			"there is no key yet, and other machines can connect to %s", l.Addr())
	}
	s.spare = newSpareKey()
	fmt.Fprintf(a.Stderr, "There are no keys yet. For this run, and from this machine:\n  %s\n", s.spare.text.Reveal())
	return nil
}

// hosts are the names that clients may use. On this machine alone they are known.
func (s *httpServer) hosts(l net.Listener) []string {
	if len(s.so.hosts) > 0 || onlyThisMachine(l.Addr()) {
		return s.so.hosts
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
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

func onlyThisMachine(addr net.Addr) bool {
	host, _, err := net.SplitHostPort(addr.String())
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}

// run serves until ctx ends, and then lets go in the right order: load balancers are
// told, event streams end, calls are finished, leases stay.
func (s *httpServer) run(ctx context.Context, l, admin net.Listener) error {
	defer s.mcp.Close()
	s.log.Info("serving", "address", l.Addr().String(), "board", s.o.path, "version", buildVersion().Version)
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, inner := errgroup.WithContext(inner)
	g.Go(func() error { return s.o.Run(inner) })
	g.Go(func() error { return s.tools.Run(inner) })
	g.Go(func() error { return s.keys.Run(inner) })
	g.Go(func() error { return s.tel.WatchBoard(inner, s.o.local) })
	if s.shared.run != nil {
		g.Go(func() error { return s.shared.run(inner) })
	}
	if admin != nil {
		g.Go(func() error { return s.runAdmin(inner, admin) })
	}
	g.Go(func() error {
		defer stop() // the others end after the last call
		serving, end := context.WithCancel(inner)
		defer end()
		defer context.AfterFunc(ctx, func() {
			s.health.drain()
			s.log.Info("ending")
			time.Sleep(s.so.linger)
			s.o.local.EndWaits() // there is more time elsewhere
			end()
		})()
		return streamable.ServeWith(serving, l, s.handler, s.tel.HTTP(s))
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// ServeHTTP finds the route of a request.
func (s *httpServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, route := range s.routes {
		if route.path == r.URL.Path {
			route.serve.ServeHTTP(w, r)
			return
		}
	}
	s.handler.ServeHTTP(w, r) // which has nothing there, and says so as for everything
}

// fromAnywhere serves a load balancer, which may ask by any name, since it knows this
// replica by its address. For a web page the name has to be ours, and so has the page.
func (s *httpServer) fromAnywhere(serve http.HandlerFunc) http.Handler {
	guarded := s.handler.Guard(serve)
	return onlyRead(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isBrowser(r) {
			guarded.ServeHTTP(w, r)
			return
		}
		serve(w, r)
	}))
}

// isBrowser reports whether a browser has sent a request on behalf of a page.
func isBrowser(r *http.Request) bool {
	return r.Header["Origin"] != nil || r.Header["Sec-Fetch-Site"] != nil
}

// onlyRead refuses all but GET and HEAD.
func onlyRead(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// frontPage is for people who open the address in a browser.
const frontPage = `This is a Bossman server, a board of tasks for AI agents.

/mcp     MCP, for agents and for laptops: bossman login URL
/livez   the process runs
/readyz  it can serve: for load balancers
`

// text serves a text that never changes.
func text(s string) http.Handler { return fixed("text/plain; charset=utf-8", []byte(s)) }

// document serves a JSON document that never changes.
func document(doc []byte) http.Handler { return fixed("application/json", doc) }

func fixed(kind string, doc []byte) http.Handler {
	return onlyRead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(doc)
	}))
}
