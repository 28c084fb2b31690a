package ours

import (
	"context"
	"errors"
	"net/http"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// Handler serves the clients that have a token, and answers health checks.
func Handler(s *mcp.Server, users map[string]string) http.Handler {
	auth := streamable.Bearer(func(_ context.Context, token string) (mcp.Principal, error) {
		if users[token] == "" {
			return mcp.Principal{}, errors.New("unknown token")
		}
		return mcp.Principal{ID: users[token]}, nil
	}, streamable.Resource{URL: "https://compare.example/mcp"})
	mux := http.NewServeMux()
	mux.Handle("/mcp", streamable.NewHandler(s, &streamable.Options{Authenticate: auth.Authenticate}))
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	return mux
}

func addWhoami(s *mcp.Server) {
	mcp.AddTool(s, mcp.Tool{Name: "whoami", Description: "Tell who calls."},
		func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
			return c.Principal().ID, nil
		})
}
