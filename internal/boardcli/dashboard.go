package boardcli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/internal/plaindir"
	"github.com/bossman-dev/bossman/web"
	"golang.org/x/sync/errgroup"
)

// A Display is a board for the dashboard of the person at this machine.
type Display struct {
	Board access.Board
	// Gateway has the other servers; nil: none is configured.
	Gateway *gateway.Gateway
	// Name is the board's, for people.
	Name string
	// Caller returns that person, with the projects that there are now.
	Caller func(ctx context.Context) (*access.Caller, error)
	// Run does the board's background work until its context ends.
	Run func(ctx context.Context) error
	// Open opens a file with the program of the desktop for it, if there is a desktop.
	Open func(ctx context.Context, name string)
	// State is a directory that agents cannot write; default the user's directory for configuration.
	State string
}

const (
	// headerTime is how long a browser may take to send a request's header.
	headerTime = 10 * time.Second
	// closeTime is how long requests may take to finish when the dashboard ends.
	closeTime = 2 * time.Second
)

// dashboardFlags are the flags of the command.
type dashboardFlags struct {
	address   string
	byAddress bool // the link has the address, and no name
	noOpen    bool
}

// dashboard serves the pages until ctx ends, and opens a browser unless told otherwise.
func (c *cli) dashboard(ctx context.Context, f dashboardFlags) error {
	if err := c.RefuseAgent(); err != nil { // it would be let in as a person
		return err
	}
	d, err := c.display(ctx)
	if err != nil {
		return err
	}
	ls, host, err := listen(ctx, f.address, f.byAddress)
	if err != nil {
		return err
	}
	defer closeAll(ls)
	door := web.NewSoloDoor(d.Caller)
	site, err := web.New(web.Options{
		Board: d.Board, Gateway: d.Gateway, Door: door, Name: d.Name, Host: func(named string) bool { return named == host },
		Logger: slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(ls[0].Addr().String())
	if err != nil {
		return err
	}
	link := "http://" + net.JoinHostPort(host, port) + door.Link()
	c.Linef("%s", link)
	c.Infof("Open this link in a browser on this machine, within ten minutes; it works once. Ctrl-C ends the dashboard.")
	if err := c.Out.Flush(); err != nil {
		return err
	}
	if !f.noOpen {
		remove, err := d.openLink(ctx, link)
		if err != nil {
			c.Infof("No browser was opened: %v", err)
		}
		defer remove()
	}
	return serve(ctx, ls, site, d.Run)
}

// serve serves the site until ctx ends.
func serve(ctx context.Context, ls []net.Listener, site *web.Site, background func(ctx context.Context) error) error {
	g, inner := errgroup.WithContext(ctx)
	server := &http.Server{Handler: site, ReadHeaderTimeout: headerTime, BaseContext: func(net.Listener) context.Context { return inner }}
	for _, l := range ls {
		g.Go(func() error {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	g.Go(func() error { return site.Run(inner) })
	g.Go(func() error { return background(inner) })
	g.Go(func() error {
		<-inner.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(inner), closeTime)
		defer cancel()
		if err := server.Shutdown(ending); err != nil {
			return server.Close()
		}
		return nil
	})
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// openLink opens a link in the user's browser. Others on this machine can read the arguments of programs, so
// the browser is given a file that leads there, which only the user may read; remove removes it. Agents can write the
// directory for temporary files, and put a link in the place of the file, so it is in the state directory.
func (d *Display) openLink(ctx context.Context, link string) (remove func(), err error) {
	remove = func() {}
	state := d.State
	if state == "" {
		if state, err = os.UserConfigDir(); err != nil {
			return remove, err
		}
		state = filepath.Join(state, "bossman")
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return remove, err
	}
	dir, err := plaindir.Make(state, "board")
	if err != nil {
		return remove, err
	}
	name := "open-" + rand.Text() + ".html"
	remove = func() {
		_ = dir.Remove(name)
		dir.Close()
	}
	page := fmt.Sprintf("<!doctype html><meta name=\"referrer\" content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0; url=%[1]s\"><a href=\"%[1]s\">Bossman</a>\n", html.EscapeString(link))
	if err := plaindir.Replace(dir, name, []byte(page)); err != nil {
		return remove, err
	}
	d.Open(ctx, filepath.Join(dir.Name(), name))
	return remove, nil
}
