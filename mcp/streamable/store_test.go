package streamable_test

import (
	"testing"

	"github.com/bossman-dev/bossman/mcp/storetest"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

func TestMemoryStore(t *testing.T) {
	storetest.Sessions(t, func(*testing.T) streamable.Store { return streamable.NewMemoryStore() })
}
