package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/internal/cli"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/server"
	"github.com/bossman-dev/bossman/telemetry"
	"github.com/spf13/cobra"
)

// defaultHTTP is the default address of the server.
const defaultHTTP = "127.0.0.1:8181"

// serveFlags are the flags of bossman serve.
type serveFlags struct {
	addr, admin             string
	cert, key               string
	hosts, origins, proxies []string
	issuer, audience        string
	grants, people          []string
	audit, level            string
	linger                  time.Duration
	url                     string
	pushLocal               bool
	connections             int
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve a board over HTTP", Args: cobra.NoArgs,
		Long: `Serve is the server of a team. It shows the board to people at /, and serves MCP at /mcp to
agents, and to laptops whose .bossman/config.toml names it; /livez and /readyz are health
checks for a load balancer.
With --db several replicas can run behind any load balancer.

Every client needs a key, from bossman key create. While there is none, and only this
machine can connect, the server prints a key for this run.

Each flag can also be set by an environment variable. docs/operate.md describes the way
from an empty machine to a production server.`,
		Example: `  bossman serve
  bossman serve --http :8181 --db postgres://bossman_app@db.example.org/bossman --host bossman.example.org
  BOSSMAN_DB=postgres://… BOSSMAN_HTTP=:8181 BOSSMAN_HOST=bossman.example.org bossman serve`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.ReadVariables(cmd.LocalNonPersistentFlags(), a.Getenv); err != nil {
				return err
			}
			return a.serveHTTP(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.addr, "http", defaultHTTP, "`address` to listen on")
	fl.StringVar(&f.admin, "admin", "", "second `address`, for metrics and profiles; no key is needed there")
	fl.StringVar(&f.cert, "tls-cert", "", "certificate `file` in PEM; reloaded when it changes, and on SIGHUP")
	fl.StringVar(&f.key, "tls-key", "", "private key `file` in PEM")
	fl.StringSliceVar(&f.hosts, "host", nil, "`name` that clients use for this server; repeatable or comma-separated")
	fl.StringSliceVar(&f.origins, "origin", nil, "`origin` of web pages that may use it, such as https://app.example.org; repeatable or comma-separated")
	fl.StringSliceVar(&f.proxies, "proxy", nil, "`address` or network of load balancers whose X-Forwarded-For is trusted, such as 10.0.0.0/8; repeatable or comma-separated")
	fl.IntVar(&f.connections, "max-connections", 0, "maximum `number` of connections; 0: 32,768, or what the limit of open files allows")
	fl.StringVar(&f.issuer, "oauth-issuer", "", "`URL` of an authorization server whose access tokens are accepted")
	fl.StringVar(&f.audience, "oauth-audience", "", "audience of those tokens: this server's own `URL`, https://bossman.example.org/mcp")
	fl.StringArrayVar(&f.grants, "oauth-grant", nil, "grant a role to tokens with this claim: `CLAIM=VALUE:PROJECT:ROLE`, such as groups=eng:web:lead; repeatable")
	fl.StringArrayVar(&f.people, "oauth-person", nil, "claim that only the tokens of people have: `CLAIM=VALUE`, such as groups=staff; without it no token is a person's; repeatable")
	fl.StringVar(&f.url, "url", "", "address of this server for people, `URL`, which notifications name; default: from --oauth-audience or --host")
	fl.BoolVar(&f.pushLocal, "push-local", false, "send notifications also to loopback and private addresses")
	fl.StringVar(&f.audit, "audit", "", "`file` to append a line to for each call that changes something; - is standard output")
	cli.LogLevel(cmd, &f.level)
	fl.DurationVar(&f.linger, "linger", 0, "how long to keep serving after a stop signal, so that load balancers can drain")
	config.DocumentVariables(fl)
	return cmd
}

// serveHTTP serves until ctx ends.
func (a *app) serveHTTP(ctx context.Context, f serveFlags) error {
	level, err := cli.ParseLevel(f.level)
	if err != nil {
		return err
	}
	log := telemetry.Logger(a.Err, level)
	slog.SetDefault(log)
	a.log = log
	if (f.cert == "") != (f.key == "") {
		return console.Usagef("--tls-cert and --tls-key must be used together")
	}
	files, err := server.OpenFiles(log, f.cert, f.key, f.audit)
	if err != nil {
		return err
	}
	defer files.Close()
	tel, err := telemetry.New(files.Telemetry(buildVersion().Version))
	if err != nil {
		return err
	}
	defer tel.Shutdown(context.WithoutCancel(ctx))
	a.observe(tel)
	o, err := a.openLocal(ctx)
	if _, none := errors.AsType[*config.NoBoardError](err); none {
		return console.Errorf(console.NotFound, "bossman serve --db postgres://… (or BOSSMAN_DB) for a team; --board DIRECTORY for a board in a file",
			"there is nothing to serve: no database is named, and there is no project here")
	}
	if err != nil {
		return err
	}
	if !o.server || f.issuer != "" {
		if err := a.RefuseAgent(); err != nil { // it would have a person's key, or say who is a person
			return err
		}
	}
	l, err := listen(f.addr, "--http")
	if err != nil {
		return err
	}
	defer l.Close()
	options := &server.Options{
		Logger: log, Telemetry: tel, Version: buildVersion().Version, BoardName: o.label, Hosts: f.hosts, Origins: f.origins,
		Issuer: f.issuer, Audience: f.audience, Linger: f.linger, MaxConnections: f.connections,
		URL: f.url, PushLocal: f.pushLocal,
	}
	if f.url != "" {
		if err := server.CheckURL(f.url); err != nil {
			return console.Usagef("--url: %w", err)
		}
	}
	if !o.server {
		options.Project = o.slug
	}
	if f.admin != "" {
		if options.Admin, err = listen(f.admin, "--admin"); err != nil {
			return err
		}
		defer options.Admin.Close()
	}
	if files.Certificate != nil {
		options.TLS = files.Certificate.TLS()
	}
	if options.Proxies, err = server.ParseProxies(f.proxies); err != nil {
		return console.Usagef("--proxy %w", err)
	}
	if options.Rules, err = parseGrants(f.grants); err != nil {
		return err
	}
	if options.Person, err = parsePeople(f.people); err != nil {
		return err
	}
	if err := a.serveGateway(ctx, o, options); err != nil {
		return err
	}
	s, err := server.New(ctx, o.local, o.store, l, options)
	if _, ok := errors.AsType[*server.NoKeyError](err); ok {
		return console.Errorf(console.Denied, "create one: bossman key create --project NAME --role lead --person YOU", "%w", err)
	}
	if err != nil {
		return err
	}
	if key := s.SpareKey(); key != "" {
		fmt.Fprintf(a.Err, "There are no keys yet. For this run, and from this machine:\n  %s\n", key.Reveal())
	}
	return s.Run(ctx)
}

// listen listens on the address that a flag names.
func listen(addr, flag string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l, nil
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // the rest is in our own text
	}
	next := "give " + flag + " an address of this machine, such as 127.0.0.1:8181 or :8181"
	if errors.Is(err, syscall.EADDRINUSE) {
		next = "stop the program that listens there, or choose another address with " + flag
	}
	return nil, console.Errorf(console.Unavailable, next, "listen on %s: %w", addr, err)
}

// parseGrants reads --oauth-grant: CLAIM=VALUE:PROJECT:ROLE.
func parseGrants(list []string) ([]auth.Rule, error) {
	var rules []auth.Rule
	for _, text := range list {
		match, rest, _ := strings.Cut(text, ":")
		claim, value, ok := strings.Cut(match, "=")
		project, role, ok2 := strings.Cut(rest, ":")
		r, err := auth.ParseRole(role)
		if !ok || !ok2 || err != nil || claim == "" || value == "" {
			return nil, console.Usagef("invalid --oauth-grant %q: want CLAIM=VALUE:PROJECT:ROLE, such as groups=eng:web:lead", text)
		}
		rules = append(rules, auth.Rule{Claim: claim, Value: value, Project: project, Role: r})
	}
	return rules, nil
}

// parsePeople reads --oauth-person: CLAIM=VALUE.
func parsePeople(list []string) ([]auth.Match, error) {
	var matches []auth.Match
	for _, text := range list {
		claim, value, ok := strings.Cut(text, "=")
		if !ok || claim == "" || value == "" {
			return nil, console.Usagef("invalid --oauth-person %q: want CLAIM=VALUE, such as groups=staff", text)
		}
		matches = append(matches, auth.Match{Claim: claim, Value: value})
	}
	return matches, nil
}
