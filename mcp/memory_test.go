package mcp_test

import (
	"testing"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
	"github.com/bossman-dev/bossman/mcp/replica/replicatest"
)

// What a server keeps in memory passes the suites that a database passes.
func TestMemory(t *testing.T) {
	t.Run("durable calls", func(t *testing.T) {
		replicatest.TaskStore(t, func(*testing.T) replica.TaskStore { return mcp.NewMemoryTasks() })
	})
	t.Run("bus", func(t *testing.T) {
		replicatest.Bus(t, func(*testing.T) (here, there replica.Bus) {
			b := replica.NewBus()
			return b, b
		})
	})
}
