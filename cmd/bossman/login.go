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
		Long: `Login creates a key for this machine, owned by you, and stores it in your configuration
directory, readable only by you. The key is sent to that server only.

It asks for a key that you were given, or reads it from standard input if that is not a
terminal. An agent's key is stored as it is. With --browser it prints a URL instead, where
you log in with your company's account; it opens no browser.`,
		Example: "  bossman login https://bossman.example.org\n  bossman login https://bossman.example.org --browser",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.login(cmd.Context(), args[0], machine, browser)
		},
	}
	cmd.Flags().StringVar(&machine, "machine", "", "name of the key (default: this machine's name)")
	cmd.Flags().BoolVar(&browser, "browser", false, "log in at the server's authorization server, in a browser")
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
		if dial, err = dialWithToken(ctx, address, back); err != nil {
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
		return console.WithNext(err, "check the address, and that the key is still valid")
	}
	if browser && !me.Person {
		return console.Errorf(console.Denied,
			"ask whoever runs the server to name a claim that only people's tokens have, with bossman serve --oauth-person CLAIM=VALUE; or log in with a key: "+config.LoginCommand(address),
			"no key was created: %s does not take the token of %s for a person's", config.ServerName(address), cmp.Or(me.Name, me.ID))
	}
	if me.Person {
		if machine == "" {
			machine, _ = os.Hostname()
		}
		if key, err = server.RequestKey(ctx, b, machine, a.flags.Project, credentials.Key(address)); err != nil {
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
	a.Field("", console.Text("This machine has a key for "+config.ServerName(address)+", as"), console.Text(cmp.Or(me.Name, me.ID)+": "+cmp.Or(strings.Join(roles, ", "), "no project yet")+"."))
	a.Linef("It is stored in %s. To use that server as a project's board, put into .bossman/config.toml:\n  board = %q\n  project = \"…\"", credentials.Path(), config.ServerName(address))
	return nil
}

// readKey asks for a key without showing it.
func (a *app) readKey(ctx context.Context, name string) (auth.Secret, error) {
	if console.IsTerminal(a.Stdin) {
		text, err := a.ReadSecret(ctx, fmt.Sprintf("Key for %s: ", name))
		return checkedKey([]byte(text), err)
	}
	return checkedKey(a.ReadFile(ctx, "-", console.MaxInput))
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
	fmt.Fprintf(a.Err, "Open this address in a browser on this machine and log in:\n\n  %s\n\nWaiting; Ctrl-C cancels.\n", address)
	return nil
}

// dialWithToken lets the person log in at the authorization server, and returns a function
// that connects with the token. The token is not stored.
func dialWithToken(ctx context.Context, address *url.URL, back *oauth.Loopback) (func(context.Context) (*mcp.Client, error), error) {
	t, err := oauth.NewTransport(address.String(), &oauth.Options{ClientName: "Bossman", Authorize: back.Authorize, Redirect: back.Redirect()})
	if err != nil {
		return nil, err
	}
	if err := t.Login(ctx); err != nil {
		return nil, console.Errorf(console.Denied, "to log in with a key instead: "+config.LoginCommand(address), "log in at %s: %w", config.ServerName(address), err)
	}
	return func(ctx context.Context) (*mcp.Client, error) {
		return connect(ctx, address, &streamable.ClientOptions{Transport: t})
	}, nil
}
