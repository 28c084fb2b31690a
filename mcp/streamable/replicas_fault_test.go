package streamable

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// A replica that is to end lets its calls finish, also for clients that come back for
// them by way of another.
func TestReplicas_drain(t *testing.T) {
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
		crowd.handlers[0].Close()
		if got := everything(c, "GET", "Last-Event-ID", e.last); !strings.HasPrefix(got, "503") {
			t.Errorf("a stream of the replica that is to end: %s", got)
		}
		again := newEvents(t, crowd.at(1, c).do(t.Context(), "GET", "", "Last-Event-ID", e.last))
		again.want(`"progress":2`, `"progress":3`, `"progress":4`, `"progress":5`, "all of work", "")
		crowd.at(1, c).do(t.Context(), "DELETE", "").Body.Close()
		synctest.Wait() // replica 0 is told
	})
}

// A session that was ended is refused by all replicas at once, and if they are not
// told, soon. The store is asked now and then.
func TestReplicas_state(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &countingStore{SessionStore: newMemoryStore()}
		relay := new(testRelay)
		crowd, stop := inBubble(t, 2, relay, Options{Sessions: store})
		defer stop()
		ping := func(i int, c *client) int {
			status, _ := crowd.at(i, c).post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			return status
		}
		for _, lossy := range []bool{false, true} {
			c := crowd.at(0, &client{version: "2025-11-25"})
			c.initialize(`{}`)
			store.loads.Store(0)
			for range 100 {
				ping(0, c)
				ping(1, c)
			}
			if n := store.loads.Load(); n > 2 {
				t.Errorf("the store was asked %d times", n)
			}
			if relay.mu.Lock(); lossy {
				relay.mangle = func(string, note, func()) {}
			}
			relay.mu.Unlock()
			var over sync.WaitGroup
			var streamEnd, callEnd time.Time
			feed := newEvents(t, c.do(t.Context(), "GET", ""))
			over.Go(func() {
				feed.want("")
				streamEnd = time.Now()
			})
			over.Go(func() {
				c.post(legacyCall(2, "slow", "1m", ""))
				callEnd = time.Now()
			})
			synctest.Wait()
			at := time.Now()
			crowd.at(1, c).do(t.Context(), "DELETE", "").Body.Close()
			synctest.Wait()
			if status := ping(0, c); (status == 404) == lossy {
				t.Errorf("at once, lossy %v: %d", lossy, status)
			}
			time.Sleep(stateTTL)
			if status := ping(0, c); status != 404 {
				t.Errorf("later, lossy %v: %d, want 404", lossy, status)
			}
			over.Wait()
			if s, c := streamEnd.Sub(at), callEnd.Sub(at); !lossy && (s > 0 || c > 0) || s > commentInterval {
				t.Errorf("lossy %v: the stream has ended after %v, the call after %v", lossy, s, c)
			}
			time.Sleep(lingerTimeout + time.Second) // then nothing is kept of the call either
		}
	})
}

type countingStore struct {
	replica.SessionStore
	loads atomic.Int64
}

func (s *countingStore) Load(ctx context.Context, session string) (*replica.SessionState, error) {
	s.loads.Add(1)
	return s.SessionStore.Load(ctx, session)
}

// A client cannot flood the relay with requests that nobody knows.
func TestReplicas_flood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crowd, stop := inBubble(t, 2, new(testRelay), Options{})
		defer stop()
		c := crowd.at(0, &client{version: "2025-11-25"})
		c.initialize(`{}`)
		for i := range 300 {
			c.post(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
			c.post(`{"jsonrpc":"2.0","id":"aaaaaaaaaa.1","result":{}}`)
			c.post(`{"jsonrpc":"2.0","id":"nowhere","result":{}}`)
		}
		if n := crowd.relay.count(noteCancel) + crowd.relay.count(noteResponse); n < 10 || n > relayBurst {
			t.Errorf("%d notes", n)
		}
		c.session = ""
		c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	})
}

// However bad the relay, nobody hangs, nothing is left behind, and nobody gets what
// is another's.
func TestReplicas_badRelay(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			chance := rand.New(rand.NewPCG(seed, 1))
			relay := &testRelay{mangle: func(_ string, _ note, deliver func()) {
				mu.Lock()
				times, wait := 1, time.Duration(chance.IntN(200))*time.Millisecond
				switch chance.IntN(5) {
				case 0:
					times = 0
				case 1:
					times = 2
				}
				late := chance.IntN(20) == 0
				mu.Unlock()
				for range times {
					time.Sleep(wait)
					if late {
						time.Sleep(8 * time.Second)
					}
					deliver()
				}
			}}
			crowd, stop := inBubble(t, 3, relay, Options{})
			defer stop()
			var clients sync.WaitGroup
			var whole, broken atomic.Int64
			for i := range 12 {
				clients.Go(func() {
					name := fmt.Sprintf("client-%d-", i)
					c := crowd.at(i%3, &client{version: "2025-11-25"})
					c.initialize(`{"elicitation":{}}`)
					if crowd.follow(c, i, name) {
						whole.Add(1)
					} else {
						broken.Add(1)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					res := c.do(ctx, "POST", legacyCall(2, "ask", "", ""))
					e := newEvents(t, res)
					q, err := jsonrpc.Decode([]byte(e.next()), jsonrpc.Limits{})
					if err != nil {
						t.Error(err)
						return
					}
					answer := make(chan string, 1)
					go func() { answer <- e.next() }()
					crowd.at((i+2)%3, c).post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`)
					for range 20 {
						crowd.at((i+1)%3, c).tell(q.Message.ID, name)
						time.Sleep(time.Second)
					}
					if got := <-answer; !strings.Contains(got, "Hello, "+name+"!") {
						t.Errorf("%s got %q", name, got)
					}
					e.body.Close()
					crowd.at((i+1)%3, c).do(t.Context(), "DELETE", "").Body.Close()
				})
			}
			clients.Wait()
			t.Logf("seed %d: %d streams came whole, %d had to be given up", seed, whole.Load(), broken.Load())
			time.Sleep(resumeTimeout + time.Minute)
			synctest.Wait()
			crowd.empty()
		})
	}
}

// follow reads a stream whose connection breaks after every event, each time from
// another replica. It reports whether the answer came.
func (c *crowd) follow(cl *client, i int, name string) bool {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	e := newEvents(c.t, cl.do(ctx, "POST", legacyCall(1, "steps", name, token)))
	began := time.Now()
	for try := 1; time.Since(began) < 5*time.Minute; try++ {
		got := e.next()
		cancel()
		switch {
		case strings.Contains(got, "client-") && !strings.Contains(got, name):
			c.t.Errorf("%s got %s", name, got)
		case strings.Contains(got, "all of "+name):
			return true
		}
		ctx, cancel = context.WithTimeout(c.t.Context(), 30*time.Second)
		res := c.at((i+try)%3, cl).do(ctx, "GET", "", "Last-Event-ID", e.last)
		if res.StatusCode == http.StatusNotFound {
			res.Body.Close()
			if time.Since(began) > 30*time.Second {
				cancel()
				return false // it has ended, and is forgotten
			}
			time.Sleep(100 * time.Millisecond)
			e = &events{t: c.t, body: res.Body, r: e.r, last: e.last}
			continue
		}
		last := e.last
		e = newEvents(c.t, res)
		e.last = last
	}
	cancel()
	c.t.Errorf("%s: no end", name)
	return false
}
