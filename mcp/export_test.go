package mcp

import (
	"github.com/bossman-dev/bossman/jsonrpc"

	"github.com/bossman-dev/bossman/mcp/replica"
)

// RaceEnabled is for the tests outside the package.
const RaceEnabled = raceEnabled

// StartChild starts a command without connecting to it.
func (c *Command) StartChild() (jsonrpc.Transport, error) { return c.start(nil) }

// Refused returns the number of messages that could not be used.
func (c *Client) Refused() int64 { return c.refused.Load() }

// NewMemoryTasks is what a server has if it is given nothing.
func NewMemoryTasks() replica.TaskStore { return newMemoryTasks() }
