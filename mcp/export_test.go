package mcp

// RaceEnabled is for the tests outside the package.
const RaceEnabled = raceEnabled

// NewMemoryTasks is what a server has if it is given nothing.
func NewMemoryTasks() TaskStore { return newMemoryTasks() }
