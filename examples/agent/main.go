// Agent is what the tool-calling half of an AI agent looks like: it starts the MCP
// servers in a configuration file, merges their tools, finds one by name, calls it
// and shuts everything down. The file is one of another client; Claude Code's
// .mcp.json is the default, and -client names another format.
//
//	go run ./examples/agent -config .mcp.json
//	go run ./examples/agent -config .mcp.json add '{"a":2,"b":3}'
//	go run ./examples/agent -config crush.json -client crush fetch '{"url":"https://example.com"}'
//
// Without a tool's name it lists all tools. A tool that several servers have is
// called by the name of its server, too: weather/forecast.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bossman-dev/bossman/clientconfig"
	"github.com/bossman-dev/bossman/mcp"
)

func main() {
	config := flag.String("config", ".mcp.json", "configuration `file` with the servers")
	client := flag.String("client", "claude", "`client` whose format the file has: claude, crush, vscode, codex, gemini, …")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, os.Stderr, *client, *config, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

// run lists the tools, or calls the one that args name.
func run(ctx context.Context, out, log io.Writer, client, config string, args []string) error {
	servers, err := read(client, config)
	if err != nil {
		return err
	}
	a := connect(ctx, log, servers)
	defer a.close()
	if len(args) == 0 {
		for _, t := range a.tools {
			fmt.Fprintf(out, "%s/%s\t%s\n", t.server, t.Name, t.Description)
		}
		return nil
	}
	t, err := a.find(args[0])
	if err != nil {
		return err
	}
	input := json.RawMessage("{}")
	if len(args) > 1 {
		input = json.RawMessage(args[1])
	}
	res, err := t.client.Call(ctx, t.Name, input, nil)
	if err != nil {
		return err
	}
	for _, c := range res.Content {
		if c.Type == "text" {
			fmt.Fprintln(out, c.Text)
		} else {
			fmt.Fprintf(out, "[%s, %s, %d bytes]\n", c.Type, c.MIMEType, len(c.Data))
		}
	}
	if res.IsError {
		return fmt.Errorf("%s failed", t.Name)
	}
	return nil
}

// read returns the servers in a client's file, with variables filled in.
func read(client, config string) ([]*clientconfig.Server, error) {
	format, ok := clientconfig.Find(client)
	if !ok {
		return nil, fmt.Errorf("unknown client %q", client)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return nil, err
	}
	all, err := format.Parse(text, clientconfig.File{Path: config, Scope: clientconfig.User}, "")
	if err != nil {
		return nil, err
	}
	var servers []*clientconfig.Server
	for i := range all {
		if all[i].Disabled {
			continue
		}
		s, err := all[i].Expand(clientconfig.Values{Getenv: os.LookupEnv})
		if err != nil {
			return nil, err
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// An agent is connected to several servers.
type agent struct {
	clients []*mcp.Client
	tools   []tool // sorted by server and name
}

// A tool is a tool of a server. Its InputSchema is what a model is shown.
type tool struct {
	*mcp.Tool
	server string
	client *mcp.Client
}

// connect starts all servers at once and lists their tools. One that fails is
// reported and left out; the others are not affected.
func connect(ctx context.Context, log io.Writer, servers []*clientconfig.Server) *agent {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	a := &agent{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() {
			c, tools, err := start(ctx, s)
			mu.Lock()
			defer mu.Unlock()
			if c != nil {
				a.clients = append(a.clients, c)
			}
			if err != nil {
				fmt.Fprintf(log, "agent: server %s: %v\n", s.Name, err)
			}
			a.tools = append(a.tools, tools...)
		})
	}
	wg.Wait()
	slices.SortFunc(a.tools, func(x, y tool) int {
		return cmp.Or(cmp.Compare(x.server, y.server), cmp.Compare(x.Name, y.Name))
	})
	return a
}

// start starts a server as a child process and lists its tools, all pages of them.
func start(ctx context.Context, s *clientconfig.Server) (*mcp.Client, []tool, error) {
	if len(s.Args) == 0 {
		return nil, nil, errors.New("is not a program; this agent only starts programs")
	}
	command := &mcp.Command{Args: s.Args, Env: s.Environ(), Dir: s.Dir}
	c, err := command.Connect(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	var tools []tool
	for t, err := range c.Tools(ctx) {
		if err != nil {
			return c, tools, err
		}
		tools = append(tools, tool{t, s.Name, c})
	}
	return c, tools, nil
}

// find returns the tool with a name, or with the name of its server before it.
func (a *agent) find(name string) (tool, error) {
	var found []tool
	var names []string
	for _, t := range a.tools {
		full := t.server + "/" + t.Name
		if full == name {
			return t, nil
		}
		if t.Name == name {
			found, names = append(found, t), append(names, full)
		}
	}
	switch len(found) {
	case 0:
		return tool{}, fmt.Errorf("no server has a tool %q", name)
	case 1:
		return found[0], nil
	}
	return tool{}, fmt.Errorf("several servers have a tool %q: say which, %s", name, strings.Join(names, " or "))
}

// close ends all servers at once, and waits for them.
func (a *agent) close() {
	var wg sync.WaitGroup
	for _, c := range a.clients {
		wg.Go(func() { _ = c.Close() })
	}
	wg.Wait()
}
