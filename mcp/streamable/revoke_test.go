package streamable

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// A revokable principal for every token, and the way to revoke it.
func revokable(r *http.Request, revoked map[string]chan struct{}) (mcp.Principal, error) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	select {
	case <-revoked[token]:
		return mcp.Principal{}, &AuthError{}
	default:
		return mcp.Principal{ID: token, Revoked: revoked[token]}, nil
	}
}

// Whatever a principal has under way ends within a second of its revocation, and
// nothing of anybody else's does.
func TestRevoked(t *testing.T) {
	for _, c := range []struct {
		name, version string
		calls         int32 // that are cancelled
		begin         func(c *client) *http.Response
	}{
		{"listen", "2026-07-28", 0, func(c *client) *http.Response {
			return c.do(c.t.Context(), "POST", listenRequest, "Mcp-Method", "subscriptions/listen")
		}},
		{"call", "2026-07-28", 1, func(c *client) *http.Response {
			body, header := modernCall(1, "works", "")
			return c.do(c.t.Context(), "POST", body, header...)
		}},
		{"deaf call", "2026-07-28", 1, func(c *client) *http.Response {
			body, header := modernCall(1, "works", "deaf")
			return c.do(c.t.Context(), "POST", body, header...)
		}},
		{"call in a session", "2025-11-25", 1, func(c *client) *http.Response {
			return c.do(c.t.Context(), "POST", legacyCall(1, "works", "", token))
		}},
		{"deaf call in a session", "2025-06-18", 1, func(c *client) *http.Response {
			return c.do(c.t.Context(), "POST", legacyCall(1, "works", "deaf", token))
		}},
		{"question", "2025-11-25", 0, func(c *client) *http.Response {
			return c.do(c.t.Context(), "POST", legacyCall(1, "ask", "", ""))
		}},
		{"events", "2025-11-25", 0, func(c *client) *http.Response {
			return c.do(c.t.Context(), "GET", "")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFixture(t)
				var cancelled atomic.Int32
				mcp.AddTool(s, mcp.Tool{Name: "works", Description: "works"}, func(ctx context.Context, c *mcp.Call, in words) (string, error) {
					c.Progress(1, 2, "")
					select {
					case <-ctx.Done():
						cancelled.Add(1)
					case <-time.After(5 * time.Second):
					}
					if in.Text == "deaf" {
						time.Sleep(5 * time.Second)
						c.Progress(2, 2, "secret")
					}
					return "secret", ctx.Err()
				})
				revoked := map[string]chan struct{}{"ada": make(chan struct{}), "bob": make(chan struct{})}
				h := NewHandler(s, &Options{Hosts: []string{"test"}, Authenticate: func(r *http.Request) (mcp.Principal, error) { return revokable(r, revoked) }})
				_, ada, stop := inMemory(t, h)
				defer stop()
				bob := &client{t: t, url: ada.url, http: ada.http, token: "bob"}
				ada.token = "ada"
				var streams []*http.Response
				for _, cl := range []*client{ada, bob} {
					cl.version = c.version
					if c.version < "2026" {
						cl.initialize(`{"elicitation":{}}`)
					}
					streams = append(streams, c.begin(cl))
				}
				defer streams[1].Body.Close()
				time.Sleep(time.Second)
				close(revoked["ada"])
				at := time.Now()
				b, err := io.ReadAll(streams[0].Body)
				if d := time.Since(at); err != nil || d > time.Second || strings.Contains(string(b), "secret") {
					t.Errorf("the stream has ended after %v with %v:\n%s", d, err, b)
				}
				if n := cancelled.Load(); n != c.calls {
					t.Errorf("%d calls were cancelled, want %d", n, c.calls)
				}
				if h.streams.load() != 1 && !strings.Contains(c.name, "deaf") {
					t.Errorf("%d streams are open, want one", h.streams.load())
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
			})
		})
	}
}
