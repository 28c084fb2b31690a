package mcp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// A ServerConfig says how to connect to one server: by a command, or over a
// transport that Dial opens.
type ServerConfig struct {
	Command *Command
	Dial    func(ctx context.Context) (jsonrpc.Transport, error)
	Options *ClientOptions
}

func (c *ServerConfig) connect(ctx context.Context) (*Client, error) {
	switch {
	case c.Command != nil:
		return c.Command.Connect(ctx, c.Options)
	case c.Dial == nil:
		return nil, errors.New("neither Command nor Dial is set")
	}
	t, err := c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return Connect(ctx, t, c.Options)
}

// Servers are connections to several named servers. A server that ends is not
// restarted: calls and Client.Health report how it ended.
type Servers struct {
	clients map[string]*Client
	failed  map[string]error
}

// StartServers connects to all servers concurrently. If one fails, the others
// are not affected; see Errors. ctx bounds connecting only. The caller must
// close the result.
func StartServers(ctx context.Context, configs map[string]ServerConfig) *Servers {
	s := &Servers{clients: map[string]*Client{}, failed: map[string]error{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for name, config := range configs {
		wg.Go(func() {
			c, err := config.connect(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				s.failed[name] = fmt.Errorf("server %s: %w", name, err)
				return
			}
			s.clients[name] = c
		})
	}
	wg.Wait()
	return s
}

// Names returns the names of the connected servers, sorted.
func (s *Servers) Names() []string { return slices.Sorted(maps.Keys(s.clients)) }

// Client returns the client of a server, or nil if it is not connected.
func (s *Servers) Client(name string) *Client { return s.clients[name] }

// Errors returns why servers could not be connected, by name.
func (s *Servers) Errors() map[string]error { return maps.Clone(s.failed) }

// A ServerTool is a tool with the name of its server.
type ServerTool struct {
	Server string
	*Tool
}

// Tools lists the tools of all servers, one server after the other. If a list
// fails, the error is yielded and the next server follows.
func (s *Servers) Tools(ctx context.Context) iter.Seq2[ServerTool, error] {
	return func(yield func(ServerTool, error) bool) {
		for _, name := range s.Names() {
			if s.clients[name].Server().Tools == nil {
				continue
			}
			for t, err := range s.clients[name].Tools(ctx) {
				if err != nil {
					err = fmt.Errorf("server %s: %w", name, err)
				}
				if !yield(ServerTool{name, t}, err) {
					return
				}
			}
		}
	}
}

// Call calls a tool of a server.
func (s *Servers) Call(ctx context.Context, server, tool string, args any, o *CallOptions) (*ToolResult, error) {
	c := s.clients[server]
	if c == nil {
		return nil, fmt.Errorf("server %s: %w", server, ErrNotFound)
	}
	res, err := c.Call(ctx, tool, args, o)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", server, err)
	}
	return res, nil
}

// Close closes all connections concurrently and waits for everything they
// started.
func (s *Servers) Close() error {
	errs := make([]error, len(s.clients))
	var wg sync.WaitGroup
	for i, name := range s.Names() {
		wg.Go(func() {
			if err := s.clients[name].Close(); err != nil {
				errs[i] = fmt.Errorf("server %s: %w", name, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
