package mcpcli

import (
	"context"
	"time"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// options are the flags that all commands of `bossman client` have.
type options struct {
	from    string
	trust   bool
	headers []string
	env     []string
	dir     string
	timeout time.Duration
	verbose bool
}

// serverHelp is how a server is named, for the help of every command.
const serverHelp = `
Name the server first, or its command line last:

  URL …                  a server over HTTP
  --from CLIENT NAME …   a server from the configuration of another client
  … -- COMMAND ARGS…     a program to start, over its standard input and output

CLIENT is claude, claude-desktop, vscode, copilot, cursor, windsurf, crush, codex,
gemini, opencode, zed, goose or all. Without NAME its servers are listed. A server named
only in the project's own file requires --trust, because anyone who can push can change
that file.

A program gets the variables PATH, HOME, LANG and TMPDIR, those of its entry in the
configuration, and those that --env names.`

// usageTemplate is cobra's, without the flags that are about a board.
const usageTemplate = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{else}}{{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
`

// cli is `bossman client` on a console.
type cli struct {
	*console.Console
	version string
}

// Command returns `bossman client` with its subcommands. version is the program's, and
// is sent to servers.
func Command(out *console.Console, version string) *cobra.Command {
	c := &cli{Console: out, version: version}
	cmd := &cobra.Command{
		Use: "client", Short: "Use any MCP server from the command line", Args: cobra.NoArgs,
	}
	cmd.AddCommand(c.toolsCommand(), c.callCommand(), c.readCommand(), c.promptCommand(), c.watchCommand())
	cmd.Long = "Client talks to one MCP server: it lists, calls, reads and watches what it offers.\n" + serverHelp
	cmd.Example = `  bossman client tools -- npx -y @modelcontextprotocol/server-everything
  bossman client call get-sum a=2 b=3 -- npx -y @modelcontextprotocol/server-everything
  bossman client call https://example.com/mcp search query='open issues'
  bossman client tools --from claude
  bossman client call --from claude github search_issues query=bug`
	cmd.SetUsageTemplate(usageTemplate)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &console.Error{Code: console.Usage, Err: err, Next: "put a server's command line after --; " + cmd.CommandPath() + " --help"}
	})
	return cmd
}

// subcommand completes a command of `bossman client`, which calls run with a session.
func (c *cli) subcommand(cmd *cobra.Command, run func(context.Context, *session, []string) error) *cobra.Command {
	var o options
	cmd.Long += "\n" + serverHelp
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.run(cmd, &o, args, run)
	}
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "`client` whose configuration has the server")
	f.BoolVar(&o.trust, "trust", false, "with --from: also use servers of the project's own file")
	f.StringArrayVarP(&o.headers, "header", "H", nil, "for a URL: `'Name: value'`; ${VAR} is replaced from the environment, which keeps secrets off the command line")
	f.StringArrayVarP(&o.env, "env", "e", nil, "for a program: `NAME=value`, or NAME to pass on your own")
	f.StringVar(&o.dir, "dir", "", "for a program: `directory` to run it in")
	f.DurationVar(&o.timeout, "timeout", 0, "time limit, such as 30s")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show the program's standard error, and debug messages")
	f.BoolVar(&c.JSON, "json", false, "print the JSON of the protocol")
	_ = cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(clientNames(), cobra.ShellCompDirectiveNoFileComp))
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if o.from == "" || len(args) > 0 {
			// Completion must not start a program, so nothing is asked of a server.
			return nil, cobra.ShellCompDirectiveDefault
		}
		return console.Words(c.completeServer(o.from)), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// addOutFlag adds the flag for results that are files.
func addOutFlag(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "out", "o", "", "`directory` for images, sound and other files; default "+ownDir)
}

func (c *cli) run(cmd *cobra.Command, o *options, args []string, run func(context.Context, *session, []string) error) error {
	ctx := cmd.Context()
	var cancel context.CancelFunc = func() {}
	if o.timeout < 0 {
		return console.Usagef("--timeout must not be negative")
	}
	if o.timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, errTimedOut)
	}
	defer cancel()
	if o.from != "" && len(args) == 0 && cmd.ArgsLenAtDash() < 0 {
		return c.listConfigured(o.from)
	}
	s := &session{cli: c, options: o, progress: c.Progress()}
	s.child = &childLog{progress: s.progress, verbose: o.verbose}
	t, rest, err := c.findTarget(ctx, o, args, cmd.ArgsLenAtDash())
	if ctx.Err() != nil {
		return s.explain(ctx, ctx.Err())
	}
	if err != nil {
		return err
	}
	s.target = t
	if err := s.connect(ctx); err != nil {
		return s.explain(ctx, err)
	}
	defer s.close()
	err = s.explain(ctx, run(ctx, s, rest))
	s.progress.Clear()
	return err
}
