package boardcli

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/web"
	"golang.org/x/sync/errgroup"
)

// A Display is a board for the dashboard of the person at this machine.
type Display struct {
	Board access.Board
	// Name is the board's, for people.
	Name string
	// Caller returns that person, with the projects that there are now.
	Caller func(ctx context.Context) (*access.Caller, error)
	// Run does the board's background work until its context ends.
	Run func(ctx context.Context) error
	// Open opens a file with the program of the desktop for it, if there is a desktop.
	Open func(ctx context.Context, name string)
}

const (
	// headerTime is how long a browser may take to send a request's header.
	headerTime = 10 * time.Second
	// closeTime is how long requests may take to finish when the dashboard ends.
	closeTime = 2 * time.Second
)

// dashboard serves the pages at an address until ctx ends, and opens a browser if that is asked for.
func (c *cli) dashboard(ctx context.Context, address string, browser bool) error {
	if err := c.RefuseAgent(); err != nil { // it would be let in as a person
		return err
	}
	d, err := c.display(ctx)
	if err != nil {
		return err
	}
	l, err := listen(ctx, address)
	if err != nil {
		return err
	}
	defer l.Close()
	door := web.NewSoloDoor(d.Caller)
	site, err := web.New(web.Options{Board: d.Board, Door: door, Name: d.Name, Logger: slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		return err
	}
	link := "http://" + l.Addr().String() + door.Link()
	c.Linef("%s", link)
	c.Infof("Open this link in a browser on this machine, within ten minutes; it works once. Ctrl-C ends the dashboard.")
	if err := c.Out.Flush(); err != nil {
		return err
	}
	if browser {
		remove := d.openLink(ctx, link)
		defer remove()
	}
	return serve(ctx, l, site, d.Run)
}

// listen listens at an address of this machine for itself: whoever has the link is its person.
func listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, console.Usagef("--http: %w", err)
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return nil, console.Usagef("--http %s: the dashboard of one person is for this machine alone, as at 127.0.0.1:8182; for others there is bossman serve", address)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, console.Errorf(console.Unavailable, "choose another address with --http, such as 127.0.0.1:0", "%w", err)
	}
	return l, nil
}

// serve serves the site until ctx ends.
func serve(ctx context.Context, l net.Listener, site *web.Site, background func(ctx context.Context) error) error {
	g, inner := errgroup.WithContext(ctx)
	server := &http.Server{Handler: site, ReadHeaderTimeout: headerTime, BaseContext: func(net.Listener) context.Context { return inner }}
	g.Go(func() error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
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
// the browser is given a file that leads there, which only the user may read; remove removes it.
func (d *Display) openLink(ctx context.Context, link string) (remove func()) {
	dir, err := os.MkdirTemp("", "bossman-board-")
	if err != nil {
		return func() {}
	}
	name := filepath.Join(dir, "open.html")
	page := fmt.Sprintf("<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=%[1]s\"><a href=\"%[1]s\">Bossman</a>\n", html.EscapeString(link))
	if os.WriteFile(name, []byte(page), 0o600) == nil {
		d.Open(ctx, name)
	}
	return func() { _ = os.RemoveAll(dir) }
}
