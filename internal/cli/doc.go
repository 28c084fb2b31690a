// Package cli adds to the tree of commands what all of them share: suggestions for what was
// misspelt, help, and completion. What a flag or an argument may be stands in one table,
// values.go.
package cli
