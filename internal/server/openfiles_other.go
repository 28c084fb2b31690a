//go:build !unix

package server

// openFiles is how many files the process may open; zero if that is not known. Windows has
// no such limit.
func openFiles() uint64 { return 0 }
