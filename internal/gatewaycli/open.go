// Package gatewaycli is bossman gateway, and opens the gateway that the user's configuration
// describes.
package gatewaycli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/proc"
)

// A Place is what is configured, and where its state is.
type Place struct {
	// Sections are [upstream.NAME] of the user's file.
	Sections map[string]any
	// Ignored says why others are not among them; empty if there are none.
	Ignored string
	// State is the directory for lists, approvals, logs and ledgers.
	State string
	// TrustFirst pins definitions that are seen for the first time, as on a board in a file.
	TrustFirst bool
	// Relay is the server that has the board, if it may have a gateway; nil if it is no server's.
	Relay *gateway.Upstream
	// Board opens the board that has lists and approvals, of a server with a database; nil: they are files in State.
	Board func(context.Context) (*board.Board, error)
	// Self is the command line of this program that calls proc.RunMinder.
	Self []string
}

// Upstreams reads the configured upstreams.
func (p *Place) Upstreams() ([]gateway.Upstream, error) {
	list, err := gateway.ReadUpstreams(p.Sections, os.LookupEnv)
	if err != nil {
		return nil, console.WithNext(err, "correct it in your own config.toml; bossman config show names the file")
	}
	if len(list) > 0 && p.State == "" {
		return nil, fmt.Errorf("there is no place to remember what upstreams list: set HOME or XDG_STATE_HOME")
	}
	return list, nil
}

// Open returns the gateway to the configured upstreams, nil if there are none. Its processes end with
// this one. Options that are about files and processes are filled in. An upstream that is this program has
// no gateway: it would start itself without end.
func (p *Place) Open(ctx context.Context, o gateway.Options) (*gateway.Gateway, error) {
	if proc.InGroups() {
		return nil, nil
	}
	list, err := p.Upstreams()
	if err == nil && p.Relay != nil {
		list = append(list, *p.Relay)
	}
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if err := os.MkdirAll(p.State, 0o700); err != nil {
		return nil, err
	}
	ledgers := filepath.Join(p.State, "groups")
	if n := proc.EndLeft(ledgers); n > 0 && o.Logger != nil {
		o.Logger.Warn("processes of upstreams were ended that a killed process left", "groups", n)
	}
	groups := proc.NewGroups(p.Self, ledgers)
	empty := &scratch{root: filepath.Join(p.State, "run")}
	empty.clear()
	o.Scratch = empty.path
	programs := git.ProgramsOutside(o.Dir)
	o.Search = programs.List
	o.Stopped = func() {
		groups.End()
		empty.remove()
	}
	o.Authorize = p.authorize()
	o.Store, o.LogDir, o.TrustFirst = gateway.NewFileStore(p.State), p.State, p.TrustFirst
	if p.Board != nil {
		b, err := p.Board(ctx)
		if err != nil {
			return nil, err
		}
		o.Store = NewStore(b)
	}
	o.Start = func(ctx context.Context, c *mcp.Command, options *mcp.ClientOptions) (*mcp.Client, error) {
		mark, started := groups.Mark()
		c.Env = append(c.Env, mark)
		c.OnStart = func(child *os.Process) {
			if err := groups.Add(child.Pid); err != nil && o.Logger != nil {
				o.Logger.Warn("a process of an upstream is not minded", "pid", child.Pid, "err", err)
			}
		}
		client, err := c.Connect(ctx, options)
		started()
		if err != nil {
			groups.Prune()
			if _, left := programs.Look(c.Args[0]); left != nil && errors.Is(err, exec.ErrNotFound) {
				err = left // it may say why
			}
			return nil, err
		}
		go func() { // ends soon after the client is closed
			<-client.Done()
			for range 100 {
				if !groups.Prune() {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		}()
		return client, nil
	}
	return gateway.New(ctx, list, &o)
}

// View returns the gateway as it is stored, nil if no upstream is configured. It starts nothing.
func (p *Place) View(ctx context.Context) (*gateway.Gateway, error) {
	quiet := slog.New(slog.DiscardHandler)
	g, err := p.Open(ctx, gateway.Options{Logger: quiet})
	if g != nil {
		g.Attach(mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "0"}, &mcp.ServerOptions{Visible: g.Visible, Logger: quiet}))
	}
	return g, err
}

// Allowed reports whether the caller of a request may call tools of a class: viewers may only read. What
// needs a claim, the Guard decides.
func Allowed(ctx context.Context, class gateway.Class) bool {
	if class == gateway.ClassRead {
		return true
	}
	caller, ok := access.CallerFrom(ctx)
	return ok && caller.Role >= auth.Worker
}

// Visible joins the gateway's Visible and the board's. The gateway may be nil.
func Visible(g *gateway.Gateway, board visibleFunc) visibleFunc {
	if g == nil {
		return board
	}
	return func(ctx context.Context, r *mcp.Request, kind mcp.Kind, name string) bool {
		if g.Owns(kind, name) {
			return g.Visible(ctx, r, kind, name)
		}
		return board(ctx, r, kind, name)
	}
}

type visibleFunc = func(ctx context.Context, r *mcp.Request, kind mcp.Kind, name string) bool

// Complete joins the gateway's Complete and the board's. The gateway may be nil.
func Complete(g *gateway.Gateway, board complete) complete {
	if g == nil {
		return board
	}
	return func(ctx context.Context, c *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, error) {
		if res, ok, err := g.Complete(ctx, c, p); ok {
			return res, err
		}
		return board(ctx, c, p)
	}
}

type complete = func(ctx context.Context, c *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, error)
