// Package installcli is bossman install, which adds Bossman to the configuration of MCP clients, and
// bossman init, which sets a repository up.
package installcli

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/bossman-dev/bossman/clientconfig"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

const (
	// entryName is the name of the server in the files of clients.
	entryName = "bossman"
	// keyVariable is the variable in which clients find the key for a server.
	keyVariable = "BOSSMAN_KEY"
)

// variables decide which board and which check bossman mcp uses. An entry passes on those that are set.
var variables = []string{"BOSSMAN_BOARD", keyVariable, "BOSSMAN_PROJECT", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}

// cli is the command on a console.
type cli struct {
	*console.Console
	flags *config.Flags
	// lookPath finds a program on the PATH.
	lookPath func(name string) (string, error)
	places   clientconfig.Places
}

// options are the flags of bossman install.
type options struct {
	scope                       string
	url                         string
	key, noHooks, agents        bool
	print, uninstall, overwrite bool
}

// Command returns bossman install. flags are those of the command line; lookPath finds a program on the PATH.
func Command(out *console.Console, flags *config.Flags, lookPath func(string) (string, error)) *cobra.Command {
	c := &cli{Console: out, flags: flags, lookPath: lookPath}
	var o options
	cmd := &cobra.Command{
		Use: "install CLIENT…", Short: "Add Bossman to the configuration of an agent",
		Long: `Install adds the MCP server bossman to the configuration file of each CLIENT: ` + strings.Join(clientNames(), ", ") + `.
The client itself is not started, and need not be there yet.

Only the entry is changed; comments and order stay as they are. A copy of the file from
before is kept beside it, with .before-bossman added to its name. With --uninstall the entry is
removed again; a file that was not changed otherwise is then the same as before, byte for byte.

The scope user is your own file, for all your projects; project is a file in the repository,
which its other users get as well. Claude Code also gets hooks: see bossman hook --help.`,
		Example: `  bossman install claude codex
  bossman install vscode --scope project
  bossman install claude --http https://bossman.example.org/mcp --key
  bossman install claude --uninstall`,
		ValidArgs: clientNames(),
		RunE:      func(_ *cobra.Command, args []string) error { return c.run(args, &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.scope, "scope", string(clientconfig.User), "whose file: user or project")
	f.StringVar(&o.url, "http", "", "the `URL` of a server to connect to, instead of starting bossman mcp")
	f.BoolVar(&o.key, "key", false, "with --http: send the key in the variable "+keyVariable+"; VS Code asks for it")
	f.BoolVar(&o.noHooks, "no-hooks", false, "for Claude Code: add no hooks")
	f.BoolVar(&o.agents, "agents-md", false, "also add a section about the board to the project's AGENTS.md")
	f.BoolVar(&o.print, "print", false, "show what would be written and where, and write nothing")
	f.BoolVar(&o.uninstall, "uninstall", false, "remove what was added")
	f.BoolVar(&o.overwrite, "force", false, "replace another entry of the same name")
	return cmd
}

func clientNames() (names []string) {
	for _, c := range clientconfig.Clients() {
		names = append(names, c.ID)
	}
	return names
}

func (c *cli) run(names []string, o *options) error {
	c.places = clientconfig.Here()
	clients, err := c.find(names, o)
	if err != nil {
		return err
	}
	if !o.print {
		if err := c.RefuseAgent(); err != nil {
			return err
		}
	}
	// Everything is planned before anything is written.
	for _, client := range clients {
		if _, err := c.plan(client, o); err != nil {
			return err
		}
	}
	section, err := c.section(o)
	if err != nil {
		return err
	}
	var report report
	for _, client := range clients {
		plans, err := c.plan(client, o) // two clients may have the same file
		if err != nil {
			return err
		}
		for _, p := range plans {
			if err := c.do(&report, client, p, o); err != nil {
				return err
			}
		}
		report.notes(c, client, o)
	}
	if section != nil {
		if err := c.do(&report, nil, section, o); err != nil {
			return err
		}
	}
	return c.print(&report, o)
}

// find returns the clients that are named, and checks the flags.
func (c *cli) find(names []string, o *options) ([]*clientconfig.Client, error) {
	if len(names) == 0 {
		var present []string
		for _, client := range clientconfig.Clients() {
			if client.Present(c.places) {
				present = append(present, client.ID)
			}
		}
		hint := ""
		if len(present) > 0 {
			hint = "; on this machine: " + strings.Join(present, ", ")
		}
		return nil, console.Usagef("name a client: %s%s", strings.Join(clientNames(), ", "), hint)
	}
	var clients []*clientconfig.Client
	for _, name := range names {
		client, ok := clientconfig.Find(name)
		if !ok {
			hint := ""
			if near := console.Near(name, clientNames()); len(near) > 0 {
				hint = "; did you mean " + strings.Join(near, " or ") + "?"
			}
			return nil, console.Usagef("unknown client %q: want one of %s%s", name, strings.Join(clientNames(), ", "), hint)
		}
		clients = append(clients, client)
	}
	switch scope := clientconfig.Scope(o.scope); {
	case scope != clientconfig.User && scope != clientconfig.Project:
		return nil, console.Usagef("unknown scope %q: want user or project", o.scope)
	case (scope == clientconfig.Project || o.agents) && c.places.Project == "":
		return nil, console.Usagef("there is no project here: change to the repository's directory")
	case o.key && o.url == "":
		return nil, console.Usagef("--key is for --http: a server that is started uses the key of bossman login")
	case c.flags.DB != "":
		return nil, console.Usagef("--db is for servers: agents connect to them with --http")
	}
	return clients, nil
}

// plan plans the changes of a client's files.
func (c *cli) plan(client *clientconfig.Client, o *options) ([]*clientconfig.Plan, error) {
	scope := clientconfig.Scope(o.scope)
	var plans []*clientconfig.Plan
	e, err := c.entry(client, o)
	switch {
	case err != nil:
	case o.uninstall:
		plans, err = client.Uninstall(c.places, scope, e)
	default:
		plans, err = client.Install(c.places, scope, e)
	}
	switch {
	case errors.Is(err, clientconfig.ErrOther):
		err = console.Errorf(console.Conflict, "to see what would be written, add --print; to replace the entry, add --force", "%w", err)
	case errors.Is(err, clientconfig.ErrUnsupported):
		err = console.Usagef("%w", err)
	case err != nil && console.CodeOf(err) == 0:
		err = console.Errorf(console.Failure, "", "%w", err)
	}
	return plans, err
}

// entry returns what is added for a client.
func (c *cli) entry(client *clientconfig.Client, o *options) (clientconfig.Entry, error) {
	e := clientconfig.Entry{Name: entryName, Replace: o.overwrite || o.print}
	if o.url != "" {
		if u, err := url.Parse(o.url); err == nil && u.User != nil {
			return e, console.Usagef("--http: a password in an address would be in the file: use --key")
		}
		u, err := config.ServerURL(o.url)
		if err != nil {
			return e, console.Usagef("--http: %w", err)
		}
		if e.URL = u.String(); o.key {
			e.KeyName = keyVariable
		}
		return e, nil
	}
	program, err := c.program(client.Desktop() && o.scope == string(clientconfig.User))
	if err != nil {
		return e, err
	}
	e.Args = []string{program, "mcp"}
	board := c.flags.Board
	if board == "" && client.Elsewhere() {
		board = c.places.Project
	}
	if board != "" {
		if !config.IsServer(board) {
			if board, err = filepath.Abs(board); err != nil {
				return e, err
			}
		}
		e.Args = append(e.Args, "--board", board)
	}
	if c.flags.Project != "" {
		e.Args = append(e.Args, "--project", c.flags.Project)
	}
	for _, name := range variables {
		if c.Getenv(name) != "" {
			e.Pass = append(e.Pass, name)
		}
	}
	if !o.noHooks {
		e.Hook = console.ShellWords(program) + " hook"
	}
	return e, nil
}

// program is how an entry names this program: by its name if that leads to it, unless the client may have
// another PATH than a shell.
func (c *cli) program(full bool) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	found, err := c.lookPath(entryName)
	if err != nil || !sameFile(found, exe) {
		return exe, nil
	}
	if full {
		return filepath.Abs(found)
	}
	return entryName, nil
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// section plans the section of AGENTS.md.
func (c *cli) section(o *options) (*clientconfig.Plan, error) {
	if !o.agents {
		return nil, nil
	}
	text := agentsText
	if o.uninstall {
		text = ""
	}
	p, err := clientconfig.Section(c.places.Project, "AGENTS.md", text)
	if err != nil {
		err = console.Errorf(console.Failure, "", "%w", err)
	}
	return p, err
}

// agentsText is the section of AGENTS.md.
const agentsText = `## Tasks

The work in this repository is on a task board, the MCP server bossman.

* Call get_next_task to get a task, and work on that task only. Without MCP, run bossman next.
* Report the result with report_task_done and its evidence, or with report_task_failed and the reason.
* If a person has to decide something, call ask_question. Do not guess.
* Add work that you find along the way with create_task.`

// do writes a plan, unless it is only shown, and reports it.
func (c *cli) do(r *report, client *clientconfig.Client, p *clientconfig.Plan, o *options) error {
	if !o.print {
		if err := p.Write(); err != nil {
			return console.Errorf(console.Failure, "nothing else was changed; run it again", "%w", err)
		}
	}
	r.add(client, p, c.places.Home, o)
	return nil
}

// tilde is a path with ~ for the home directory.
func tilde(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && home != "" {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// title is the name of a client, or of the file that all of them read.
func title(client *clientconfig.Client) string {
	if client == nil {
		return "AGENTS.md"
	}
	return cmp.Or(client.Title, client.ID)
}
