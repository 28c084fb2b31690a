package mcpgo

import (
	"context"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type userKey struct{}

// Handler serves the clients that have a token, and answers health checks.
func Handler(s *server.MCPServer, users map[string]string) http.Handler {
	h := server.NewStreamableHTTPServer(s)
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || users[token] == "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "unknown token", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, users[token])))
	})
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	return mux
}

func addWhoami(s *server.MCPServer) {
	s.AddTool(mcp.NewTool("whoami", mcp.WithDescription("Tell who calls.")),
		func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			user, _ := ctx.Value(userKey{}).(string)
			return mcp.NewToolResultText(user), nil
		})
}
