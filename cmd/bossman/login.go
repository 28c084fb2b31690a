package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/server"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/oauth"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/remote"
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

func (a *app) login(ctx context.Context, name, machine string, browser bool) error {
	address, err := config.ServerURL(name)
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
		if key, err = server.RequestKey(ctx, b, machine, a.flags.Project); err != nil {
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
func (a *app) readKey(ctx context.Context, name string) (auth.Secret, error) {
	if console.IsTerminal(a.Stdin) {
		text, err := a.ReadSecret(ctx, fmt.Sprintf("Key for %s: ", name))
		return checkedKey([]byte(text), err)
	}
	return checkedKey(a.ReadFile(ctx, "-"))
}

func checkedKey(text []byte, err error) (auth.Secret, error) {
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if err := auth.CheckKey(key); err != nil && !server.IsSpareKey(key) {
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
