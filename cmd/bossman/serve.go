package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/telemetry"
	"github.com/spf13/cobra"
)

// defaultHTTP is where the server listens unless it is told.
const defaultHTTP = "127.0.0.1:8181"

type httpOptions struct {
	addr, admin    string
	cert, key      string
	hosts, origins []string
	proxies        []string
	url, issuer    string
	grants         []string
	audit, level   string
	linger         time.Duration
}

func (a *app) serveCommand() *cobra.Command {
	var o httpOptions
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve a board over HTTP", Args: cobra.NoArgs,
		Long: `Serve is the server of a team. It serves MCP at /mcp to agents, and to the laptops
whose .bossman/config.toml names it; /livez and /readyz tell a load balancer how it
is. With --db several replicas may run side by side, behind any load balancer.

Everybody needs a key: bossman key create makes one. As long as there is none, and
only this machine can connect, a key for this run is printed.

Each flag has a variable, which counts if the flag is not given. docs/operate.md is
the way from an empty machine to a server that can be relied on.`,
		Example: `  bossman serve
  bossman serve --http :8181 --db postgres://bossman_app@db.example.org/bossman --host bossman.example.org
  BOSSMAN_DB=postgres://… BOSSMAN_HTTP=:8181 BOSSMAN_HOST=bossman.example.org bossman serve`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.ReadVariables(cmd.LocalNonPersistentFlags(), a.Getenv); err != nil {
				return err
			}
			return a.serveHTTP(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.addr, "http", defaultHTTP, "the `address` to listen on")
	f.StringVar(&o.admin, "admin", "", "a second `address`, for metrics and profiles; nobody is asked for a key there")
	f.StringVar(&o.cert, "tls-cert", "", "a certificate `file`, in PEM; it is read again when it changes")
	f.StringVar(&o.key, "tls-key", "", "the `file` of its key")
	f.StringSliceVar(&o.hosts, "host", nil, "a `name` that clients use for this server; repeat, or separate by commas")
	f.StringSliceVar(&o.origins, "origin", nil, "a web page's `origin`, such as https://app.example.org, that may use it; repeat, or separate by commas")
	f.StringSliceVar(&o.proxies, "proxy", nil, "an `address` or network of load balancers, such as 10.0.0.0/8, whose X-Forwarded-For is believed; repeat, or separate by commas")
	f.StringVar(&o.issuer, "oauth-issuer", "", "an authorization server whose access tokens are taken, by its `URL`")
	f.StringVar(&o.url, "oauth-audience", "", "what those tokens are made for: this server's own `URL`, https://bossman.example.org/mcp")
	f.StringArrayVar(&o.grants, "oauth-grant", nil, "grant a role to tokens with this claim: `CLAIM=VALUE:PROJECT:ROLE`, such as groups=eng:web:lead; repeat")
	f.StringVar(&o.audit, "audit", "", "a `file` that gets a line for each call that changes something")
	f.StringVar(&o.level, "log-level", "info", "the least serious messages to log: debug, info, warn or error")
	f.DurationVar(&o.linger, "linger", 0, "how long to keep serving after a stop signal, so that load balancers can drain")
	config.DocumentVariables(f)
	return cmd
}

// serveHTTP serves until ctx ends.
func (a *app) serveHTTP(ctx context.Context, so httpOptions) error {
	level := slog.LevelInfo
	if err := level.UnmarshalText([]byte(cmp.Or(so.level, "info"))); err != nil {
		return console.Usagef("--log-level is debug, info, warn or error, not %.20q", so.level)
	}
	log := telemetry.Logger(a.Stderr, level)
	slog.SetDefault(log)
	a.log = log
	tel, err := so.telemetry(log)
	if err != nil {
		return err
	}
	defer tel.Shutdown(context.WithoutCancel(ctx))
	a.observe(tel)
	o, err := a.openHere(ctx)
	if _, none := errors.AsType[*config.NoBoardError](err); none {
		return console.Errorf(console.NotFound, "bossman serve --db postgres://… (or BOSSMAN_DB) for a team; --board DIRECTORY for a board in a file",
			"there is nothing to serve: no database is named, and no project is here")
	}
	if err != nil {
		return err
	}
	l, err := listen(so.addr, "--http")
	if err != nil {
		return err
	}
	defer l.Close()
	var admin net.Listener
	if so.admin != "" {
		if admin, err = listen(so.admin, "--admin"); err != nil {
			return err
		}
		defer admin.Close()
	}
	if l, err = so.secure(l); err != nil {
		return err
	}
	s, err := a.newHTTPServer(ctx, o, so, l, tel, log)
	if err != nil {
		return err
	}
	return s.run(ctx, l, admin)
}

// listen listens where a flag says.
func listen(addr, flag string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l, nil
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // what it leaves out we say ourselves
	}
	next := "give " + flag + " an address of this machine, such as 127.0.0.1:8181 or :8181"
	if errors.Is(err, syscall.EADDRINUSE) {
		next = "end the program that listens there, or choose another address with " + flag
	}
	return nil, console.Errorf(console.Unavailable, next, "listen on %s: %w", addr, err)
}

// secure puts TLS around a listener, if there is a certificate.
func (o *httpOptions) secure(l net.Listener) (net.Listener, error) {
	if (o.cert == "") != (o.key == "") {
		return nil, console.Usagef("--tls-cert and --tls-key belong together")
	}
	if o.cert == "" {
		return l, nil
	}
	c := &certificate{certFile: o.cert, keyFile: o.key}
	if _, err := c.get(nil); err != nil {
		return nil, err
	}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"h2", "http/1.1"}}), nil
}

// telemetry begins to measure.
func (o *httpOptions) telemetry(log *slog.Logger) (*telemetry.Telemetry, error) {
	to := &telemetry.Options{Logger: log, Version: buildVersion().Version, Who: func(mp mcp.Principal) telemetry.Who {
		p, ok := mp.Value.(*auth.Principal)
		if !ok {
			return telemetry.Who{}
		}
		kind := "agent"
		if p.Person {
			kind = "person"
		}
		return telemetry.Who{Name: p.Name, Kind: kind, Key: p.Key}
	}}
	if o.audit != "" {
		f, err := os.OpenFile(o.audit, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the audit stream: %w", err)
		}
		to.Audit = f // as long as the process lives
	}
	return telemetry.New(to)
}

// auth is what was said about tokens, and about who passes requests on.
func (o *httpOptions) auth(log *slog.Logger) (*auth.Options, error) {
	behind, err := parseProxies(o.proxies)
	if err != nil {
		return nil, err
	}
	ao := &auth.Options{Logger: log, Issuer: o.issuer, Audience: o.url, ClientIP: behind.clientIP}
	for _, text := range o.grants {
		match, rest, _ := strings.Cut(text, ":")
		claim, value, ok := strings.Cut(match, "=")
		project, role, ok2 := strings.Cut(rest, ":")
		r, err := auth.ParseRole(role)
		if !ok || !ok2 || err != nil || claim == "" || value == "" {
			return nil, console.Usagef("--oauth-grant %q is not like groups=eng:web:lead", text)
		}
		ao.Rules = append(ao.Rules, auth.Rule{Claim: claim, Value: value, Project: project, Role: r})
	}
	if err := ao.Check(); err != nil {
		return nil, console.Usagef("%w", err)
	}
	return ao, nil
}

// isLocalAddress reports whether a URL leads to this machine.
func isLocalAddress(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
