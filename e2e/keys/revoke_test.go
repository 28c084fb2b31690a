package keys

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// within is how long a key that has ended may still do something, anywhere.
const within = 5 * time.Second

// A hold is something that a key has open on a server.
type hold struct {
	what  string
	ended chan time.Time
}

// TestRevocation: a key that is revoked, whose person is disabled, or that expires,
// works on no replica after five seconds; what it has open there ends, too.
func TestRevocation(t *testing.T) {
	m := newTeam(t)
	servers := []*server{m.serve(nil, "--db", m.dsn), m.serve(nil, "--db", m.dsn)}
	keep := m.key("web", "--role", "worker", "--owner", "eve")
	for _, c := range []struct {
		name string
		more []string
		end  func(key string) time.Time // when it should be over
	}{
		{"revoked", []string{"--owner", "ada"}, func(key string) time.Time {
			m.run("key", "revoke", "--db", m.dsn, key)
			return time.Now()
		}},
		{"disabled", []string{"--owner", "bob"}, func(string) time.Time {
			m.run("person", "disable", "--db", m.dsn, "bob")
			return time.Now()
		}},
		{"expired", []string{"--owner", "cy", "--expires", "8s"}, func(string) time.Time { return time.Time{} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			made := time.Now()
			key := m.key("web", append(c.more, "--role", "worker")...)
			var wg sync.WaitGroup
			var holds []*hold
			for i, s := range servers {
				for what, begin := range map[string]func(context.Context, *server, string) (io.ReadCloser, error){
					"a stream of events": listen, "a session's feed": feed, "a running call": waiting,
				} {
					h := &hold{fmt.Sprintf("%s on replica %d", what, i+1), make(chan time.Time, 1)}
					body, err := begin(t.Context(), s, key)
					if err != nil {
						t.Fatalf("%s: %v", h.what, err)
					}
					holds = append(holds, h)
					wg.Go(func() {
						_, _ = io.Copy(io.Discard, body)
						body.Close()
						h.ended <- time.Now()
					})
				}
				h := &hold{fmt.Sprintf("new calls on replica %d", i+1), make(chan time.Time, 1)}
				holds = append(holds, h)
				if code, text, err := s.ask(t.Context(), key, "tools/list", "", ""); err != nil || code != 200 {
					t.Fatalf("tools/list = %d %s, %v", code, text, err)
				}
				wg.Go(func() {
					for {
						code, _, err := s.ask(t.Context(), key, "tools/list", "", "")
						if err != nil || code == http.StatusUnauthorized {
							h.ended <- time.Now()
							return
						}
						time.Sleep(20 * time.Millisecond) // a pace, not a wait
					}
				})
			}
			laptop := m.laptop(t, servers[0], key)
			ended := c.end(key)
			if ended.IsZero() {
				ended = made.Add(8 * time.Second)
			}
			for _, h := range holds {
				select {
				case at := <-h.ended:
					if after := at.Sub(ended); after > within || after < -2*time.Second {
						t.Errorf("%s ended after %v", h.what, after)
					} else {
						t.Logf("%s ended after %.1f s", h.what, after.Seconds())
					}
				case <-time.After(time.Until(ended.Add(2 * within))):
					t.Errorf("%s goes on", h.what)
				}
			}
			// The process on a laptop says so, and what to do.
			res, err := laptop.Call(t.Context(), "get_next_task", nil, nil)
			if err != nil || !res.IsError || !strings.Contains(fmt.Sprint(res.Content), "bossman login") {
				t.Errorf("on a laptop: %+v, %v", res, err)
			} else {
				t.Logf("on a laptop: %v", res.Content)
			}
			laptop.Close()
			for _, s := range servers {
				if code, text, err := s.ask(t.Context(), keep, "tools/list", "", ""); err != nil || code != 200 {
					t.Errorf("another's key = %d %s, %v", code, text, err)
				}
			}
			if !t.Failed() {
				wg.Wait()
			}
		})
	}
}

// laptop is the process of an agent whose board is a server's.
func (m *team) laptop(t *testing.T, s *server, key string) *mcp.Client {
	t.Helper()
	cmd := &mcp.Command{
		Args: []string{bossman, "mcp", "--board", "http://" + s.address, "--project", "web"}, Dir: m.home,
		Env: []string{"BOSSMAN_KEY=" + key, "HOME=" + m.home}, Logger: slog.New(slog.DiscardHandler),
	}
	c, err := cmd.Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if res, err := c.Call(t.Context(), "get_next_task", nil, nil); err != nil || res.IsError {
		t.Fatalf("get_next_task on a laptop = %+v, %v", res, err)
	}
	return c
}

// listen opens a stream of events in the newest revision.
func listen(ctx context.Context, s *server, key string) (io.ReadCloser, error) {
	res, err := client.Do(s.request(ctx, key, "subscriptions/listen", "", `"notifications":{"resourceSubscriptions":["bossman://board"]}`))
	if err != nil {
		return nil, err
	}
	// It is open when it says so.
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("%s: %w", res.Status, err)
		}
		if strings.Contains(line, "acknowledged") {
			return res.Body, nil
		}
	}
}

// feed opens the stream of a session in an older revision.
func feed(ctx context.Context, s *server, key string) (io.ReadCloser, error) {
	session, err := begin(ctx, s, key)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.address+"/mcp", nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", session)
	r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	r.Header.Set("X-Api-Token", key)
	res, err := client.Do(r)
	if err == nil && res.StatusCode != 200 {
		err = fmt.Errorf("GET: %s", res.Status)
	}
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// begin begins a session.
func begin(ctx context.Context, s *server, key string) (string, error) {
	body := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.address+"/mcp", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("X-Api-Token", key)
	res, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.Header.Get("Mcp-Session-Id"), nil
}

// waiting begins a call that waits for work. Its body is empty until it ends.
func waiting(ctx context.Context, s *server, key string) (io.ReadCloser, error) {
	r, w := io.Pipe()
	go func() {
		_, _, err := s.tool(ctx, key, "get_next_task", `{"wait_seconds":45}`)
		w.CloseWithError(err)
	}()
	return r, nil
}
