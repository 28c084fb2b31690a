package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/gatewaycli"
	"github.com/bossman-dev/bossman/internal/server"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// gatewayPlace reads which other servers are configured.
func (a *app) gatewayPlace() (*gatewaycli.Place, error) {
	s, err := a.settings()
	if err != nil {
		return nil, err
	}
	p := &gatewaycli.Place{Sections: s.Upstreams, Ignored: s.UpstreamsIgnored, TrustFirst: s.DB == ""}
	if dir := config.StateDir(a.Getenv); dir != "" {
		p.State = filepath.Join(dir, "gateway")
		if s.DB != "" { // a team's server has its own logs and processes
			p.State = filepath.Join(p.State, "server")
		}
	}
	if s.DB != "" {
		p.Board = func(ctx context.Context) (*board.Board, error) {
			o, err := a.openLocal(ctx)
			if err != nil {
				return nil, err
			}
			return o.local, nil
		}
	}
	self, err := os.Executable()
	p.Self = []string{self, "minder"}
	return p, err
}

// openGateway opens the gateway of bossman mcp, or of an agent of bossman work, nil if no other server is configured.
// Programs that run where the agent works run in dir, empty for that of this process.
func (a *app) openGateway(ctx context.Context, log *slog.Logger, list, dir string, guard *gatewaycli.Guard) *gateway.Gateway {
	p, err := a.gatewayPlace()
	if err != nil {
		log.Error("the tools of other servers cannot be used", "err", err)
		return nil // the board's own tools say what is wrong with the configuration
	}
	if p.Relay, err = a.relay(); err != nil {
		log.Error("the tools of the board's server cannot be used", "err", err)
	}
	g, err := p.Open(ctx, gateway.Options{
		Info:   mcp.Implementation{Name: "bossman", Title: "Bossman", Version: buildVersion().Version},
		Logger: log, List: list, Dir: dir, Allowed: gatewaycli.Allowed, Guard: guard, Artifact: guard.ReadArtifact,
	})
	if err != nil {
		log.Error("the tools of other servers cannot be used", "err", err)
		return nil
	}
	return g
}

// A workGateway makes the gateway of each agent of bossman work.
type workGateway struct {
	app     *app
	board   *openBoard
	journal *board.Journal
}

// bind returns the gateway of an agent with the claim of a hand-out, nil if no other server is configured. Its programs
// run until end is called; dir is the agent's worktree. A reviewer only reads.
func (w *workGateway) bind(ctx context.Context, log *slog.Logger, dir string, caller *access.Caller, h *board.Handout) (g *gateway.Gateway, run func() (end func())) {
	guard := &gatewaycli.Guard{Board: func() (gatewaycli.Board, *board.Journal) { return w.board, w.journal }, Caller: func() *access.Caller { return caller }, Quiet: true}
	if guard.ReadOnly = h.Claim.IsReview(); !guard.ReadOnly {
		guard.Bound = h.Claim.Handle
	}
	g = w.app.openGateway(ctx, log, "auto", dir, guard)
	return g, func() (end func()) {
		if g == nil {
			return func() {}
		}
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		ended := make(chan struct{})
		go func() {
			_ = g.Run(ctx)
			close(ended)
		}()
		return func() {
			cancel()
			<-ended
		}
	}
}

// relay returns the server that has the board, nil if none has. It may have a gateway, too.
func (a *app) relay() (*gateway.Upstream, error) {
	s, err := a.settings()
	if err != nil || s.DB != "" || !config.IsServer(s.Board) {
		return nil, err
	}
	address, err := config.ServerURL(s.Board)
	if err != nil {
		return nil, err
	}
	u := gateway.NewRelay(config.ServerName(address))
	u.Dial = func(ctx context.Context, o *mcp.ClientOptions) (*mcp.Client, error) {
		key, err := s.MachineKey(address)
		if err != nil {
			return nil, err
		}
		o.Revision = mcp.LatestRevision
		return streamable.Connect(ctx, address.String(), bearing(key), o)
	}
	return &u, nil
}

// serveGateway opens the gateway of bossman serve, if other servers are configured.
func (a *app) serveGateway(ctx context.Context, o *openBoard, options *server.Options) error {
	p, err := a.gatewayPlace()
	if err != nil {
		return err
	}
	journal := board.NewJournal(o.local, func(err error) { options.Logger.Warn("calls cannot be recorded", "err", err) })
	options.Journal = journal
	if p.Board != nil {
		p.Board = func(context.Context) (*board.Board, error) { return o.local, nil }
	}
	guard := &gatewaycli.Guard{Board: func() (gatewaycli.Board, *board.Journal) { return o.local, journal }}
	options.Gateway, err = p.Open(ctx, gateway.Options{
		Info:   mcp.Implementation{Name: "bossman", Title: "Bossman", Version: buildVersion().Version},
		Logger: options.Logger, Shared: true, Allowed: gatewaycli.Allowed, Guard: guard, Artifact: guard.ReadArtifact,
	})
	return err
}
