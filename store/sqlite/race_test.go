//go:build race

package sqlite

// SQLite, translated to Go, is thirty times slower under the race detector.
const raceEnabled = true
