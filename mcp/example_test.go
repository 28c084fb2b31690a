package mcp_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// A server with one tool, and a client that calls it.
func Example() {
	type words struct {
		Text string `json:"text" jsonschema:"what to shout"`
	}
	s := mcp.NewServer(mcp.Implementation{Name: "shout", Version: "1.0.0"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "shout", Description: "Say it loud."},
		func(_ context.Context, _ *mcp.Call, w words) (string, error) {
			return strings.ToUpper(w.Text), nil
		})

	ctx := context.Background()
	near, far := jsonrpc.Pipe(jsonrpc.Limits{})
	served := make(chan error)
	go func() { served <- s.Serve(ctx, far) }()

	c, err := mcp.Connect(ctx, near, nil)
	if err != nil {
		log.Fatal(err)
	}
	res, err := c.Call(ctx, "shout", words{"hello"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Content[0].Text)
	fmt.Println(c.Close(), <-served)
	// Output:
	// HELLO
	// <nil> <nil>
}

// A tool that asks the person before it goes on.
func ExampleAsk() {
	s := mcp.NewServer(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "greet", Description: "Greet the user by name."},
		func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
			name, err := mcp.Ask[string](c, "name", "What is your name?")
			if err != nil {
				return "", err
			}
			return "Hello, " + name + "!", nil
		})

	ctx := context.Background()
	near, far := jsonrpc.Pipe(jsonrpc.Limits{})
	go func() { _ = s.Serve(ctx, far) }()
	c, err := mcp.Connect(ctx, near, &mcp.ClientOptions{
		Elicit: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			fmt.Println(p.Message)
			return &mcp.ElicitResult{Action: "accept", Content: []byte(`{"name":"Ada"}`)}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	res, err := c.Call(ctx, "greet", nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Content[0].Text)
	// Output:
	// What is your name?
	// Hello, Ada!
}

// A server that is a program of its own: start it, look at its tools, find one by
// its name, call it, and end it.
func ExampleStart() {
	ctx := context.Background()
	c, err := mcp.Start(ctx, "go", "run", "github.com/bossman-dev/bossman/examples/add")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	for tool, err := range c.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name+":", tool.Description)
	}
	add, err := c.Tool(ctx, "add")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(add.InputSchema) > 0) // JSON, as the server wrote it
	res, err := c.Call(ctx, "add", map[string]any{"a": 2, "b": 3}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, block := range res.Content {
		switch block.Type {
		case "text":
			fmt.Println(block.Text)
		case "image":
			fmt.Println(len(block.Data), "bytes of", block.MIMEType)
		}
	}
	// Output:
	// add: Add two numbers together
	// true
	// {"result":5}
}
