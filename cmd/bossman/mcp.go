package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/cli"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/gatewaycli"
	"github.com/bossman-dev/bossman/internal/notify"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/tools"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// mcpFlags are the flags of bossman mcp.
type mcpFlags struct {
	role  string
	quiet bool
	level string
	join  bool
	list  string
}

func (a *app) mcpCommand() *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve MCP on standard input and output", Args: cobra.NoArgs,
		Long: `Mcp serves the board to one agent over standard input and output. This is the command
for a client's configuration. Only the protocol is written to standard output; log
messages go to standard error.

Connecting and reading create nothing; the first task creates the board.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveStdio(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.role, "role", auth.Lead.String(), "which tools the agent gets: lead (all), worker or viewer")
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "never prompt in the client; questions go to the inbox only")
	cmd.Flags().BoolVar(&f.join, "join", false, "under bossman work: serve the task that it gave this agent")
	cmd.Flags().StringVar(&f.list, "list", "auto", "how tools of other servers are listed: real, search, or auto (real for clients that load them on demand)")
	cli.LogLevel(cmd, &f.level)
	return cmd
}

// serveStdio serves MCP until the client disconnects.
func (a *app) serveStdio(ctx context.Context, f mcpFlags) error {
	if socket, _ := a.runner(); f.join || socket != "" {
		return a.join(ctx, socket)
	}
	level, err := cli.ParseLevel(f.level)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: level}))
	role, err := auth.ParseRole(cmp.Or(f.role, auth.Lead.String()))
	if err != nil || role == auth.Admin {
		return console.Usagef("--role is lead, worker or viewer, not %q", f.role)
	}
	work := &stdioWork{app: a, flags: f, role: role, log: log, notify: &notify.Notifier{Log: log}, opened: make(chan struct{})}
	defer work.close()
	local := access.Local(role) // until it is known whose board it is
	var t *tools.Tools
	gw := a.openGateway(ctx, log, f.list, "", &gatewaycli.Guard{Board: work.admits, Caller: work.caller, Quiet: work.quiet()})
	work.calls = gw != nil
	server := mcp.NewServer(
		mcp.Implementation{Name: "bossman", Title: "Bossman", Version: buildVersion().Version},
		&mcp.ServerOptions{
			Instructions: tools.Instructions(), Logger: log, Visible: gatewaycli.Visible(gw, tools.Visible), Extensions: map[string]any{tools.SkillsExtension: struct{}{}},
			Complete: gatewaycli.Complete(gw, func(ctx context.Context, c *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, error) {
				return t.Complete(ctx, c, p)
			}),
		},
	)
	defer server.Close()
	server.Use(tools.AuthorizeAs(local))
	t = tools.Register(server, nil, &tools.Options{Pipe: local, Logger: log, Open: work.open})
	if gw != nil {
		gw.Attach(server)
	}
	if err := t.Open(ctx); err != nil {
		// People do not see a client's stderr, so every tool answers with the error.
		log.Error("no board can be used", "err", err)
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-work.opened:
			return work.run(ctx)
		}
	})
	g.Go(func() error { return t.Run(ctx) })
	if gw != nil {
		g.Go(func() error { return gw.Run(ctx) })
	}
	log.Info("server started, reading requests from standard input", "version", buildVersion().Version, "role", role.String())
	defer log.Info("server stopped")
	g.Go(func() error {
		defer cancel() // end the others
		return server.Serve(ctx, mcp.Stdio(nil))
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// A stdioWork is what bossman mcp works on, once it could be opened.
type stdioWork struct {
	*app
	flags  mcpFlags
	role   auth.Role
	log    *slog.Logger
	notify *notify.Notifier
	opened chan struct{}
	look   inspector
	calls  bool // tools of other servers can be called

	// These are set before opened is closed.
	board   *openBoard
	agent   *access.Caller
	journal *board.Journal // of calls of other servers' tools; nil if there are none
}

// run does the board's background work.
func (w *stdioWork) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.board.Run(ctx) })
	if w.journal != nil {
		g.Go(func() error { return w.journal.Run(ctx) })
	}
	return g.Wait()
}

// admits is for gatewaycli.Guard, and so is caller.
func (w *stdioWork) admits() (gatewaycli.Board, *board.Journal) {
	select {
	case <-w.opened:
		if w.journal != nil {
			return w.board, w.journal
		}
	default:
	}
	return nil, nil
}

// quiet reports whether no person sits at the client.
func (w *stdioWork) quiet() bool { return w.flags.quiet || w.NoPersonAbove() }

func (w *stdioWork) caller() *access.Caller {
	select {
	case <-w.opened:
		return w.agent
	default:
		return nil
	}
}

// open is for tools.Options.
func (w *stdioWork) open(ctx context.Context) (access.Board, *tools.Options, error) {
	o, dir, err := w.openWork(ctx)
	if err != nil {
		if _, ok := errors.AsType[*config.NoBoardError](err); !ok { // whose text has the next step
			if next := console.NextOf(err); next != "" {
				err = fmt.Errorf("%w; next: %s", err, next)
			}
		}
		return nil, nil, err
	}
	agent := o.agent(w.role)
	agent.Shell = w.InAgentShell()
	w.agent = agent
	if w.calls {
		w.journal = board.NewJournal(o, func(err error) { w.log.Warn("calls cannot be recorded", "err", err) })
	}
	w.board, w.look, w.notify.Command = o, newInspector(dir, o.settings, w.Getenv), o.settings.Notify
	if o.store != nil {
		o.store.Attend(agent.Owner) // if this process is killed, its claims end at once
	}
	options := &tools.Options{
		Pipe: agent, Quiet: w.quiet(), Logger: w.log, Session: w.Getenv("CLAUDE_CODE_SESSION_ID"),
		Asked: w.notify.Asked, Inspector: w.look, Where: w.look.Here,
	}
	if o.firstWrite != nil && !o.server {
		options.Wrote = o.firstWrite
	}
	for _, text := range o.settings.Ignored {
		w.log.Warn("a line of the configuration is ignored", "line", text)
	}
	close(w.opened)
	return o, options, nil
}

func (w *stdioWork) close() {
	if w.board != nil {
		w.look.Runner.Close()
	}
	w.notify.Wait()
}

// join passes messages between the client and the bossman work that started it.
func (a *app) join(ctx context.Context, socket string) error {
	conn, err := dialRunner(ctx, socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	go func() {
		_, _ = io.Copy(conn, a.Stdin)
		if c, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite()
		}
	}()
	_, err = io.Copy(os.Stdout, conn)
	return err
}

// agent is the caller that tools see: the client's agent, on this board.
func (o *openBoard) agent(role auth.Role) *access.Caller {
	if o.me != nil {
		role = min(role, o.me.Role(o.slug))
	}
	c := access.Local(role, o.slugs()...)
	c.Project = o.slug
	if o.me != nil {
		c.Principal = o.me.ID
	}
	return c
}

// principal is who agents of this machine are on this board.
func (o *openBoard) principal() string { return o.agent(auth.Worker).Principal }

// slugs are the projects that agents of this process may use.
func (o *openBoard) slugs() []string {
	if !o.server || o.settings.IsSet("project") {
		if o.slug == "" {
			return nil
		}
		return []string{o.slug}
	}
	var out []string
	for _, p := range o.projects {
		out = append(out, p.Slug)
	}
	return out
}
