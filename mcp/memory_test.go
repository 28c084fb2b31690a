package mcp_test

import (
	"testing"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/storetest"
)

// What a server keeps in memory passes the suites that a database passes.
func TestMemory(t *testing.T) {
	t.Run("durable calls", func(t *testing.T) {
		storetest.DurableCalls(t, func(*testing.T) mcp.TaskStore { return mcp.NewMemoryTasks() })
	})
	t.Run("bus", func(t *testing.T) {
		storetest.Bus(t, func(*testing.T) (here, there mcp.Bus) {
			b := mcp.NewBus()
			return b, b
		})
	})
}
