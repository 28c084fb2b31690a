package main

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/crew"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/agentcli"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/crewcli"
	"github.com/bossman-dev/bossman/internal/gatewaycli"
	"github.com/bossman-dev/bossman/internal/notify"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/land"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/tools"
	"golang.org/x/sync/errgroup"
)

// shop opens the board and the repository for bossman work.
func (a *app) shop(ctx context.Context) (*crewcli.Shop, error) {
	o, slug, err := a.openProject(ctx)
	if err != nil {
		return nil, err
	}
	dir, repo, err := o.repository()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	state := cmp.Or(config.StateDir(a.Getenv), filepath.Join(repo.Common, "bossman"))
	trusted, err := o.settings.CheckAt(dir)
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	told := &notify.Notifier{Log: log, Command: o.settings.Notify}
	runner := newCheckRunner(a.Getenv)
	var onto crew.Target
	var target board.Target
	p, err := o.Project(ctx, slug)
	if err == nil && p.Land != "" {
		if target, err = board.ParseTarget(p.Land); err == nil {
			onto = land.NewSource(o, slug, repo, target, o.accepts(dir))
		}
	}
	calls := &workGateway{a, o, board.NewJournal(o, func(err error) { log.Warn("calls cannot be recorded", "err", err) })}
	limits := crew.DefaultLimits
	limits.Cost, limits.Day = o.settings.Budget.Task, o.settings.Budget.Day
	return &crewcli.Shop{
		Options: crew.Options{
			Board: o, Project: slug, Principal: o.principal(), Repo: repo, Onto: onto, Target: target, State: state, Accept: o.accepts(dir),
			AsCommands: agentcli.AsCommands, Self: []string{self, "minder"}, Environ: os.Environ(), Limits: limits,
			Setup: func() ([]string, []string, bool, error) { return o.settings.SetupAt(dir) },
			Seat: func(tree string, reviews bool) crew.Seat {
				return o.seat(tree, repo.Common, reviews, runner, told, calls, log)
			},
		},
		Lander: func(ctx context.Context) (land.Options, string, error) {
			return o.lander(ctx, a.actor(), slug, dir, repo, runner)
		},
		Policy:    p.Policy,
		Untrusted: trusted.InForce == nil && trusted.Proposed != nil,
		Run: func(ctx context.Context) error {
			g, ctx := errgroup.WithContext(ctx)
			g.Go(func() error { return o.Run(ctx) })
			g.Go(func() error { return calls.journal.Run(ctx) })
			return g.Wait()
		},
		Close: func() {
			runner.Close()
			told.Wait()
		},
	}, nil
}

// repository returns the directory of the work and its repository.
func (o *openBoard) repository() (string, *git.Repo, error) {
	dir, err := o.settings.WorkDir()
	if err != nil {
		return "", nil, err
	}
	repo, err := git.Find(dir)
	if err != nil || repo.Foreign != "" {
		return "", nil, console.Errorf(console.Usage, "run it in the repository of the project", "work is done and landed in a git repository, and %q is in none", dir)
	}
	return dir, repo, nil
}

// seat makes the worker of a slot.
func (o *openBoard) seat(dir, common string, reviews bool, runner *check.Runner, told *notify.Notifier, others *workGateway, log *slog.Logger) crew.Seat {
	role := auth.Worker
	if reviews {
		role = auth.Lead
	}
	caller := o.agent(role)
	if o.store != nil {
		o.store.Attend(caller.Owner)
	}
	look := inspectorOf(dir, common, "", o.settings, runner)
	return crew.Seat{
		Actor: caller.Actor, Where: look.Here,
		Bind: func(ctx context.Context, h *board.Handout, begins string, store crew.Store) crew.Bound {
			own := *caller
			own.Worker = h.Claim.Worker.Name
			gw, run := others.bind(ctx, log, dir, &own, h)
			server := mcp.NewServer(
				mcp.Implementation{Name: "bossman", Title: "Bossman", Version: buildVersion().Version},
				&mcp.ServerOptions{Instructions: tools.Instructions(), Logger: log, Visible: gatewaycli.Visible(gw, tools.Visible)},
			)
			server.Use(tools.AuthorizeAs(&own))
			var calls atomic.Int32
			server.Use(func(next mcp.Handler) mcp.Handler {
				return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
					if r.Method != "subscriptions/listen" { // that one stays open, whatever its agent does
						calls.Add(1)
						defer calls.Add(-1)
					}
					return next(ctx, r)
				}
			})
			var watch atomic.Pointer[func(board.Question)]
			asked := func(q board.Question) {
				told.Asked(q)
				if f := watch.Load(); f != nil {
					(*f)(q)
				}
			}
			var last atomic.Pointer[tools.CheckResult]
			t := tools.Register(server, o, &tools.Options{
				Inspector: judged{look, &last}, Keep: store, Reviews: reviews, Where: look.Here, CheckWait: checkTime, Quiet: true, Logger: log, Asked: asked,
			})
			if gw != nil {
				gw.Attach(server)
			}
			end := run()
			text := t.Bind(ctx, &own, h, begins)
			return crew.Bound{
				Text: text, Task: crewcli.TaskFile(ctx, o, h), Settled: t.Settled, Calls: func() int { return int(calls.Load()) },
				Watch:    func(f func(board.Question)) { watch.Store(&f) },
				Unjudged: judged{last: &last}.unjudged,
				Serve: func(ctx context.Context, conn io.ReadWriteCloser) {
					if err := server.Serve(ctx, jsonrpc.Lines(conn, conn, jsonrpc.Limits{})); err != nil && ctx.Err() == nil {
						log.Debug("an agent's connection ended", "err", err)
					}
				},
				Close: func() { server.Close(); end(); runner.Stop(dir) },
			}
		},
	}
}

// judged is an inspector that keeps what the last check of a report came to.
type judged struct {
	inspector
	last *atomic.Pointer[tools.CheckResult]
}

// Check implements tools.Inspector.
func (j judged) Check(ctx context.Context, w board.Work, d time.Duration, waiting func(took time.Duration, behind string) bool) (tools.CheckResult, error) {
	res, err := j.inspector.Check(ctx, w, d, waiting)
	if err == nil {
		j.last.Store(&res)
	}
	return res, err
}

// unjudged says why the last check could not judge the work; see crew.Bound.
func (j judged) unjudged() (why string, counted bool) {
	res := j.last.Load()
	if res == nil {
		return "", false
	}
	switch res.State {
	case tools.CheckStopped:
		if res.Late {
			return res.Reason, false
		}
	case tools.CheckChanged:
		return "files changed while it ran", true
	case tools.CheckNotJudged:
		return res.Reason, true
	}
	return "", false
}

// checkTime is how long a report waits for its check.
const checkTime = check.DefaultTimeout * 2
