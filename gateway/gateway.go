package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// Options configures a Gateway. The zero value is valid.
type Options struct {
	// Info is what the gateway calls itself when it connects to upstreams.
	Info   mcp.Implementation
	Logger *slog.Logger // default: slog.Default()
	// Store keeps lists and approvals. Default: in memory.
	Store Store
	// TrustFirst pins definitions that are seen for the first time, unless something in them
	// cannot be seen.
	TrustFirst bool
	// Shared is set if one process serves everybody. Then an upstream that is not shared has
	// a connection for each principal. Otherwise it has one, whatever Share says.
	Shared bool
	// Dir is where upstreams run whose Dir is Here. Default: the current directory.
	Dir string
	// Search returns a list of directories, such as the PATH, without those in which no program of an upstream, nor a part of one, is
	// searched for. Default: without relative ones.
	Search func(list string) string
	// Scratch returns a directory of this gateway alone, in which each upstream without a directory gets an empty one. Default:
	// one among the user's caches, which Run removes.
	Scratch func() (string, error)
	// LogDir is where the standard error of upstreams is written; empty: nowhere.
	LogDir string
	// List overrides how tools are listed: auto, real or search.
	List string
	// Start starts an upstream's command. Default: its Connect method.
	Start func(context.Context, *mcp.Command, *mcp.ClientOptions) (*mcp.Client, error)
	// Authorize returns a transport that sends the operator's token to an upstream, over another one. Without it, an upstream
	// with OAuth cannot be used.
	Authorize func(u Upstream, base http.RoundTripper) (http.RoundTripper, error)
	// Stopped is called when Run has stopped all upstreams, to end what they have left. It may be nil.
	Stopped func()
	// Allowed reports whether the caller may call tools of a class. Default: everybody may.
	Allowed func(ctx context.Context, class Class) bool
	// Guard admits calls that need a claim. Without one, tools of class claim are refused.
	Guard Guard
	// Artifact reads lines of a large result that the Guard has kept; mcp.ErrNotFound if there is none. Default:
	// there are none.
	Artifact func(ctx context.Context, p ArtifactPage) (string, error)
}

// A Gateway offers what upstreams have on one server.
type Gateway struct {
	o         Options
	log       *slog.Logger
	upstreams map[string]*upstream
	ctx       context.Context // of everything that runs in the background
	cancel    context.CancelFunc
	scratch   func() (string, error)
	unscratch func()
	taskAfter time.Duration

	mu      sync.Mutex
	server  *mcp.Server
	stopped bool
	running bool // Run was called
	wg      sync.WaitGroup
	offer   *offer // what is published
	pending map[string]*forwarded
	owners  owners
	peers   *peers

	publishing sync.Mutex // held while offer changes
}

// An upstream is a configured server, and what is known about it.
type upstream struct {
	Upstream
	secret  *redactor
	logging sync.Mutex // held while its log is written

	mu        sync.Mutex
	catalogue *Catalogue
	pins      []Pin
	instances map[string]*instance
	numbered  int // instances so far
}

// New returns a gateway to upstreams. It starts nothing: Run does, and the first call of a tool.
func New(ctx context.Context, upstreams []Upstream, o *Options) (*Gateway, error) {
	g := &Gateway{upstreams: map[string]*upstream{}, pending: map[string]*forwarded{}, offer: &offer{}, taskAfter: taskAfter}
	if o != nil {
		g.o = *o
	}
	if g.log = g.o.Logger; g.log == nil {
		g.log = slog.Default()
	}
	if g.o.Store == nil {
		g.o.Store = &memoryStore{records: map[string]*Record{}}
	}
	if g.o.Start == nil {
		g.o.Start = func(ctx context.Context, c *mcp.Command, o *mcp.ClientOptions) (*mcp.Client, error) {
			return c.Connect(ctx, o)
		}
	}
	if g.o.Search == nil {
		g.o.Search = absolute
	}
	if g.scratch, g.unscratch = g.o.Scratch, func() {}; g.scratch == nil {
		g.scratch, g.unscratch = temporary()
	}
	if g.o.Info.Name == "" {
		g.o.Info = mcp.Implementation{Name: "bossman", Version: "0"}
	}
	g.peers = newPeers(g)
	g.ctx, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, u := range upstreams {
		up := &upstream{Upstream: u, secret: newRedactor(&u), instances: map[string]*instance{}}
		g.upstreams[u.Name] = up
		if u.isRelay() { // the server has everything that there is to remember
			continue
		}
		r, err := g.o.Store.Load(ctx, u.Name)
		if err != nil {
			return nil, err
		}
		up.catalogue, up.pins = r.Catalogue, r.Pins
	}
	return g, nil
}

// pinPoll is how often approvals of other processes are looked for.
const pinPoll = 5 * time.Second

// Run starts upstreams whose lists are not known yet, and publishes what other processes approve. When
// ctx is done it stops all upstreams, and returns when they have ended.
func (g *Gateway) Run(ctx context.Context) error {
	defer g.stop()
	g.mu.Lock()
	g.running = true
	g.mu.Unlock()
	for _, u := range g.upstreams {
		if u.catalogue == nil {
			g.spawn(func(ctx context.Context) { g.discover(ctx, u) })
		}
	}
	tick := time.NewTicker(pinPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			g.Reload(ctx)
		}
	}
}

// discover reads the lists of an upstream that was never started. If it cannot be started, that is
// tried again as long as nobody succeeds.
func (g *Gateway) discover(ctx context.Context, u *upstream) {
	for {
		wait, known := g.discoverOnce(ctx, u)
		if known {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// firstPoll is how often a process looks whether another one has read the lists of an upstream.
const firstPoll = 200 * time.Millisecond

// discoverOnce tries to get the lists of an upstream that was never started, and says how long to wait if it has not got them. Of several
// processes one starts it, and the others read what that has stored.
func (g *Gateway) discoverOnce(ctx context.Context, u *upstream) (wait time.Duration, known bool) {
	isKnown := func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.catalogue != nil
	}
	if isKnown() {
		return 0, true
	}
	if s, ok := g.o.Store.(Firster); ok && !u.isRelay() {
		done, first, err := s.First(u.Name)
		if err == nil && first {
			defer done()
		}
		if err == nil { // another process has done it, or does it
			if g.reloadOne(ctx, u) {
				g.publish()
			}
			if known := isKnown(); known || !first {
				return firstPoll, known
			}
		}
	}
	i := g.instance(u, "")
	for {
		_, done, err := i.connect(ctx)
		if err == nil {
			done()
			return 0, true
		}
		if e, ok := errors.AsType[*startError](err); !ok || e.err != nil {
			break
		}
		// It is still being started: no other process should begin.
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return max(time.Until(i.retryAt), time.Second), false
}

// spawn runs f in the background, unless the gateway has stopped.
func (g *Gateway) spawn(f func(context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return false
	}
	g.wg.Go(func() { f(g.ctx) })
	return true
}

// Close stops all upstreams of a gateway that does not run. A second call does nothing.
func (g *Gateway) Close() {
	g.mu.Lock()
	stopped := g.stopped
	g.mu.Unlock()
	if !stopped {
		g.stop()
	}
}

func (g *Gateway) stop() {
	g.mu.Lock()
	g.stopped = true
	g.mu.Unlock()
	g.cancel()
	g.wg.Wait()
	if g.o.Stopped != nil {
		g.o.Stopped()
	}
	g.unscratch()
}

// instance returns the connection to an upstream for a principal.
func (g *Gateway) instance(u *upstream, principal string) *instance {
	if !g.o.Shared || u.Share == ShareAll {
		principal = ""
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	i := u.instances[principal]
	if i == nil {
		i = u.newInstanceLocked(g, principal)
		u.instances[principal] = i
	}
	return i
}

func (u *upstream) newInstanceLocked(g *Gateway, principal string) *instance {
	u.numbered++
	return &instance{g: g, u: u, key: principal, number: u.numbered, queue: queue{max: u.Max}}
}

// listed takes new lists of an upstream: it pins what is seen for the first time, and stores and
// publishes them if they differ from those that are known.
func (u *upstream) listed(ctx context.Context, g *Gateway, c *Catalogue, hashes map[item]string) error {
	u.mu.Lock()
	var fresh []Pin
	if (g.o.TrustFirst || u.TrustFirst) && !u.isRelay() {
		seen := map[item]bool{}
		for _, p := range u.pins {
			seen[item{string(p.Kind), p.Name}] = true
		}
		for kind, list := range c.pinned() {
			for _, definition := range list {
				name := nameOf(definition)
				if seen[item{string(kind), name}] || len(definition) > maxDefinition || suspicious(definition) != "" {
					continue
				}
				fresh = append(fresh, Pin{Kind: kind, Name: name, Hash: hashes[item{string(kind), name}], Definition: definition, At: c.ListedAt})
			}
		}
	}
	same := u.catalogue != nil && u.catalogue.equal(c)
	u.catalogue, u.pins = c, mergePins(u.pins, fresh)
	u.mu.Unlock()
	if len(fresh) > 0 {
		if err := g.o.Store.AddPins(ctx, u.Name, fresh...); err != nil {
			return err
		}
		g.log.Info("definitions were pinned when they were seen for the first time", "upstream", u.Name, "count", len(fresh))
	}
	if same && len(fresh) == 0 {
		return nil
	}
	if !u.isRelay() {
		if err := g.o.Store.SaveCatalogue(ctx, u.Name, c); err != nil {
			return err
		}
	}
	g.publish()
	return nil
}

// Reload reads approvals, and the lists of upstreams that another process runs.
func (g *Gateway) Reload(ctx context.Context) {
	changed := false
	for _, u := range g.upstreams {
		if g.reloadOne(ctx, u) {
			changed = true
		}
	}
	if changed {
		g.publish()
	}
}

func (g *Gateway) reloadOne(ctx context.Context, u *upstream) (changed bool) {
	if u.isRelay() {
		return false
	}
	r, err := g.o.Store.Load(ctx, u.Name)
	if err != nil {
		g.log.Warn("approvals cannot be read", "upstream", u.Name, "err", err)
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(r.Pins) != len(u.pins) || !slices.EqualFunc(r.Pins, u.pins, func(a, b Pin) bool { return a.Hash == b.Hash && a.By == b.By }) {
		u.pins, changed = r.Pins, true
	}
	if r.Catalogue != nil && (u.catalogue == nil || len(u.instances) == 0 && r.Catalogue.ListedAt.After(u.catalogue.ListedAt)) {
		u.catalogue, changed = r.Catalogue, true
	}
	return changed
}

// approved reports whether a definition was approved, and whether by a person.
func (u *upstream) approved(kind mcp.Kind, name, hash string) (ok, byHand bool) {
	if u.isRelay() {
		return true, false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, p := range u.pins {
		if p.Kind == kind && p.Name == name && p.Hash == hash {
			return true, p.By != ""
		}
	}
	return false, false
}

// pinned returns the definitions that must be approved.
func (c *Catalogue) pinned() map[mcp.Kind][]json.RawMessage {
	return map[mcp.Kind][]json.RawMessage{mcp.KindTool: c.Tools, mcp.KindPrompt: c.Prompts}
}

func (c *Catalogue) equal(o *Catalogue) bool {
	same := func(a, b json.RawMessage) bool { return string(a) == string(b) }
	return slices.EqualFunc(c.Tools, o.Tools, same) && slices.EqualFunc(c.Prompts, o.Prompts, same) &&
		slices.EqualFunc(c.Resources, o.Resources, same) && slices.EqualFunc(c.Templates, o.Templates, same)
}

// hashes returns the hash of each definition that must be approved, by kind and name.
func (c *Catalogue) hashes(volatile []string) map[item]string {
	out := map[item]string{}
	for kind, list := range c.pinned() {
		for _, definition := range list {
			if h, err := hashDefinition(definition, volatile); err == nil {
				out[item{string(kind), nameOf(definition)}] = h
			}
		}
	}
	return out
}

// A memoryStore is a Store that ends with the process.
type memoryStore struct {
	mu      sync.Mutex
	records map[string]*Record
}

func (s *memoryStore) Load(_ context.Context, upstream string) (*Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.records[upstream]; r != nil {
		return &Record{r.Catalogue, slices.Clone(r.Pins)}, nil
	}
	return &Record{}, nil
}

func (s *memoryStore) change(upstream string, f func(*Record)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[upstream] == nil {
		s.records[upstream] = &Record{}
	}
	f(s.records[upstream])
	return nil
}

func (s *memoryStore) SaveCatalogue(_ context.Context, upstream string, c *Catalogue) error {
	return s.change(upstream, func(r *Record) { r.Catalogue = c })
}

func (s *memoryStore) AddPins(_ context.Context, upstream string, pins ...Pin) error {
	return s.change(upstream, func(r *Record) { r.Pins = mergePins(slices.Clone(r.Pins), pins) })
}

// names returns the upstreams in order.
func (g *Gateway) names() []string { return slices.Sorted(maps.Keys(g.upstreams)) }
