// Command srv-hop stands between a client and srv-bossman, which it starts: as our gateway, or as
// the least that a hop can do, which copies bytes.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/bench/subject"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

func main() {
	if err := run(context.Background(), subject.Parse()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, c subject.Config) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	upstream := exec.CommandContext(ctx, filepath.Join(filepath.Dir(self), "srv-bossman"), "-mode="+c.Mode, fmt.Sprintf("-stateless=%t", c.Stateless))
	upstream.Stderr = os.Stderr
	switch c.Variant {
	case "copy":
		if c.Mode == "stdio" {
			return copyLines(upstream)
		}
		address, stop, err := startHTTP(upstream)
		if err != nil {
			return err
		}
		defer stop()
		return subject.Serve(proxy(address))
	case "gateway":
		u := gateway.Upstream{Name: "up", Share: gateway.ShareAll, Max: 256, Timeout: time.Minute, Idle: time.Hour, List: "auto", Class: gateway.ClassRead, TrustFirst: true}
		if c.Mode == "stdio" {
			u.Command = upstream.Args
		} else {
			var stop func()
			if u.URL, stop, err = startHTTP(upstream); err != nil {
				return err
			}
			defer stop()
		}
		u.Private = true
		return serveGateway(ctx, c, []gateway.Upstream{u}, nil)
	case "asleep":
		list, store, err := asleep(ctx)
		if err != nil {
			return err
		}
		return serveGateway(ctx, c, list, store)
	}
	return fmt.Errorf("no variant %q", c.Variant)
}

// copyLines copies both directions until the upstream ends.
func copyLines(upstream *exec.Cmd) error {
	in, err := upstream.StdinPipe()
	if err != nil {
		return err
	}
	out, err := upstream.StdoutPipe()
	if err != nil {
		return err
	}
	if err := upstream.Start(); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(in, os.Stdin)
		_ = in.Close()
	}()
	_, err = io.Copy(os.Stdout, out)
	return errors.Join(err, upstream.Wait())
}

// startHTTP starts an upstream that listens, and returns where. It ends with stop, or with this process, whose end it sees
// on its standard input.
func startHTTP(upstream *exec.Cmd) (address string, stop func(), err error) {
	in, err := upstream.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := upstream.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := upstream.Start(); err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "ADDR ")
	if err != nil || !ok {
		return "", nil, fmt.Errorf("no address but %q: %w", line, err)
	}
	return "http://" + address + "/", func() { _ = in.Close() }, nil
}

func proxy(address string) http.Handler {
	target, _ := url.Parse(address) // our own
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{MaxIdleConnsPerHost: 256},
		FlushInterval: -1,
	}
}

// serveGateway serves our gateway, with definitions that are pinned and without a board.
func serveGateway(ctx context.Context, c subject.Config, list []gateway.Upstream, store gateway.Store) error {
	quiet := slog.New(slog.DiscardHandler)
	g, err := gateway.New(ctx, list, &gateway.Options{Logger: quiet, Store: store, TrustFirst: true, Shared: c.Mode == "http"})
	if err != nil {
		return err
	}
	s := mcp.NewServer(mcp.Implementation{Name: "hop", Version: "1"}, &mcp.ServerOptions{Visible: g.Visible, Logger: quiet})
	g.Attach(s)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	defer func() {
		cancel()
		<-ended
	}()
	if store == nil {
		if err := g.Refresh(ctx, "up"); err != nil {
			return err
		}
	}
	if c.Mode == "stdio" {
		return s.Serve(ctx, mcp.Stdio(nil))
	}
	return subject.Serve(streamable.NewHandler(s, nil))
}

// asleep returns 20 upstreams that do not run, with 500 tools in all.
func asleep(ctx context.Context) ([]gateway.Upstream, gateway.Store, error) {
	dir, err := os.MkdirTemp("", "bench-asleep-")
	if err != nil {
		return nil, nil, err
	}
	store := gateway.NewFileStore(dir)
	var list []gateway.Upstream
	for i := range 20 {
		u := gateway.Upstream{Name: fmt.Sprint("up", i), Command: []string{"none"}, Max: 16, Timeout: time.Minute, Idle: time.Minute, List: "auto", TrustFirst: true}
		catalogue := &gateway.Catalogue{ListedAt: time.Now()}
		for j := range 25 {
			text := fmt.Sprintf(`{"name":"tool_%d","description":"Does the thing number %d of server %d, with what was found before, and says how that went.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"its name"},"limit":{"type":"integer","minimum":1}},"required":["name"]}}`, j, j, i)
			catalogue.Tools = append(catalogue.Tools, json.RawMessage(text))
		}
		if err := store.SaveCatalogue(ctx, u.Name, catalogue); err != nil {
			return nil, nil, err
		}
		list = append(list, u)
	}
	g, err := gateway.New(ctx, list, &gateway.Options{Logger: slog.New(slog.DiscardHandler), Store: store})
	if err != nil {
		return nil, nil, err
	}
	g.Attach(mcp.NewServer(mcp.Implementation{Name: "hop", Version: "1"}, &mcp.ServerOptions{Visible: g.Visible}))
	return list, store, g.Approve(ctx, "bench", g.Items()...)
}
