package mcpcli

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
)

// A target is the server that a command line names: a command to start, or a URL.
type target struct {
	// typed is how the command line names it, for next steps, and before is set if that
	// comes before the other arguments.
	typed   string
	before  bool
	command *mcp.Command
	url     string
	header  http.Header
}

// line is a command line of `bossman client` for this server.
func (t *target) line(command, rest string) string {
	words := []string{"bossman client", command, t.typed, rest}
	if !t.before {
		words = []string{"bossman client", command, rest, t.typed}
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// findTarget returns the server that the arguments name, and the other arguments. dash is
// the index of the first argument after --, negative if there is none.
func (c *cli) findTarget(ctx context.Context, o *options, args []string, dash int) (*target, []string, error) {
	header, err := c.headers(o.headers)
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
			return nil, nil, console.Usagef("there is no command after --")
		case o.from != "":
			return nil, nil, console.Usagef("name the server with --from %s or after --, not both", o.from)
		}
		t = &target{typed: "-- " + console.ShellWords(command...), command: &mcp.Command{Args: command}}
	case o.from != "":
		if t, err = c.configured(ctx, o.from, args[0], o.trust); err != nil {
			return nil, nil, err
		}
		args = args[1:]
	case len(args) > 0 && isURL(args[0]):
		t = &target{typed: console.ShellWords(args[:1]...), before: true, url: args[0], header: http.Header{}}
		args = args[1:]
	default:
		return nil, nil, console.Usagef("name the server: a URL first, --from CLIENT NAME, or -- and its command line at the end")
	}
	if t.command != nil {
		if len(header) > 0 {
			return nil, nil, console.Usagef("--header is for servers over HTTP")
		}
		t.command.Env = slices.Concat(t.command.Env, env, c.AgentEnvironment()) // a child of an agent stays one
		if o.dir != "" {
			t.command.Dir = o.dir
		}
		// A relative path is relative to this directory, not to --dir.
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
		return nil, nil, console.Errorf(console.Usage, "send them as --header 'Authorization: Basic ${CREDENTIALS}'", "%s has a user name or password before the host", shownURL(t.url))
	}
	for name, values := range header {
		t.header[name] = values
	}
	return t, args, nil
}

// headers parses --header, with variables.
func (c *cli) headers(lines []string) (http.Header, error) {
	h := http.Header{}
	for _, l := range lines {
		name, value, ok := strings.Cut(l, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t\r\n") {
			return nil, console.Usagef("invalid --header: want 'Name: value'")
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
			return nil, console.Usagef("the header %s contains a line break", name)
		}
		h.Add(name, value)
	}
	return h, nil
}

// braced replaces ${VAR}, and nothing else.
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

// environment parses --env.
func environment(lines []string) ([]string, error) {
	var out []string
	for _, l := range lines {
		name, _, set := strings.Cut(l, "=")
		if name == "" || strings.ContainsRune(l, 0) {
			return nil, console.Usagef("invalid --env: want NAME=value or NAME")
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
