package postgres

// Place parses a cursor.
var Place = parseCursor

// Grants are what the program's role may do with each table.
var Grants = privileges

// Ready reports whether the store listens on all channels that have handlers.
func Ready(s *Store) bool { return s.listener.ready() }

// UsageQuery is the statement behind Usage.
const UsageQuery = usageQuery

// Hinted reports whether the store has no hint left to send.
func Hinted(s *Store) bool { return len(s.dirty) == 0 }

const (
	MaxQueued      = maxQueued
	MaxDurableCall = maxDurableCall
)
