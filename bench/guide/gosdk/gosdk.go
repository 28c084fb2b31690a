// Package gosdk has the snippets of docs/from-go-sdk.md that use go-sdk.
package gosdk

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type Args struct {
	City string `json:"city" jsonschema:"name of the city"`
	Days int    `json:"days,omitempty" jsonschema:"days to forecast"`
}

type Forecast struct {
	Highs []int `json:"highs" jsonschema:"highest temperature of each day"`
}

func forecast(ctx context.Context, req *mcp.CallToolRequest, in Args) (*mcp.CallToolResult, Forecast, error) {
	if in.City == "Atlantis" {
		return nil, Forecast{}, fmt.Errorf("%s is under water; name another city", in.City)
	}
	return nil, Forecast{Highs: make([]int, max(in.Days, 0))}, nil
}

func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "forecast", Description: "Forecast the weather."}, forecast)
	return s
}

func main() {
	if err := newServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

func order(ctx context.Context, req *mcp.CallToolRequest, in Args) (*mcp.CallToolResult, any, error) {
	res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{
		Message:         "Which size?",
		RequestedSchema: sizeSchema,
	})
	if err != nil {
		return nil, nil, err
	}
	if res.Action != "accept" {
		return text("nothing was ordered"), nil, nil
	}
	return text("ordered size " + res.Content["size"].(string)), nil, nil
}

func copyFiles(ctx context.Context, req *mcp.CallToolRequest, in Args) (*mcp.CallToolResult, any, error) {
	for i := range files {
		if token := req.Params.GetProgressToken(); token != nil {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(i), Total: float64(len(files)), Message: "copying " + files[i],
			})
		}
	}
	return text("done"), nil, nil
}

func logCalls(s *mcp.Server) {
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			slog.Info("request", "method", method, "err", err)
			return res, err
		}
	})
}

func ServeHTTP(s *mcp.Server, verify auth.TokenVerifier) error {
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", auth.RequireBearerToken(verify, nil)(h))
	return http.ListenAndServe(":8080", mux)
}

func callChild(ctx context.Context) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.Command("weather-server")}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "forecast", Arguments: Args{City: "Oslo"}})
	if err != nil {
		return err
	}
	log.Print(res.StructuredContent, res.IsError)
	return nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func Main() {
	main()
	s := newServer()
	logCalls(s)
	mcp.AddTool(s, &mcp.Tool{Name: "order", Description: "Order a coat."}, order)
	mcp.AddTool(s, &mcp.Tool{Name: "copy", Description: "Copy files."}, copyFiles)
	log.Print(callChild(context.Background()))
}

var (
	sizeSchema map[string]any
	files      []string
)
