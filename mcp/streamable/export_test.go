package streamable

// NewMemoryStore is what a handler has if it is given nothing.
func NewMemoryStore() Store { return newMemoryStore() }
