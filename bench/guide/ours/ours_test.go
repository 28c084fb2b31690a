package ours

import (
	"testing"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

func TestForecast(t *testing.T) {
	mcptest.EachRevision(t, newServer(), nil, func(t *testing.T, c *mcp.Client) {
		f := mcptest.Call[Forecast](t, c, "forecast", Args{City: "Oslo"})
		if len(f.Highs) != 3 {
			t.Errorf("forecast has %d days, want the default", len(f.Highs))
		}
	})
}
