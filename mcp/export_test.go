package mcp

// RaceEnabled is for the tests outside the package.
const RaceEnabled = raceEnabled

// NewMemoryTasks and NewMemoryBus are what a server has if it is given nothing.
func NewMemoryTasks() TaskStore { return newMemoryTasks() }

func NewMemoryBus() Bus { return newMemoryBus() }
