package tools_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/store/sqlite"
	"github.com/bossman-dev/bossman/tools"
)

// A board for one person, on one pipe.
func ExampleRegister() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, err := os.MkdirTemp("", "board")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "board.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	b := board.New(store, &board.Options{Home: &board.Project{Slug: "web", Policy: board.PolicyEvidence}})

	server := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "1"}, &mcp.ServerOptions{Instructions: tools.Instructions()})
	agent := access.Local(auth.Lead, "web")
	server.Use(tools.AuthorizeAs(agent))
	tools.Register(server, b, &tools.Options{Pipe: agent})

	// A real program serves mcp.Stdio(nil), and runs b.Run and the Run of the tools as well.
	near, far := jsonrpc.Pipe(jsonrpc.Limits{})
	go func() { _ = server.Serve(ctx, far) }()
	client, err := mcp.Connect(ctx, near, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	made, err := mcp.CallAs[string](ctx, client, "create_task", map[string]any{"description": "Write the schema"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(made)
	// Output:
	// {"id":"web-1","title":"Write the schema","description":"Write the schema","status":"pending"}
}
