// Package doctorcli is bossman doctor: it looks for what keeps Bossman from working on this machine, and names the fix
// of each fault.
//
//	configuration, board, owner, check   board.go
//	database, schema, clock, leases      database.go
//	clients' files and hooks             client.go
//	agents, git, worktrees, disk         machine.go
//	upstreams, server, key               network.go
//
// Nothing that a cloned repository brings is run. Only --fix changes anything.
package doctorcli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/clientconfig"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/gatewaycli"
	"github.com/spf13/cobra"
)

// A Host is what the program does for doctor.
type Host struct {
	// Version is that of this program.
	Version string
	// Settings reads the configuration.
	Settings func() (*config.Settings, error)
	// LookPath finds a program on the PATH.
	LookPath func(name string) (string, error)
	// Database opens the database of a server, which the settings name.
	Database func(ctx context.Context, s *config.Settings) (board.Store, error)
	// Server connects to the server that the settings name.
	Server func(ctx context.Context, s *config.Settings) (Server, error)
	// Upstreams reads which other servers are configured.
	Upstreams func() (*gatewaycli.Place, error)
	// Explain adds the next step to an error of the board.
	Explain func(error) error
}

// A Server is what a server says about this machine's key.
type Server struct {
	Name string // its address
	As   string // whose the key is
	// Project is the one that is configured, empty if none is. Role is the key's there, empty if it has none.
	Project, Role string
}

// cli is the command on a console.
type cli struct {
	*console.Console
	host   Host
	places clientconfig.Places
	exe    string // this program
	fix    bool
	start  bool

	settings *config.Settings // nil if they cannot be read
	location config.Location
	findings []*finding
}

// Command returns bossman doctor.
func Command(out *console.Console, host Host) *cobra.Command {
	var fix, start bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong with the set-up, and name the fix", Args: cobra.NoArgs,
		Long: `Doctor looks at the configuration, the board and its database, the files of agents that have
Bossman as a server, the agents on the PATH and whether they are logged in, other servers, git,
worktrees and the disk. It prints a line for each: ok, a note, or a problem with the command
that fixes it. The exit status is 1 if there are problems.

It changes nothing, and runs nothing of the repository. Of other servers it connects to those
with a URL, and starts those with a command only with --start.

With --fix it upgrades a board of an older version (a copy is kept), ends claims whose holders
are gone, and lets only you read your file of keys. It says what it did, and deletes no work.`,
		Example: "  bossman doctor\n  bossman doctor --fix",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if fix {
				if err := out.RefuseAgent(); err != nil {
					return err
				}
			}
			c := &cli{Console: out, host: host, places: clientconfig.Here(), fix: fix, start: start}
			return c.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "fix what can be fixed safely, and say what was done")
	cmd.Flags().BoolVar(&start, "start", false, "also start the other servers that have a command, to see whether they work")
	return cmd
}

// A state is how a thing that was looked at is.
type state string

const (
	ok      state = "ok"
	note    state = "note"    // worth knowing
	problem state = "problem" // something does not work
	fixed   state = "fixed"   // it was a problem until now
)

// A finding is the answer of one check.
type finding struct {
	Check string `json:"check"`
	State state  `json:"state"`
	// Text says how it is, and if it is a problem, why that is one.
	Text string `json:"text"`
	// Fix is a command, or what to do.
	Fix string `json:"fix,omitzero"`
	// Fixable is set if --fix fixes it.
	Fixable bool `json:"fixable,omitzero"`
}

func (c *cli) add(f *finding) *finding {
	f.Text, f.Fix = console.OneLine(strings.TrimSuffix(strings.TrimSpace(f.Text), ".")), console.OneLine(f.Fix)
	c.findings = append(c.findings, f)
	return f
}

func (c *cli) ok(check, text string) { c.add(&finding{Check: check, State: ok, Text: text}) }
func (c *cli) note(check, text, fix string) {
	c.add(&finding{Check: check, State: note, Text: text, Fix: fix})
}

func (c *cli) problem(check, text, fix string) {
	c.add(&finding{Check: check, State: problem, Text: text, Fix: fix})
}

// fail adds a problem for an error, with its next step or otherwise.
func (c *cli) fail(check string, err error, otherwise string) {
	fix := console.NextOf(c.host.Explain(err))
	if fix == "" || strings.HasSuffix(fix, "--help") {
		fix = otherwise
	}
	c.problem(check, err.Error(), fix)
}

// repair adds a problem that --fix fixes with f, which says what it did.
func (c *cli) repair(check, text, fix string, f func() (said string, err error)) bool {
	found := c.add(&finding{Check: check, State: problem, Text: text, Fix: fix, Fixable: true})
	if !c.fix {
		return false
	}
	said, err := f()
	if err != nil {
		found.Text += "; it could not be fixed: " + console.OneLine(err.Error())
		return false
	}
	found.State, found.Text, found.Fix = fixed, console.OneLine(said), ""
	return true
}

func (c *cli) run(ctx context.Context) error {
	exe, err := os.Executable()
	if err == nil {
		c.exe = exe
	}
	progress := c.Progress()
	for _, part := range []struct {
		name string
		look func(context.Context)
	}{
		{"the board", c.lookAtBoard},
		{"the files of agents", c.lookAtClients},
		{"the agents", c.lookAtAgents},
		{"git", c.lookAtGit},
		{"other servers", c.lookAtUpstreams},
		{"the disk", c.lookAtDisk},
	} {
		if progress.Terminal() && !c.JSON {
			progress.Set("looking at " + part.name + " …")
		}
		part.look(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	progress.Clear()
	return c.print()
}

type reportJSON struct {
	OK       bool       `json:"ok"`
	Version  string     `json:"version"`
	Program  string     `json:"program"`
	Findings []*finding `json:"findings"`
}

func (c *cli) print() error {
	problems, fixable := 0, 0
	for _, f := range c.findings {
		if f.State == problem {
			problems++
			if f.Fixable && !c.fix {
				fixable++
			}
		}
	}
	if c.JSON {
		if err := c.PrintJSON(reportJSON{problems == 0, c.host.Version, c.exe, c.findings}); err != nil {
			return err
		}
	} else {
		c.lines()
	}
	if problems == 0 {
		if !c.JSON {
			c.Linef("")
			c.Linef("%s", c.Styled(console.Green, "Everything works."))
		}
		return nil
	}
	next := ""
	if fixable > 0 {
		next = "bossman doctor --fix fixes " + console.Count(fixable, "problem") + " of these; the others need you"
		if fixable == problems {
			next = "bossman doctor --fix"
		}
	}
	return &console.Error{Code: console.Failure, Err: errors.New(console.Count(problems, "problem") + " found"), Next: next}
}

// lines prints the findings: state, what was looked at, and how it is. What follows on further lines never begins in the
// first two columns, so no text of others looks like a line of ours.
func (c *cli) lines() {
	c.Field("", console.Bold.Cell("bossman "+c.host.Version), console.Dim.Cell(c.tilde(c.exe)))
	c.Linef("")
	const states = len("problem")
	names := 0
	for _, f := range c.findings {
		names = max(names, console.TextWidth(f.Check))
	}
	width := 0
	if c.Width() > 0 {
		width = max(30, c.Width()-states-names-len("    "))
	}
	put := func(state console.Cell, name console.Cell, text string) {
		for _, line := range console.WrapLines(text, width) {
			c.Linef("%s  %s  %s", c.padded(state, states), c.padded(name, names), line)
			state, name = console.Cell{}, console.Cell{}
		}
	}
	for _, f := range c.findings {
		style := map[state]console.Style{ok: console.Green, note: console.Yellow, problem: console.Red, fixed: console.Cyan}[f.State]
		put(style.Cell(string(f.State)), console.Bold.Cell(f.Check), f.Text)
		if f.Fix != "" {
			put(console.Cell{}, console.Dim.Cell("fix"), f.Fix)
		}
	}
}

// padded is a cell with spaces up to a width.
func (c *cli) padded(cell console.Cell, width int) string {
	return c.Styled(cell.Style, cell.Text) + strings.Repeat(" ", max(0, width-console.TextWidth(cell.Text)))
}

// tilde is a path with ~ for the home directory.
func (c *cli) tilde(path string) string {
	if rest, ok := strings.CutPrefix(path, c.places.Home+string(filepath.Separator)); ok && c.places.Home != "" {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}
