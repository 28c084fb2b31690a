package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/spf13/cobra"
)

// clientOptions are the flags that all commands of `bossman client` have.
type clientOptions struct {
	from    string
	trust   bool
	headers []string
	env     []string
	dir     string
	timeout time.Duration
	verbose bool
}

// clientNote is for the help of every command of `bossman client`.
const clientNote = `
The server comes first, or its command line last:

  URL …                  a server over HTTP
  --from CLIENT NAME …   a server that is set up for another client
  … -- COMMAND ARGS…     a program that is started and spoken to over its pipes

CLIENT is claude, claude-desktop, vscode, copilot, cursor, windsurf, crush, codex,
gemini, opencode, zed, goose or all. Without NAME the servers that it has are listed.
A server that only the project's own file names is not used without --trust: whoever
can push may have written it.

A program that is started sees PATH, HOME, LANG and TMPDIR of the environment, what its
entry says, and what --env names.`

// clientUsage is cobra's, without the flags that are about a board.
const clientUsage = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{else}}{{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
`

func (a *app) clientCommand() *cobra.Command {
	cmd := group("client", "Use any MCP server from the command line",
		a.clientTools(), a.clientCall(), a.clientRead(), a.clientPrompt(), a.clientWatch())
	cmd.Long = "Client talks to one MCP server: it lists, calls, reads and watches what it offers.\n" + clientNote
	cmd.Example = `  bossman client tools -- npx -y @modelcontextprotocol/server-everything
  bossman client call get-sum a=2 b=3 -- npx -y @modelcontextprotocol/server-everything
  bossman client call https://example.com/mcp search query='open issues'
  bossman client tools --from claude
  bossman client call --from claude github search_issues query=bug`
	cmd.SetUsageTemplate(clientUsage)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &console.Error{Code: console.Usage, Err: err, Next: "a server's command line goes behind --; " + cmd.CommandPath() + " --help"}
	})
	return cmd
}

// clientSub makes a command of `bossman client`.
func (a *app) clientSub(cmd *cobra.Command, run func(context.Context, *session, []string) error) *cobra.Command {
	var o clientOptions
	cmd.Long += "\n" + clientNote
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.runClient(cmd, &o, args, run)
	}
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "the `client` whose configuration has the server")
	f.BoolVar(&o.trust, "trust", false, "with --from: also servers of the project's own file")
	f.StringArrayVarP(&o.headers, "header", "H", nil, "for a URL: `'Name: value'`; ${VAR} is filled in from the environment, so that a secret need not stand here")
	f.StringArrayVarP(&o.env, "env", "e", nil, "for a program: `NAME=value`, or NAME to pass ours on")
	f.StringVar(&o.dir, "dir", "", "for a program: the `directory` it runs in")
	f.DurationVar(&o.timeout, "timeout", 0, "give up after this long, such as 30s")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show what the program writes to standard error, and debug messages")
	f.BoolVar(&a.JSON, "json", false, "answer in JSON, as the protocol has it")
	_ = cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(clientNames(), cobra.ShellCompDirectiveNoFileComp))
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if o.from == "" || len(args) > 0 {
			// What a server has is not asked: Tab must not start a program.
			return nil, cobra.ShellCompDirectiveDefault
		}
		return a.completeServer(o.from), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// withFiles adds the flag for results that are files.
func withFiles(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "out", "o", ".", "the `directory` for images, sound and other files")
}

func (a *app) runClient(cmd *cobra.Command, o *clientOptions, args []string, run func(context.Context, *session, []string) error) error {
	ctx := cmd.Context()
	var cancel context.CancelFunc = func() {}
	if o.timeout < 0 {
		return console.Usagef("--timeout is a time from now, such as 30s")
	}
	if o.timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, errTimedOut)
	}
	defer cancel()
	if o.from != "" && len(args) == 0 && cmd.ArgsLenAtDash() < 0 {
		return a.listConfigured(o.from)
	}
	s := &session{app: a, options: o, progress: a.Progress()}
	s.child = &childLog{progress: s.progress, verbose: o.verbose}
	t, rest, err := a.target(ctx, o, args, cmd.ArgsLenAtDash())
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

// A target is a server that was named: by its command or by its URL.
type target struct {
	// typed is how it was named on the command line, for advice.
	typed   string
	before  bool // typed stands before what is wanted of the server, not behind it
	command *mcp.Command
	url     string
	header  http.Header
}

// line is a command of `bossman client` for this server.
func (t *target) line(command, rest string) string {
	words := []string{"bossman client", command, t.typed, rest}
	if !t.before {
		words = []string{"bossman client", command, rest, t.typed}
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// target finds the server in what was typed, and what is left.
func (a *app) target(ctx context.Context, o *clientOptions, args []string, dash int) (*target, []string, error) {
	header, err := a.headers(o.headers)
	if err != nil {
		return nil, nil, err
	}
	env, err := environment(o.env)
	if err != nil {
		return nil, nil, err
	}
	var t *target
	switch {
	case dash >= 0:
		command := args[dash:]
		args = args[:dash]
		switch {
		case len(command) == 0:
			return nil, nil, console.Usagef("there is no command behind --")
		case o.from != "":
			return nil, nil, console.Usagef("the server is either --from %s or behind --", o.from)
		}
		t = &target{typed: "-- " + shellWords(command), command: &mcp.Command{Args: command}}
	case o.from != "":
		if t, err = a.configured(ctx, o.from, args[0], o.trust); err != nil {
			return nil, nil, err
		}
		args = args[1:]
	case len(args) > 0 && isURL(args[0]):
		t = &target{typed: shellWords(args[:1]), before: true, url: args[0], header: http.Header{}}
		args = args[1:]
	default:
		return nil, nil, console.Usagef("say which server: a URL first, --from CLIENT NAME, or -- and its command line at the end")
	}
	if t.command != nil {
		if len(header) > 0 {
			return nil, nil, console.Usagef("--header is for servers over HTTP")
		}
		t.command.Env = append(t.command.Env, env...)
		if o.dir != "" {
			t.command.Dir = o.dir
		}
		// A program is found from where we are, not from where it runs.
		if p := t.command.Args[0]; t.command.Dir != "" && o.dir != "" && strings.ContainsRune(p, filepath.Separator) && !filepath.IsAbs(p) {
			if t.command.Args[0], err = filepath.Abs(p); err != nil {
				return nil, nil, err
			}
		}
		return t, args, nil
	}
	if len(env) > 0 || o.dir != "" {
		return nil, nil, console.Usagef("--env and --dir are for programs, and %s is a server over HTTP", shownURL(t.url))
	}
	switch u, err := url.Parse(t.url); {
	case err != nil || u.Host == "":
		return nil, nil, console.Usagef("%s is not the address of a server", shownURL(t.url))
	case u.User != nil:
		return nil, nil, console.Errorf(console.Usage, "give them as --header 'Authorization: Basic ${CREDENTIALS}'", "%s has a name or a password before its host", shownURL(t.url))
	}
	for name, values := range header {
		t.header[name] = values
	}
	return t, args, nil
}

// headers reads --header, with variables.
func (a *app) headers(lines []string) (http.Header, error) {
	h := http.Header{}
	for _, l := range lines {
		name, value, ok := strings.Cut(l, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t\r\n") {
			return nil, console.Usagef("--header wants 'Name: value'")
		}
		var missing string
		value = braced(strings.TrimSpace(value), func(v string) string {
			s, ok := os.LookupEnv(v)
			if !ok {
				missing = v
			}
			return s
		})
		if missing != "" {
			return nil, console.Usagef("the header %s needs the variable %s, which is not set", name, missing)
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, console.Usagef("the header %s has a line end in it", name)
		}
		h.Add(name, value)
	}
	return h, nil
}

// braced fills in ${VAR}, and nothing else.
func braced(s string, value func(string) string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return out.String() + s
		}
		out.WriteString(before + value(name))
		s = after
	}
}

// environment reads --env.
func environment(lines []string) ([]string, error) {
	var out []string
	for _, l := range lines {
		name, _, set := strings.Cut(l, "=")
		if name == "" || strings.ContainsRune(l, 0) {
			return nil, console.Usagef("--env wants NAME=value or NAME")
		}
		if !set {
			v, ok := os.LookupEnv(name)
			if !ok {
				return nil, console.Usagef("--env %s: the variable is not set", name)
			}
			l = name + "=" + v
		}
		out = append(out, l)
	}
	return out, nil
}

func isURL(s string) bool { return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") }

// shellWords is a command line as one would type it.
func shellWords(words []string) string {
	var out []string
	for _, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !strings.ContainsRune("@%+=:,./-_", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// near are the names that somebody may have meant, the best first.
func near(name string, names []string) []string {
	type guess struct {
		name string
		off  int
	}
	var out []guess
	for _, n := range names {
		off := distance(strings.ToLower(name), strings.ToLower(n))
		if off <= max(2, len(name)/3) || len(name) > 2 && strings.Contains(strings.ToLower(n), strings.ToLower(name)) {
			out = append(out, guess{n, off})
		}
	}
	slices.SortStableFunc(out, func(a, b guess) int { return a.off - b.off })
	var best []string
	for _, g := range out[:min(3, len(out))] {
		best = append(best, g.name)
	}
	return best
}

// distance is how many letters must change to make a into b. Long names differ.
func distance(a, b string) int {
	const long = 100
	if len(a) > long || len(b) > long {
		return long
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := last
			if a[i] != b[j] {
				change++
			}
			last = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// unknown says that the server has no such thing, and what may have been meant.
func unknown(kind, name string, names []string, list string) error {
	next := list + " lists what there is"
	if best := near(name, names); len(best) > 0 {
		next = "did you mean " + strings.Join(best, " or ") + "? " + next
	} else if len(names) == 0 {
		next = fmt.Sprintf("the server has no %ss at all", kind)
	}
	return console.Errorf(console.NotFound, next, "the server has no %s %q", kind, name)
}
