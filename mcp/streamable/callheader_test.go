package streamable

import (
	"context"
	"net/http"
	"testing"

	"github.com/bossman-dev/bossman/mcp"
)

// A handler and middleware can read the headers of the request, in every revision.
func TestCall_header(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "n", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "look", Description: "Test."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return c.Header("x-trace") + c.Header("X-None"), nil
	})
	s.Use(func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
			if r.Header("X-Trace") != "abc" {
				t.Errorf("the header of %s is %q", r.Method, r.Header("X-Trace"))
			}
			return next(ctx, r)
		}
	})
	url := serve(t, NewHandler(s, nil))
	for _, r := range mcp.Revisions() {
		c, err := Connect(t.Context(), url, &ClientOptions{Header: http.Header{"X-Trace": {"abc"}}}, clientOptions(r))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := mcp.CallAs[string](t.Context(), c, "look", nil, nil); err != nil || got != "abc" {
			t.Errorf("%s: look = %q, %v", r, got, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
