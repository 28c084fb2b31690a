package telemetry_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/telemetry"
)

// A server whose calls are measured, and its metrics as Prometheus gets them.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	logger := telemetry.Logger(os.Stderr, nil)
	t, err := telemetry.New(&telemetry.Options{Logger: logger, Version: "1.0.0"})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = t.Shutdown(ctx) }()

	server := mcp.NewServer(mcp.Implementation{Name: "greeter", Version: "1"}, &mcp.ServerOptions{Logger: logger, Observer: t.Observer()})
	server.Use(t.Middleware())
	mcp.AddTool(server, mcp.Tool{Name: "greet", Description: "Say hello."},
		func(context.Context, *mcp.Call, struct{}) (string, error) { return "hello", nil })

	near, far := jsonrpc.Pipe(jsonrpc.Limits{})
	go func() { _ = server.Serve(ctx, far) }()
	client, err := mcp.Connect(ctx, near, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Call(ctx, "greet", nil, nil); err != nil {
		log.Fatal(err)
	}

	w := httptest.NewRecorder() // a program has t.Metrics() on its admin listener
	t.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "mcp_server_operation_duration_seconds_count") && strings.Contains(line, "greet") {
			fmt.Print(line)
		}
	}
	// Output:
	// mcp_server_operation_duration_seconds_count{error_type="",gen_ai_prompt_name="",gen_ai_tool_name="greet",mcp_method_name="tools/call"} 1
}
