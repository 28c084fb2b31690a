package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/oauth"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/remote"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

func (a *app) loginCommand() *cobra.Command {
	var (
		machine string
		browser bool
	)
	cmd := &cobra.Command{
		Use: "login URL", Short: "Get a key for this machine from a server", Args: cobra.ExactArgs(1),
		Long: `Login makes a key for this machine, which belongs to you, and keeps it in your
configuration directory where only you can read it. It is sent to that server alone.

It asks for a key that you were given; on a pipe it reads it from standard input. A
key for an agent is kept as it is. With --browser it prints an address instead, where
you log in as your company does; nothing is opened.`,
		Example: "  bossman login https://bossman.example.org\n  bossman login https://bossman.example.org --browser",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.login(cmd.Context(), args[0], machine, browser)
		},
	}
	cmd.Flags().StringVar(&machine, "machine", "", "what the key is called; this machine's name if not given")
	cmd.Flags().BoolVar(&browser, "browser", false, "log in at the server's authorization server, by a browser")
	return cmd
}

func (a *app) login(ctx context.Context, server, machine string, browser bool) error {
	address, err := config.ServerURL(server)
	if err != nil {
		return err
	}
	credentials, err := config.LoadCredentials(a.Getenv)
	if err != nil {
		return err
	}
	var (
		key  auth.Secret
		dial func(context.Context) (*mcp.Client, error)
	)
	if browser {
		back, err := oauth.NewLoopback(a.showAddress)
		if err != nil {
			return err
		}
		defer back.Close()
		if dial, err = consent(ctx, address, back); err != nil {
			return err
		}
	} else {
		if key, err = a.readKey(ctx, config.ServerName(address)); err != nil {
			return err
		}
		dial = dialer(address, key)
	}
	b := remote.New(dial)
	defer b.Close()
	me, err := b.Whoami(ctx)
	if err != nil {
		return console.WithNext(err, "look whether the address is right, and the key still good")
	}
	if me.Person {
		if machine == "" {
			machine, _ = os.Hostname()
		}
		if key, err = newMachineKey(ctx, b, machine, a.flags.Project); err != nil {
			return err
		}
	}
	if err := credentials.SetKey(address, key); err != nil {
		return err
	}
	var roles []string
	for slug, role := range me.Roles {
		roles = append(roles, slug+" ("+role.String()+")")
	}
	if a.JSON {
		return a.PrintJSON(struct {
			Server string `json:"server"`
			Name   string `json:"name"`
			File   string `json:"file"`
		}{config.ServerName(address), me.Name, credentials.Path()})
	}
	a.Linef("This machine has a key for %s, as %s: %s.", config.ServerName(address), cmp.Or(me.Name, me.ID), cmp.Or(strings.Join(roles, ", "), "no project yet"))
	a.Linef("It is in %s. In a project, .bossman/config.toml with\n  board = %q\n  project = \"…\"\nmakes that server its board.", credentials.Path(), config.ServerName(address))
	return nil
}

// readKey asks for a key without showing it.
func (a *app) readKey(ctx context.Context, server string) (auth.Secret, error) {
	if console.IsTerminal(a.Stdin) {
		text, err := a.ReadSecret(ctx, fmt.Sprintf("Key for %s: ", server))
		return checkedKey([]byte(text), err)
	}
	return checkedKey(a.ReadFile(ctx, "-"))
}

func checkedKey(text []byte, err error) (auth.Secret, error) {
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if err := auth.CheckKey(key); err != nil && !strings.HasPrefix(key, sparePrefix) {
		return "", console.Errorf(console.Usage, "copy the whole key; it begins with bossman_", "that is not a key: %w", err)
	}
	return auth.Secret(key), nil
}

func (a *app) showAddress(address string) error {
	fmt.Fprintf(a.Stderr, "Open this address in a browser of this machine, and log in:\n\n  %s\n\nWaiting; Ctrl-C gives up.\n", address)
	return nil
}

// consent connects with a token that the person gets at the authorization server. It
// is used this once and not kept.
func consent(ctx context.Context, address *url.URL, back *oauth.Loopback) (func(context.Context) (*mcp.Client, error), error) {
	t, err := oauth.NewTransport(address.String(), &oauth.Options{ClientName: "Bossman", Authorize: back.Authorize, Redirect: back.Redirect()})
	if err != nil {
		return nil, err
	}
	if err := t.Login(ctx); err != nil {
		return nil, console.Errorf(console.Denied, "bossman login "+config.ServerName(address)+" asks for a key instead", "log in at %s: %w", config.ServerName(address), err)
	}
	return func(ctx context.Context) (*mcp.Client, error) {
		return connect(ctx, address, &streamable.ClientOptions{Transport: t})
	}, nil
}

type loginIn struct {
	Machine string `json:"machine"`
	Project string `json:"project,omitzero"`
}

type loginOut struct {
	Key string `json:"key"`
}

func newMachineKey(ctx context.Context, b *remote.Board, machine, project string) (auth.Secret, error) {
	raw, err := b.Send(ctx, access.Login, loginIn{machine, project})
	if err != nil {
		return "", err
	}
	var out loginOut
	if err := json.Unmarshal(raw, &out); err != nil || out.Key == "" {
		return "", errors.New("the server gave no key")
	}
	return auth.Secret(out.Key), nil
}

// machineKeyLife is how long a machine's key works without a new login.
const machineKeyLife = 180 * 24 * time.Hour

// serveLogin makes a key for a person's machine, with what the person's credential
// allows and nothing more.
func (s *httpServer) serveLogin(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
	p, ok := r.Principal.Value.(*auth.Principal)
	if !ok || !p.Person {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "only a person's credential makes keys for machines")
	}
	var in loginIn
	if err := json.Unmarshal(r.Params, &in); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the arguments cannot be read")
	}
	project := in.Project
	if project == "" {
		if _, every := p.Grants[auth.EveryProject]; every {
			project = auth.EveryProject
		} else if len(p.Grants) == 1 {
			for slug := range p.Grants {
				project = slug
			}
		} else {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "say which project, with --project")
		}
	}
	role := p.Role(project)
	if role == auth.None {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no project %.20q for you", project)
	}
	expires := time.Now().Add(machineKeyLife)
	if p.Key != "" && !p.Expires.IsZero() && p.Expires.Before(expires) {
		expires = p.Expires // a key that ends makes none that outlives it
	}
	_, secret, err := s.keys.CreateKey(ctx, auth.NewKey{
		Name: cmp.Or(p.Owner, p.Name) + " on " + cmp.Or(in.Machine, "a machine"), Owner: p.Owner, Person: true,
		Project: project, Role: role, Expires: expires,
	})
	if errors.Is(err, auth.ErrInvalid) {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%v", err)
	}
	if err != nil {
		return nil, err
	}
	return loginOut{secret.Reveal()}, nil
}
