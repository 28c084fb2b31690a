//go:build !unix

package oauth

import "io/fs"

// isPrivate always returns true, because file modes mean nothing here.
func isPrivate(fs.FileMode) bool { return true }
