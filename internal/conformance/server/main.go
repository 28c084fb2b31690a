// Server has every feature of the protocol, in the form that the official
// conformance suite asks for: its scenarios call these tools, resources and
// prompts by their names and know what should come back. It talks to its client
// over standard input and output:
//
//	go run ./internal/conformance/server
package main

import (
	"context"
	"log"
	"strings"

	"github.com/bossman-dev/bossman/mcp"
)

func main() {
	s := newServer()
	err := s.Serve(context.Background(), mcp.Stdio())
	s.Close()
	if err != nil {
		log.Fatal(err)
	}
}

// newServer makes the server, whatever it is served over.
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

// complete knows a few words for the arguments of test_prompt_with_arguments.
func complete(_ context.Context, _ *mcp.Call, p mcp.CompleteParams) (*mcp.Completion, error) {
	c := &mcp.Completion{}
	for _, word := range []string{"paris", "park", "party"} {
		if p.Ref.Name == promptWithArguments && strings.HasPrefix(word, p.Argument.Value) {
			c.Values = append(c.Values, word)
		}
	}
	return c, nil
}
