package mcp_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// Of two who listen to a resource the second is told as well that it cannot be
// watched.
func TestListen_subscriptionFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		tr := play(t, func(m *jsonrpc.Message, say func(*jsonrpc.Message)) *jsonrpc.Message {
			switch m.Method {
			case "initialize":
				return answer(m, strings.Replace(initialized("2025-11-25"), `"capabilities":{`, `"capabilities":{"resources":{"subscribe":true},`, 1))
			case "resources/subscribe":
				asked.Add(1)
				time.AfterFunc(time.Second, func() { say(fail(m, -32603, nil)) })
			}
			return nil
		})
		c, err := mcp.Connect(t.Context(), tr, quiet(mcp.ClientOptions{Revision: mcp.R20251125}))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var wg sync.WaitGroup
		var told atomic.Int32
		for range 2 {
			wg.Go(func() {
				for _, err := range c.Listen(t.Context(), mcp.EventFilter{ResourceURIs: []string{"a://1"}}) {
					if err == nil {
						t.Error("told that it is watched")
						return
					}
					told.Add(1)
				}
			})
		}
		time.Sleep(time.Minute)
		if told.Load() != 2 || asked.Load() != 2 {
			t.Errorf("%d were told, after %d requests; want 2 and 2", told.Load(), asked.Load())
		}
		_ = c.Close()
		wg.Wait()
	})
}
