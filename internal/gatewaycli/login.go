package gatewaycli

import (
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"sync"

	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/mcp/oauth"
	"github.com/spf13/cobra"
)

// tokens opens the directory of the operator's tokens, which only its owner can read.
func (p *Place) tokens() (*oauth.Files, error) {
	return oauth.OpenFiles(filepath.Join(p.State, "tokens"))
}

// authorize returns a function for gateway.Options. Nobody is asked: that is done by bossman gateway login.
func (p *Place) authorize() func(gateway.Upstream, http.RoundTripper) (http.RoundTripper, error) {
	tokens := sync.OnceValues(p.tokens)
	return func(u gateway.Upstream, base http.RoundTripper) (http.RoundTripper, error) {
		files, err := tokens()
		if err != nil {
			return nil, err
		}
		return oauth.NewTransport(u.URL, &oauth.Options{Base: base, Store: files, ClientName: "Bossman"})
	}
}

func (c *command) login() *cobra.Command {
	return &cobra.Command{
		Use: "login UPSTREAM", Short: "Log in to an upstream that requires a person's consent", Args: cobra.ExactArgs(1),
		Long: `Login shows an address at which you allow Bossman to use the upstream on your behalf. The token is stored in a
directory that only you can read, and renewed by itself. Agents never see it, but they use the upstream as you.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := c.RefuseAgent(); err != nil {
				return err
			}
			place, err := c.load()
			if err != nil {
				return err
			}
			list, err := place.Upstreams()
			if err != nil {
				return err
			}
			i := slices.IndexFunc(list, func(u gateway.Upstream) bool { return u.Name == args[0] })
			if i < 0 {
				return console.Errorf(console.NotFound, "bossman gateway list shows what there is", "there is no upstream %q", args[0])
			}
			u := list[i]
			if !u.OAuth {
				return console.Errorf(console.Usage, "add oauth = true to its section", "the upstream %s has no oauth", u.Name)
			}
			files, err := place.tokens()
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, files.Close()) }()
			back, err := oauth.NewLoopback(func(address string) error {
				c.Infof("Open this address in a browser on this machine, and consent:\n\n  %s\n\nWaiting; Ctrl-C cancels.", address)
				return nil
			})
			if err != nil {
				return err
			}
			defer back.Close()
			t, err := oauth.NewTransport(u.URL, &oauth.Options{Base: u.Transport(), Store: files, ClientName: "Bossman", Authorize: back.Authorize, Redirect: back.Redirect()})
			if err == nil {
				err = t.Login(cmd.Context())
			}
			if err != nil {
				return err
			}
			c.Infof("Bossman may use %s now", u.Name)
			return nil
		},
	}
}
