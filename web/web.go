package web

import (
	"context"
	"crypto/rand"
	"errors"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/internal/loopback"
	"github.com/bossman-dev/bossman/push"
)

// Options configures a Site. Board and Door are required.
type Options struct {
	// Board is the board that is shown: one in this process, or that of a server.
	Board access.Board
	// Door decides who may come in.
	Door Door
	// Directory lists keys and people for administrators; nil: there are none.
	Directory Directory
	// Push sends notifications; nil: none are sent.
	Push *push.Sender
	// Gateway has the tools of other servers; nil: there are none.
	Gateway *gateway.Gateway
	// Name is how the sign-in page names this server; default the host of the request.
	Name string
	// Host reports whether a Host header may name this server; default: only loopback names.
	// A page that a stranger's domain leads to could otherwise be read by that domain.
	Host func(host string) bool
	// TLS is set if browsers reach the site over TLS, though requests arrive without: a proxy
	// ends it.
	TLS bool
	// Zone is the time zone of clock times for browsers without the script; default
	// time.Local.
	Zone *time.Location
	// Admit is asked before somebody who is signed in is served, and may refuse: a server has
	// limits. It may be nil.
	Admit func(r *http.Request, c *access.Caller) error
	// Audit is told of each form that was sent by somebody who is known, and of each sign-in that was
	// refused. It may be nil.
	Audit func(ctx context.Context, a Act)
	// Logger logs what concerns the operator; nil: no logging.
	Logger *slog.Logger
}

// A Site serves the pages. It is an http.Handler, safe for concurrent use. Run must run for
// live updates.
type Site struct {
	o       Options
	board   access.Board
	door    Door
	log     *slog.Logger
	mux     *http.ServeMux
	origins *http.CrossOriginProtection
	pages   map[string]*template.Template
	files   *files
	// placeholder stands in rendered pages for the token of forms, which differs by session.
	placeholder string

	hub      *hub
	stats    *stats
	history  *history
	activity *activity
	answers  *answers
	// version increases with every change that a page may show: it dates what is cached.
	version atomic.Uint64
	running atomic.Bool // Run is running, so version moves
	inboxes cache[inboxRead]
	sums    cache[summaryRead]

	gateways cache[gatewayRead]
	parts    parts
	dead     deadLetters
}

// New returns a Site. It fails only if Options lack something.
func New(o Options) (*Site, error) {
	if o.Board == nil || o.Door == nil {
		return nil, errors.New("web: a site needs a board and a door")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Host == nil {
		o.Host = loopback.Host
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	s := &Site{
		o: o, board: o.Board, door: o.Door, log: o.Logger, mux: http.NewServeMux(), origins: http.NewCrossOriginProtection(),
		placeholder: "token-" + rand.Text(), hub: newHub(), stats: newStats(), history: newHistory(), answers: newAnswers(), activity: newActivity(o.Board), files: newFiles(),
	}
	s.pages = s.parseTemplates()
	for _, r := range routes {
		s.mux.HandleFunc(r.Method+" "+r.Pattern, s.serve(r))
	}
	return s, nil
}

// ServeHTTP serves a request: headers, host and origin first, then the route.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.setHeaders(w.Header(), r)
	if !s.o.Host(hostOf(r.Host)) {
		http.Error(w, "this server does not serve that host", http.StatusForbidden)
		return
	}
	if err := s.origins.Check(r); err != nil {
		http.Error(w, "a page of another site sent this; nothing was done", http.StatusForbidden)
		return
	}
	if !s.Serves(r) {
		s.serveUnknown(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Serves reports whether a request is for the site.
func (s *Site) Serves(r *http.Request) bool {
	_, pattern := s.mux.Handler(r)
	return pattern != ""
}

// Run follows the board until ctx ends. It returns when all that it started has ended.
func (s *Site) Run(ctx context.Context) error {
	s.running.Store(true)
	defer s.running.Store(false)
	defer s.hub.close()
	var wg sync.WaitGroup
	wg.Go(func() { s.checkSessions(ctx) })
	wg.Go(func() { s.followActivity(ctx) })
	s.follow(ctx)
	wg.Wait()
	return ctx.Err()
}

// EndStreams ends the streams of open pages, current and future: their browsers come back, to
// another replica.
func (s *Site) EndStreams() { s.hub.close() }

// changed tells that a page may show something else from now on.
func (s *Site) changed() { s.version.Add(1) }

// contentPolicy allows what our own files need, and nothing inline.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// setHeaders sets the headers of every answer.
func (s *Site) setHeaders(h http.Header, r *http.Request) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
	if s.secure(r) {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// secure reports whether the browser's connection is encrypted.
func (s *Site) secure(r *http.Request) bool { return s.o.TLS || r.TLS != nil }

// hostOf returns a Host header without its port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
