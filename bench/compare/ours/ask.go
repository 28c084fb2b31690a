package ours

import (
	"context"
	"errors"

	"github.com/bossman-dev/bossman/mcp"
)

func addOrder(s *mcp.Server) {
	mcp.AddTool(s, mcp.Tool{Name: "order", Description: "Order a coat."},
		func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
			size, err := mcp.Ask[string](c, "size", "Which size?")
			if errors.Is(err, mcp.ErrDeclined) {
				return "nothing was ordered", nil
			}
			return "ordered size " + size, err
		})
}
