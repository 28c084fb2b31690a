// Command srv-mcpgo serves the tool echo with mark3labs/mcp-go.
package main

import (
	"log"

	"github.com/mark3labs/mcp-go/server"

	"github.com/bossman-dev/bossman/bench/impl/mcpgo"
	"github.com/bossman-dev/bossman/bench/subject"
)

func main() {
	if err := run(subject.Parse()); err != nil {
		log.Fatal(err)
	}
}

func run(c subject.Config) error {
	s := mcpgo.NewServer(c.Variant)
	if c.Mode == "stdio" {
		return server.ServeStdio(s)
	}
	return subject.Serve(mcpgo.NewHTTP(s, c.Stateless))
}
