package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/bossman-dev/bossman/mcp"
)

// user answers questions for the examples: what it is told for a part of the message.
func user(answers map[string]string) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Tasks: true,
		Elicit: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			for part, content := range answers {
				if strings.Contains(p.Message, part) {
					return &mcp.ElicitResult{Action: "accept", Content: []byte(content)}, nil
				}
			}
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	}
}

// Work that must not be repeated when the handler runs again with an answer.
func ExampleOnce() {
	made := 0
	s := mcp.NewServer(mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "order", Description: "Order a shirt."},
		func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
			id, err := mcp.Once(c, "id", func() (string, error) {
				made++
				return fmt.Sprint("order-", made), nil
			})
			if err != nil {
				return "", err
			}
			size, err := mcp.Ask[string](c, "size", "Which size?")
			return id + ", size " + size, err
		})

	c := connect(s, user(map[string]string{"size": `{"size":"L"}`}))
	defer c.Close()
	got, err := mcp.CallAs[string](context.Background(), c, "order", nil, nil)
	fmt.Println(got, err)
	// Output:
	// order-1, size L <nil>
}

// Two questions in one round, and a user who does not answer one of them.
func ExampleJoinAsks() {
	s := mcp.NewServer(mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "order", Description: "Order a shirt."},
		func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
			size, err1 := mcp.Ask[string](c, "size", "Which size?")
			text, err2 := mcp.Ask[string](c, "text", "What shall we print?")
			if errors.Is(err2, mcp.ErrDeclined) {
				text, err2 = "nothing", nil
			}
			if err := mcp.JoinAsks(err1, err2); err != nil {
				return "", err
			}
			return "size " + size + " with " + text + " on it", nil
		})

	c := connect(s, user(map[string]string{"size": `{"size":"L"}`}))
	defer c.Close()
	got, err := mcp.CallAs[string](context.Background(), c, "order", nil, nil)
	fmt.Println(got, err)
	// Output:
	// size L with nothing on it <nil>
}

// A call that takes long goes on as a task if the client supports them. Otherwise it is
// an ordinary call.
func ExampleAsTask() {
	s := mcp.NewServer(mcp.Implementation{Name: "builds", Version: "1.0.0"}, nil)
	defer s.Close()
	mcp.AddTool(s, mcp.Tool{Name: "build", Description: "Build the program.", Tasks: mcp.TaskOptional},
		func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
			return mcp.AsTask(c, func(context.Context, *mcp.Call) (string, error) {
				return "built", nil // after an hour
			})
		})

	c := connect(s, user(nil))
	defer c.Close()
	got, err := mcp.CallAs[string](context.Background(), c, "build", nil, &mcp.CallOptions{
		OnTask: func(string) { fmt.Println("it is a task") },
	})
	fmt.Println(got, err)
	// Output:
	// it is a task
	// built <nil>
}

// Progress of a call.
func ExampleClient_Call() {
	s := mcp.NewServer(mcp.Implementation{Name: "copier", Version: "1.0.0"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "copy", Description: "Copy the files."},
		func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
			for n := range 2 {
				c.Progress(float64(n+1), 2, "copying")
			}
			return "copied", nil
		})

	c := connect(s, nil)
	defer c.Close()
	res, err := c.Call(context.Background(), "copy", nil, &mcp.CallOptions{
		Progress: func(_ context.Context, p mcp.Progress) { fmt.Println(p.Progress, "of", p.Total) },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text())
	// Output:
	// 1 of 2
	// 2 of 2
	// copied
}

// A client that reads a resource again whenever it has changed.
func ExampleClient_Listen() {
	text := make(chan string, 1)
	text <- "first"
	s := mcp.NewServer(mcp.Implementation{Name: "board", Version: "1.0.0"}, nil)
	s.AddResource(mcp.Resource{URI: "board://today", Name: "today"},
		func(context.Context, *mcp.Call) (*mcp.ResourceResult, error) {
			return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: <-text}}}, nil
		})

	ctx := context.Background()
	c := connect(s, nil)
	defer c.Close()
	for e, err := range c.Listen(ctx, mcp.EventFilter{ResourceURIs: []string{"board://today"}}) {
		if err != nil {
			log.Fatal(err)
		}
		res, err := c.Read(ctx, e.Name, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Kind, res.Text())
		if res.Text() == "second" {
			break
		}
		text <- "second"
		s.ResourceUpdated("board://today")
	}
	// Output:
	// resource first
	// resource second
}
