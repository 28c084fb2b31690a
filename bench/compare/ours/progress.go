package ours

import (
	"context"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

const fileTime = 20 * time.Millisecond

func addCopy(s *mcp.Server) {
	mcp.AddTool(s, mcp.Tool{Name: "copy", Description: "Copy files."},
		func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
			for i := range 3 {
				c.Progress(float64(i+1), 3, "copying")
				time.Sleep(fileTime)
			}
			return "copied", nil
		})
}
