// Command srv-gosdk serves the tool echo with modelcontextprotocol/go-sdk.
package main

import (
	"context"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bossman-dev/bossman/bench/impl/gosdk"
	"github.com/bossman-dev/bossman/bench/subject"
)

func main() {
	if err := run(subject.Parse()); err != nil {
		log.Fatal(err)
	}
}

func run(c subject.Config) error {
	s := gosdk.NewServer(c.Variant)
	if c.Mode == "stdio" {
		return s.Run(context.Background(), &mcp.StdioTransport{})
	}
	return subject.Serve(gosdk.NewHTTP(s, c.Stateless, c.JSON))
}
