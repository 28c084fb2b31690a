package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// Whatever a client does, any replica may get it.
func TestReplicas(t *testing.T) {
	for _, n := range []int{2, 3} {
		for _, version := range legacy {
			t.Run(fmt.Sprint(n, " ", version), func(t *testing.T) {
				crowd, url := balanced(t, n)
				c := &client{t: t, url: url, version: version}
				c.initialize(`{"elicitation":{}}`)
				for i := range n {
					if status, got := c.post(legacyCall(i, "echo", "hi", "")); status != 200 || !strings.Contains(got, "hi") {
						t.Errorf("call: %d %s", status, got)
					}
				}
				if version >= "2025-06-18" {
					for range n {
						e, id := c.ask()
						c.tell(id, "ada")
						e.want("Hello, ada!", "")
					}
				}
				done := make(chan int, 1)
				go func() {
					status, _ := c.post(legacyCall(7, "slow", "1m", ""))
					done <- status
				}()
				at := 0
				waitFor(t, "the call", func() bool {
					for i, h := range crowd.handlers {
						if h.inFlight.load() > 0 {
							at = i
							return true
						}
					}
					return false
				})
				crowd.at((at+1)%n, c).post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
				if status := <-done; status != 202 {
					t.Errorf("cancelled call: %d, want 202", status)
				}
				e := newEvents(t, c.do(t.Context(), "POST", legacyCall(8, "pause", "", token)))
				e.want(`"progress":1`)
				for again := version == "2025-11-25"; again; again = false {
					e.want("")
					e = newEvents(t, c.do(t.Context(), "GET", "", "Last-Event-ID", e.last))
				}
				e.want(`"progress":2`, "after the pause", "")
				feed := newEvents(t, c.do(t.Context(), "GET", ""))
				c.post(`{"jsonrpc":"2.0","id":9,"method":"resources/subscribe","params":{"uri":"test://r"}}`)
				crowd.relay.work.Wait() // all have heard of it
				crowd.servers[0].ResourceUpdated("test://r")
				feed.want("test://r")
				if res := c.do(t.Context(), "DELETE", ""); res.StatusCode != 204 {
					t.Errorf("DELETE: %s", res.Status)
				}
				for feed.next() != "" {
				}
				waitFor(t, "the end everywhere", func() bool {
					for i := range n {
						if status, _ := crowd.at(i, c).post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != 404 {
							return false
						}
					}
					return true
				})
				waitFor(t, "an empty memory", func() bool {
					sum := 0
					for _, h := range crowd.handlers {
						sum += held(h)
					}
					return sum == 0
				})
				crowd.empty()
			})
		}
	}
	t.Run("2026-07-28", func(t *testing.T) {
		crowd, url := balanced(t, 3)
		c := &client{t: t, url: url, version: "2026-07-28"}
		e := newEvents(t, c.do(t.Context(), "POST", listenRequest, "Mcp-Method", "subscriptions/listen"))
		e.want("acknowledged")
		for i := range 3 {
			body, header := modernCall(i, "progress", "hi")
			x := newEvents(t, c.do(t.Context(), "POST", body, header...))
			x.want(`"progress":1`, `"progress":2`, "hi", "")
			crowd.servers[i].ResourceUpdated("test://r")
			e.want("test://r")
		}
		for _, h := range crowd.handlers {
			h.Close()
		}
		e.want(`"id":"l1","result"`, "") // it is told that there will be no more
	})
}

// Our own client does not notice that there are several.
func TestReplicas_client(t *testing.T) {
	_, url := balanced(t, 3)
	for _, version := range append(legacy, "2026-07-28") {
		revision, _ := mcp.ParseRevision(version)
		c, err := Connect(t.Context(), url, nil, &mcp.ClientOptions{
			Revision: revision,
			Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"name":"ada"}`)}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		tools := map[string]string{"echo": "hi", "ask": "Hello, ada!", "pause": "after the pause"}
		if version < "2025-06-18" {
			delete(tools, "ask")
		}
		for tool, want := range tools {
			if got, err := mcp.CallAs[string](t.Context(), c, tool, words{"hi"}, nil); err != nil || got != want {
				t.Errorf("%s: %s = %q, %v, want %q", version, tool, got, err, want)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A stream that breaks goes on at another replica, and at yet another.
func TestReplicas_resume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crowd, stop := inBubble(t, 3, new(testRelay), Options{})
		defer stop()
		c := crowd.at(0, &client{version: "2025-11-25"})
		c.initialize(`{}`)
		ctx, cancel := context.WithCancel(t.Context())
		e := newEvents(t, c.do(ctx, "POST", legacyCall(1, "steps", "work", token)))
		e.want(`"progress":1`)
		cancel()
		time.Sleep(1500 * time.Millisecond)
		ctx, cancel = context.WithCancel(t.Context())
		e2 := newEvents(t, crowd.at(1, c).do(ctx, "GET", "", "Last-Event-ID", e.last))
		e2.want(`"progress":2`, `"progress":3`)
		cancel()
		time.Sleep(500 * time.Millisecond)
		e3 := newEvents(t, crowd.at(2, c).do(t.Context(), "GET", "", "Last-Event-ID", e2.last))
		e3.want(`"progress":4`, `"progress":5`, "all of work", "")
		// What was on its way can be had once more, but not for ever.
		again := newEvents(t, crowd.at(1, c).do(t.Context(), "GET", "", "Last-Event-ID", e2.last))
		again.want(`"progress":4`, `"progress":5`, "all of work", "")
		time.Sleep(time.Minute)
		if got := everything(crowd.at(1, c), "GET", "Last-Event-ID", e2.last); !strings.HasPrefix(got, "404") {
			t.Errorf("a stream that is gone: %s", got)
		}
		if got := everything(crowd.at(0, c), "GET", "Last-Event-ID", e2.last); !strings.HasPrefix(got, "404") {
			t.Errorf("a stream that is gone, at its own replica: %s", got)
		}
	})
}

// More than may be on the way at once comes whole.
func TestReplicas_resumeMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crowd, stop := inBubble(t, 2, new(testRelay), Options{})
		defer stop()
		c := crowd.at(0, &client{version: "2025-11-25"})
		c.initialize(`{}`)
		ctx, cancel := context.WithCancel(t.Context())
		e := newEvents(t, c.do(ctx, "POST", legacyCall(1, "steps", "work", token)))
		e.want(`"progress":1`)
		cancel()
		synctest.Wait()
		long := strings.Repeat("x", 900<<10)
		mcp.AddTool(crowd.servers[0], mcp.Tool{Name: "long", Description: "long"}, func(ctx context.Context, c *mcp.Call, _ words) (string, error) {
			c.CloseStream(time.Millisecond)
			return long, nil
		})
		e = newEvents(t, c.do(t.Context(), "POST", legacyCall(2, "long", "", token)))
		e.want("")
		e = newEvents(t, crowd.at(1, c).do(t.Context(), "GET", "", "Last-Event-ID", e.last))
		e.want(long, "")
		c.do(t.Context(), "DELETE", "").Body.Close()
	})
}

// A replica that dies leaves no client waiting.
func TestReplicas_holderDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay := new(testRelay)
		crowd, stop := inBubble(t, 2, relay, Options{})
		defer stop()
		c := crowd.at(0, &client{version: "2025-11-25"})
		c.initialize(`{"elicitation":{}}`)
		ctx, cancel := context.WithCancel(t.Context())
		e := newEvents(t, c.do(ctx, "POST", legacyCall(5, "slow", "1m", token)))
		for e.last == "" {
			if line, err := e.r.ReadString('\n'); err != nil {
				t.Fatal(err)
			} else if id, ok := strings.CutPrefix(line, "id: "); ok {
				e.last = strings.TrimSpace(id)
			}
		}
		cancel()
		e2 := newEvents(t, crowd.at(1, c).do(t.Context(), "GET", "", "Last-Event-ID", e.last))
		asked, id := c.ask()
		go func() {
			for asked.next() != "" {
			}
		}()
		time.Sleep(5 * time.Second)
		relay.kill(crowd.handlers[0].replicas.name)
		at := time.Now()
		e2.want("")
		if d := time.Since(at); d > 7*time.Second {
			t.Errorf("the stream has ended after %v", d)
		}
		at = time.Now()
		if got := everything(crowd.at(1, c), "GET", "Last-Event-ID", e.last); !strings.HasPrefix(got, "404") || time.Since(at) > 3*time.Second {
			t.Errorf("after %v: %s", time.Since(at), got)
		}
		crowd.at(1, c).tell(id, "nobody hears it")
		c.do(t.Context(), "DELETE", "").Body.Close()
	})
}

// The events that belong to no request come on one stream, and none is missed when
// it moves.
func TestReplicas_feed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crowd, stop := inBubble(t, 3, new(testRelay), Options{})
		defer stop()
		c := crowd.at(0, &client{version: "2025-11-25"})
		c.initialize(`{}`)
		c.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://r"}}`)
		ctx, cancel := context.WithCancel(t.Context())
		e := newEvents(t, c.do(ctx, "GET", ""))
		synctest.Wait()
		crowd.servers[2].ResourceUpdated("test://r")
		e.want("test://r")
		cancel()
		synctest.Wait()
		crowd.servers[1].ResourceUpdated("test://r")
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		moved := newEvents(t, crowd.at(1, c).do(ctx, "GET", "", "Last-Event-ID", e.last))
		moved.want("test://r")
		newest := newEvents(t, crowd.at(2, c).do(t.Context(), "GET", ""))
		moved.want("")
		crowd.servers[0].ResourceUpdated("test://r")
		newest.want("test://r")
		crowd.at(1, c).do(t.Context(), "DELETE", "").Body.Close()
		newest.want("")
	})
}

// Another's session is at every replica the same as none.
func TestReplicas_stolen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crowd, stop := inBubble(t, 2, new(testRelay), Options{Authenticate: func(r *http.Request) (mcp.Principal, error) {
			return mcp.Principal{ID: r.Header.Get("Authorization")}, nil
		}})
		defer stop()
		for _, version := range legacy {
			owner := crowd.at(0, &client{version: version, token: "owner"})
			owner.initialize(`{"elicitation":{}}`)
			e := newEvents(t, owner.do(t.Context(), "POST", legacyCall(1, "steps", "secret", token)))
			e.want(`"progress":1`)
			thief := crowd.at(1, owner)
			thief.token = "thief"
			none := *thief
			none.session = strings.Repeat("A", len(owner.session))
			for _, method := range []string{"POST", "GET", "DELETE"} {
				want := everything(&none, method, "Last-Event-ID", e.last)
				if got := everything(thief, method, "Last-Event-ID", e.last); got != want || !strings.HasPrefix(want, "404") {
					t.Errorf("%s %s:\n%s\nwant\n%s", version, method, got, want)
				}
			}
			for e.next() != "" {
			}
			owner.do(t.Context(), "DELETE", "").Body.Close()
		}
		if n := crowd.relay.count(noteResume) + crowd.relay.count(noteCancel); n != 0 {
			t.Errorf("%d notes were sent for the thief", n)
		}
	})
}
