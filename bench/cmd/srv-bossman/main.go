// Command srv-bossman serves the tool echo with our own package mcp.
package main

import (
	"context"
	"log"

	"github.com/bossman-dev/bossman/bench/impl/bossman"
	"github.com/bossman-dev/bossman/bench/subject"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

func main() {
	if err := run(context.Background(), subject.Parse()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, c subject.Config) error {
	s := bossman.NewServer()
	if c.Mode == "stdio" {
		return s.Serve(ctx, mcp.Stdio(nil))
	}
	return subject.Serve(streamable.NewHandler(s, nil))
}
