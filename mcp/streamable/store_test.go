package streamable_test

import (
	"testing"

	"github.com/bossman-dev/bossman/mcp/replica/replicatest"
	"github.com/bossman-dev/bossman/mcp/streamable"

	"github.com/bossman-dev/bossman/mcp/replica"
)

func TestMemoryStore(t *testing.T) {
	replicatest.SessionStore(t, func(*testing.T) replica.SessionStore { return streamable.NewMemoryStore() })
}
