// Server has all features of the protocol, as the official conformance suite
// expects: its scenarios call these tools, resources and prompts by name and
// know the results. It serves one client over standard input and output, or
// many over HTTP:
//
//	go run ./internal/conformance/server
//	go run ./internal/conformance/server -http localhost:3000
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

func main() {
	addr := flag.String("http", "", "serve http://`ADDRESS`/mcp rather than standard input and output")
	flag.Parse()
	if err := serve(*addr); err != nil {
		log.Fatal(err)
	}
}

func serve(addr string) error {
	s := newServer()
	defer s.Close()
	if addr == "" {
		return s.Serve(context.Background(), mcp.Stdio(nil))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return streamable.Serve(ctx, l, streamable.NewHandler(s, nil), nil)
}

// newServer returns the server, for any transport.
func newServer() *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "conformance", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions: "Everything here is a fixture of a test and does no work.",
		Complete:     complete,
	})
	addTools(s)
	addAsking(s)
	addTasks(s)
	addResources(s)
	addPrompts(s)
	return s
}

// complete suggests values for the arguments of test_prompt_with_arguments.
func complete(_ context.Context, _ *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, error) {
	c := &mcp.Completion{}
	for _, word := range []string{"paris", "park", "party"} {
		if p.Ref.Name == promptWithArguments && strings.HasPrefix(word, p.Argument.Value) {
			c.Values = append(c.Values, word)
		}
	}
	return c, nil
}
