package ours

import (
	"context"

	"github.com/bossman-dev/bossman/mcp"
)

func addGift(s *mcp.Server) {
	mcp.AddTool(s, mcp.Tool{Name: "gift", Description: "Send a gift."},
		func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
			name, err := mcp.Ask[string](c, "name", "For whom?")
			if err != nil {
				return "", err
			}
			note, err := mcp.Ask[string](c, "note", "What shall we write to "+name+"?")
			return name + ": " + note, err
		})
}
