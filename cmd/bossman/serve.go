package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/remote"
	"github.com/bossman-dev/bossman/telemetry"
	"github.com/bossman-dev/bossman/tools"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// defaultHTTP is where the server listens unless it is told.
const defaultHTTP = "127.0.0.1:8181"

type httpOptions struct {
	addr, admin    string
	cert, key      string
	hosts, origins []string
	proxies        []string
	url, issuer    string
	grants         []string
	audit, level   string
	linger         time.Duration
}

func (a *app) serveCommand() *cobra.Command {
	var o httpOptions
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve a board over HTTP", Args: cobra.NoArgs,
		Long: `Serve is the server of a team. It serves MCP at /mcp to agents, and to the laptops
whose .bossman/config.toml names it; /livez and /readyz tell a load balancer how it
is. With --db several replicas may run side by side, behind any load balancer.

Everybody needs a key: bossman key create makes one. As long as there is none, and
only this machine can connect, a key for this run is printed.

Each flag has a variable, which counts if the flag is not given. docs/operate.md is
the way from an empty machine to a server that can be relied on.`,
		Example: `  bossman serve
  bossman serve --http :8181 --db postgres://bossman_app@db.example.org/bossman --host bossman.example.org
  BOSSMAN_DB=postgres://… BOSSMAN_HTTP=:8181 BOSSMAN_HOST=bossman.example.org bossman serve`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := readVariables(cmd.LocalNonPersistentFlags(), a.getenv); err != nil {
				return err
			}
			return a.serveHTTP(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.addr, "http", defaultHTTP, "the `address` to listen on")
	f.StringVar(&o.admin, "admin", "", "a second `address`, for metrics and profiles; nobody is asked for a key there")
	f.StringVar(&o.cert, "tls-cert", "", "a certificate `file`, in PEM; it is read again when it changes")
	f.StringVar(&o.key, "tls-key", "", "the `file` of its key")
	f.StringSliceVar(&o.hosts, "host", nil, "a `name` that clients use for this server; repeat, or separate by commas")
	f.StringSliceVar(&o.origins, "origin", nil, "a web page's `origin`, such as https://app.example.org, that may use it; repeat, or separate by commas")
	f.StringSliceVar(&o.proxies, "proxy", nil, "an `address` or network of load balancers, such as 10.0.0.0/8, whose X-Forwarded-For is believed; repeat, or separate by commas")
	f.StringVar(&o.issuer, "oauth-issuer", "", "an authorization server whose access tokens are taken, by its `URL`")
	f.StringVar(&o.url, "oauth-audience", "", "what those tokens are made for: this server's own `URL`, https://bossman.example.org/mcp")
	f.StringArrayVar(&o.grants, "oauth-grant", nil, "the role of who has a claim: `CLAIM=VALUE:PROJECT:ROLE`, such as groups=eng:web:lead; repeat")
	f.StringVar(&o.audit, "audit", "", "a `file` that gets a line for each call that changes something")
	f.StringVar(&o.level, "log-level", "info", "the least serious messages to log: debug, info, warn or error")
	f.DurationVar(&o.linger, "linger", 0, "how long to go on serving after being told to end, so that a load balancer notices")
	nameVariables(f)
	return cmd
}

// serveHTTP serves until ctx ends.
func (a *app) serveHTTP(ctx context.Context, so httpOptions) error {
	level := slog.LevelInfo
	if err := level.UnmarshalText([]byte(cmp.Or(so.level, "info"))); err != nil {
		return usage("--log-level is debug, info, warn or error, not %.20q", so.level)
	}
	log := telemetry.Logger(a.stderr, level)
	slog.SetDefault(log)
	a.log = log
	tel, err := so.telemetry(log)
	if err != nil {
		return err
	}
	defer tel.Shutdown(context.WithoutCancel(ctx))
	a.observe(tel)
	o, err := a.openHere(ctx)
	if _, none := errors.AsType[*noPlaceError](err); none {
		return failf(exitNotFound, "bossman serve --db postgres://… (or BOSSMAN_DB) for a team; --board DIRECTORY for a board in a file",
			"there is nothing to serve: no database is named, and no project is here")
	}
	if err != nil {
		return err
	}
	l, err := listen(so.addr, "--http")
	if err != nil {
		return err
	}
	defer l.Close()
	var admin net.Listener
	if so.admin != "" {
		if admin, err = listen(so.admin, "--admin"); err != nil {
			return err
		}
		defer admin.Close()
	}
	if l, err = so.secure(l); err != nil {
		return err
	}
	s, err := a.newHTTPServer(ctx, o, so, l, tel, log)
	if err != nil {
		return err
	}
	return s.run(ctx, l, admin)
}

// listen listens where a flag says.
func listen(addr, flag string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l, nil
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // what it leaves out we say ourselves
	}
	next := "give " + flag + " an address of this machine, such as 127.0.0.1:8181 or :8181"
	if errors.Is(err, syscall.EADDRINUSE) {
		next = "end the program that listens there, or choose another address with " + flag
	}
	return nil, failf(exitUnavailable, next, "listen on %s: %w", addr, err)
}

// secure puts TLS around a listener, if there is a certificate.
func (o *httpOptions) secure(l net.Listener) (net.Listener, error) {
	if (o.cert == "") != (o.key == "") {
		return nil, usage("--tls-cert and --tls-key belong together")
	}
	if o.cert == "" {
		return l, nil
	}
	c := &certificate{certFile: o.cert, keyFile: o.key}
	if _, err := c.get(nil); err != nil {
		return nil, err
	}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"h2", "http/1.1"}}), nil
}

// telemetry begins to measure.
func (o *httpOptions) telemetry(log *slog.Logger) (*telemetry.Telemetry, error) {
	to := &telemetry.Options{Logger: log, Version: buildVersion().Version, Who: func(mp mcp.Principal) telemetry.Who {
		p, ok := mp.Value.(*auth.Principal)
		if !ok {
			return telemetry.Who{}
		}
		kind := "agent"
		if p.Person {
			kind = "person"
		}
		return telemetry.Who{Name: p.Name, Kind: kind, Key: p.Key}
	}}
	if o.audit != "" {
		f, err := os.OpenFile(o.audit, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the audit stream: %w", err)
		}
		to.Audit = f // as long as the process lives
	}
	return telemetry.New(to)
}

// auth is what was said about tokens, and about who passes requests on.
func (o *httpOptions) auth(log *slog.Logger) (*auth.Options, error) {
	behind, err := parseProxies(o.proxies)
	if err != nil {
		return nil, err
	}
	ao := &auth.Options{Logger: log, Issuer: o.issuer, Audience: o.url, ClientIP: behind.clientIP}
	for _, text := range o.grants {
		match, rest, _ := strings.Cut(text, ":")
		claim, value, ok := strings.Cut(match, "=")
		project, role, ok2 := strings.Cut(rest, ":")
		r, err := auth.ParseRole(role)
		if !ok || !ok2 || err != nil || claim == "" || value == "" {
			return nil, usage("--oauth-grant %q is not like groups=eng:web:lead", text)
		}
		ao.Rules = append(ao.Rules, auth.Rule{Claim: claim, Value: value, Project: project, Role: r})
	}
	if err := ao.Check(); err != nil {
		return nil, usage("%w", err)
	}
	return ao, nil
}

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
	s.tools = tools.Register(s.mcp, o, &tools.Options{
		Logger: log,
		Who: func(ctx context.Context, p mcp.Principal) (tools.Caller, error) {
			return callerOf(ctx, p, projects)
		},
	})
	remote.Register(s.mcp, o.local)
	s.mcp.HandleMethod(loginMethod, mcp.Method{Handle: s.serveLogin})
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
	if slices.ContainsFunc(all, func(k auth.Key) bool { return works(k, now) }) {
		return nil
	}
	if !onlyThisMachine(l.Addr()) {
		return failf(exitDenied, "bossman key create --project NAME --role lead --person YOU makes one",
			"there is no key yet, and other machines can connect to %s", l.Addr())
	}
	s.spare = newSpareKey()
	fmt.Fprintf(a.stderr, "There are no keys yet. For this run, and from this machine:\n  %s\n", s.spare.text.Reveal())
	return nil
}

// works reports whether a key opens something.
func works(k auth.Key, now time.Time) bool {
	return k.Revoked.IsZero() && k.OwnerDisabled.IsZero() && (k.Expires.IsZero() || now.Before(k.Expires))
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

// authenticate tells who has sent a request.
func (s *httpServer) authenticate(r *http.Request) (mcp.Principal, error) {
	p, err := s.principal(r)
	if err != nil {
		status, after := auth.Status(err)
		e := &streamable.AuthError{Status: status, Challenge: s.keys.Challenge(err), RetryAfter: time.Duration(after) * time.Second}
		if status == http.StatusUnauthorized {
			e.Text = "this takes a good key, in X-Api-Token or as Authorization: Bearer"
		}
		return mcp.Principal{}, e
	}
	if p.Best() == auth.None {
		return mcp.Principal{}, &streamable.AuthError{
			Status: http.StatusForbidden, Challenge: s.keys.StepUp(auth.Viewer), Text: "this credential has no role in any project",
		}
	}
	if err := s.count(p.ID, 1); err != nil {
		s.hold(r.Context())
		return mcp.Principal{}, err
	}
	return mcp.Principal{ID: p.ID, Value: p, Revoked: p.Revoked}, nil
}

// batch counts what authenticate has not: the other messages of a batch. Otherwise
// the one revision that has them would have a hundred times the rate of the others.
func (s *httpServer) batch(p mcp.Principal, messages int) error {
	return s.count(p.ID, messages-1)
}

// count counts messages of a principal, or says when it may send them.
func (s *httpServer) count(principal string, messages int) error {
	if messages < 1 {
		return nil
	}
	if after, ok := s.limiter.AllowN(principal, auth.Calls, messages); !ok {
		return &streamable.AuthError{Status: http.StatusTooManyRequests, RetryAfter: after, Text: "too many requests"}
	}
	return nil
}

const (
	// heldFor is how long a refusal for calling too often is held back, and mostHeld
	// how many are at a time.
	heldFor  = 100 * time.Millisecond
	mostHeld = 1024
)

// hold keeps a refusal back for a moment: who floods and does not heed Retry-After
// waits on its own connections then, and does not spend the time of others.
func (s *httpServer) hold(ctx context.Context) {
	if s.held.Add(1) <= mostHeld {
		t := time.NewTimer(heldFor)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	s.held.Add(-1)
}

func (s *httpServer) principal(r *http.Request) (*auth.Principal, error) {
	if s.spare != nil {
		if p := s.spare.principal(r); p != nil {
			return p, nil
		}
	}
	return s.keys.Request(r)
}

// callerOf is a principal as the tools know it.
func callerOf(ctx context.Context, mp mcp.Principal, projects *projectList) (tools.Caller, error) {
	p, ok := mp.Value.(*auth.Principal)
	if !ok {
		return tools.Caller{}, nil
	}
	c := tools.Caller{
		Actor: board.Actor{Principal: p.ID, Owner: p.ID, Name: cmp.Or(p.Name, p.Owner), Person: p.Person},
		Roles: p.Grants, Role: p.Best(),
	}
	if every := p.Grants[auth.EveryProject]; every > auth.None {
		slugs, err := projects.slugs(ctx)
		if err != nil {
			return c, err
		}
		c.Roles = make(map[string]auth.Role, len(slugs))
		for _, slug := range slugs {
			c.Roles[slug] = p.Role(slug)
		}
	}
	return c, nil
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

// isLocalAddress reports whether a URL leads to this machine.
func isLocalAddress(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
