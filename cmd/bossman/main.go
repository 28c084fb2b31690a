// Command bossman gives a crew of AI agents their work, over MCP. docs/commands.md
// describes it.
package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/agentcli"
	"github.com/bossman-dev/bossman/internal/auditcli"
	"github.com/bossman-dev/bossman/internal/boardcli"
	"github.com/bossman-dev/bossman/internal/cli"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/configcli"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/crewcli"
	"github.com/bossman-dev/bossman/internal/doctorcli"
	"github.com/bossman-dev/bossman/internal/gatewaycli"
	"github.com/bossman-dev/bossman/internal/installcli"
	"github.com/bossman-dev/bossman/internal/keycli"
	"github.com/bossman-dev/bossman/internal/landcli"
	"github.com/bossman-dev/bossman/internal/mcpcli"
	"github.com/bossman-dev/bossman/telemetry"
	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

// run runs the command line and returns the exit code.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if dir, err := os.Getwd(); err == nil {
		git.WorksIn(dir)
	}
	a := newApp()
	cmd, err := a.root().ExecuteContextC(ctx)
	a.command = cmd.CommandPath()
	a.close()
	if ferr := a.Out.Flush(); err == nil {
		err = ferr
	}
	return int(a.Report(a.explain(err)))
}

// An app is one run of the program. Its methods are the commands, a file each.
type app struct {
	*console.Console

	flags config.Flags
	// parsed is set when the command line was understood: later errors are not about how
	// it was typed.
	parsed bool
	// command is what was run: bossman task show.
	command string
	// observers are told what the board and its database do.
	observers struct {
		board    board.Observer
		database func(op string, d time.Duration, err error)
	}
	// log is a server's; nil for other commands.
	log     *slog.Logger
	closers []func()
}

func newApp() *app {
	a := &app{Console: console.New(os.Stdin, os.Stdout, os.Stderr, os.Getenv)}
	a.Pager = page
	return a
}

func (a *app) root() *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:   "bossman",
		Short: "A task board for a crew of AI agents, over MCP",
		Long: `Bossman is a durable task board for AI agents: it hands out work, one holder at a
time, brings their questions to you, and remembers what happened.

Without a command it serves MCP if standard input is a pipe or a file, and shows the
board otherwise.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.parsed = true
			return cli.Check(cmd)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return a.showVersion()
			}
			if isInput(a.Stdin) && !a.JSON {
				return a.serveStdio(cmd.Context(), mcpFlags{})
			}
			return a.status(cmd.Context())
		},
	}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	f := root.PersistentFlags()
	f.StringVar(&a.flags.Board, "board", "", "the project's `directory`, or a board's .db file (BOSSMAN_BOARD)")
	f.StringVar((*string)(&a.flags.DB), "db", "", "a server's database, postgres://… (BOSSMAN_DB)")
	f.StringVar(&a.flags.Project, "project", "", "the project's short `name` (BOSSMAN_PROJECT)")
	f.BoolVar(&a.JSON, "json", false, "answer in JSON")
	root.Flags().BoolVar(&showVersion, "version", false, "print the version")
	root.AddCommand(
		a.mcpCommand(), a.statusCommand(), a.taskCommand(), a.inboxCommand(), a.answerCommand(),
		a.pauseCommand(), a.resumeCommand(), a.stopCommand(), a.projectCommand(), boardcli.Command(a.Console, a.boardStore, a.display), boardcli.Event(a.Console, a.erasing), configcli.Command(a.Console, a.settings, a.enforced), configcli.Trust(a.Console, a.settings, a.userName()), configcli.Link(a.Console, &a.flags),
		mcpcli.Command(a.Console, buildVersion().Version), a.migrateCommand(), a.serveCommand(), auditcli.Command(a.Console), a.loginCommand(), a.versionCommand(), crewcli.Command(a.Console, a.shop), crewcli.Minder(), landcli.Command(a.Console, a.yard, a.office), landcli.Guard(a.Console, a.office),
		gatewaycli.Command(a.Console, a.gatewayPlace, a.userName()),
	)
	root.AddCommand(installcli.Init(a.Console, &a.flags, lookPath, a.start), installcli.Command(a.Console, &a.flags, lookPath), doctorcli.Command(a.Console, a.patient()))
	root.AddCommand(a.releaseFilesCommand(root))
	root.AddCommand(keycli.Commands(a.Console, a.keyDesk, a.each)...)
	root.AddCommand(agentcli.Commands(a.Console, buildVersion().Version, a.desk)...)
	cli.Complete(root, func(ctx context.Context) (cli.Source, error) {
		o, err := a.open(ctx)
		if err != nil {
			return cli.Source{}, err
		}
		return cli.Source{Board: o, Project: o.slug, Projects: o.projects, Keys: o.keys}, nil
	})
	return root
}

// group returns a command that only has subcommands.
func group(use, short string, subcommands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(subcommands...)
	return cmd
}

// isInput reports whether f has the messages of a client: it is a pipe, a socket or a
// file, not a terminal and not /dev/null.
func isInput(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0)
}

// actor is who runs the command: a person, also in a script, or an agent in a person's shell.
// What only a person at a terminal may do calls RequirePerson first.
func (a *app) actor() board.Actor {
	if a.AgentVariable() == "" {
		return a.person()
	}
	name := a.userName()
	return board.Actor{Principal: "local", Owner: "shell:" + name, Name: name + "'s agent", Shell: true}
}

// person is the person who runs a command that agents may not run.
func (a *app) person() board.Actor {
	name := a.userName()
	return board.Actor{Principal: "local", Owner: "person:" + name, Name: name, Person: true}
}

// userName is the system's name of the user who runs the command.
func (a *app) userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return filepath.Base(u.Username)
	}
	return cmp.Or(a.Getenv("USER"), "local")
}

// settings reads the configuration.
func (a *app) settings() (*config.Settings, error) {
	s, err := config.Load(a.flags, a.Getenv)
	if err != nil {
		return nil, err
	}
	if p, err := s.Location(); err == nil {
		git.WorksIn(p.Root)
	}
	return s, nil
}

// lookPath finds a program that lies in no project in which this process works.
func lookPath(name string) (string, error) { return git.ProgramsOutside().Look(name) }

// observe lets telemetry observe boards that are opened later.
func (a *app) observe(t *telemetry.Telemetry) {
	a.observers.board, a.observers.database = t.BoardObserver(), t.Database()
}

// atExit calls f when the command has ended.
func (a *app) atExit(f func()) { a.closers = append(a.closers, f) }

func (a *app) close() {
	for _, f := range a.closers {
		f()
	}
	a.closers = nil
}
