package doctorcli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
)

// lookAtServer looks at a board on a server, and at this machine's key for it.
func (c *cli) lookAtServer(ctx context.Context, s *config.Settings) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.reach(ctx, s.Board); err != nil {
		c.fail("server", err, "check that the server is running, and that this machine can reach it")
		return
	}
	server, err := c.host.Server(ctx, s)
	switch code := console.CodeOf(c.host.Explain(err)); {
	case err != nil && code == console.Denied:
		c.fail("key", err, "bossman login "+console.ShellWords(s.Board))
	case err != nil:
		c.fail("server", err, "check that the server is running, and that this machine can reach it")
	case server.Role == "" && server.Project != "":
		c.problem("key", fmt.Sprintf("%s does not let %s use the project %s", server.Name, server.As, server.Project), "ask the administrator of the server for a role in the project")
	default:
		c.ok("server", server.Name)
		text := "as " + server.As
		if server.Role != "" {
			text += ", " + server.Role + " of " + cmp.Or(server.Project, "its projects")
		}
		c.ok("key", text)
	}
}

// reach returns why nothing listens at the address of a server. The client of the board would only try again until its time
// is over. Behind a proxy that cannot be told.
func (c *cli) reach(ctx context.Context, address string) error {
	u, err := config.ServerURL(address)
	if err != nil {
		return nil // which the client explains
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err != nil || proxy != nil {
		return nil
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	conn, err := (&net.Dialer{Timeout: patience / 2}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return fmt.Errorf("%s cannot be reached: %w", config.ServerName(u), err)
	}
	return conn.Close()
}

// lookAtKeys looks at the file of this machine's keys.
func (c *cli) lookAtKeys() {
	k, err := config.LoadCredentials(c.Getenv)
	if err == nil {
		return
	}
	path := config.CredentialsPath(c.Getenv)
	info, failed := os.Stat(path)
	if k == nil && failed == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 && console.CodeOf(err) == console.Denied && strings.HasPrefix(console.NextOf(err), "chmod") {
		c.repair("key", err.Error(), console.NextOf(err), func() (string, error) {
			return "only you can read " + c.tilde(path) + " now; if others could have read it, get new keys with bossman login", os.Chmod(path, 0o600)
		})
		return
	}
	if c.places.Home != "" {
		c.fail("key", err, "remove that file, and run bossman login again")
	}
}

// lookAtUpstreams looks at the other servers that are configured.
func (c *cli) lookAtUpstreams(ctx context.Context) {
	if c.settings == nil {
		return
	}
	place, err := c.host.Upstreams()
	if err != nil {
		c.fail("upstreams", err, "correct it in your own config.toml")
		return
	}
	list, err := place.Upstreams()
	if err != nil {
		c.fail("upstreams", err, "correct it in your own config.toml")
		return
	}
	if len(list) == 0 {
		return
	}
	g, err := place.Open(ctx, gateway.Options{Logger: slog.New(slog.DiscardHandler), Info: mcp.Implementation{Name: "bossman", Version: c.host.Version}})
	if err != nil || g == nil {
		if err != nil {
			c.fail("upstreams", err, "correct it in your own config.toml")
		}
		return
	}
	defer g.Close()
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, u := range list {
		if u.URL == "" && !c.start {
			continue
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 2*patience)
			defer cancel()
			errs[i] = g.Probe(ctx, u.Name)
		})
	}
	wg.Wait()
	for i, u := range list {
		c.lookAtUpstream(&u, errs[i])
	}
}

// lookAtUpstream looks at one server. failed is why it does not answer.
func (c *cli) lookAtUpstream(u *gateway.Upstream, failed error) {
	check := "upstream " + u.Name
	section := "[upstream." + u.Name + "] of your config.toml"
	if u.URL != "" {
		if failed != nil {
			c.problem(check, fmt.Sprintf("%s does not answer, so agents lack its tools: %s", u.URL, distinct(failed)), "start that server, or correct url and headers in "+section)
			return
		}
		c.ok(check, u.URL)
		return
	}
	if err := c.runnable(u.Command[0]); err != nil {
		c.problem(check, fmt.Sprintf("its program %s cannot be run, so agents lack its tools: %s", console.ShellWords(u.Command[0]), reason(err)), "install it, or correct command in "+section)
		return
	}
	switch {
	case failed != nil:
		c.problem(check, fmt.Sprintf("%s does not work, so agents lack its tools: %s", console.ShellWords(u.Command[0]), distinct(failed)), "bossman gateway logs "+u.Name+" shows what it said")
	case c.start:
		c.ok(check, "starts: "+console.ShellWords(u.Command...))
	default:
		c.ok(check, console.ShellWords(slices.Clone(u.Command)...)+" (not started: add --start)")
	}
}

// runnable returns an error if a program of an upstream cannot be run.
func (c *cli) runnable(program string) error {
	path, err := c.programs().Look(program)
	if err == nil {
		_, err = c.host.LookPath(path)
	}
	return err
}

// reason is the last part of an error: what was tried is said already.
func reason(err error) string {
	text := err.Error()
	return strings.TrimSpace(text[strings.LastIndex(text, ": ")+1:])
}

// distinct is the text of an error without lines that are repeated, and without the URL, which is said already.
func distinct(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		if _, after, found := strings.Cut(line, ": dial "); found {
			line = "dial " + after
		}
		if line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
