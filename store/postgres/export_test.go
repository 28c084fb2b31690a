package postgres

// Place reads a cursor.
var Place = place

// Grants are what the program's role may do with each table.
var Grants = grants

// Ready reports whether the store hears all that somebody wants to hear.
func Ready(s *Store) bool { return s.line.ready() }

// UsageQuery is the statement behind Usage.
const UsageQuery = usageQuery

const (
	MaxQueued      = maxQueued
	MaxDurableCall = maxDurableCall
)
