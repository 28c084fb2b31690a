//go:build !unix

package oauth

import "io/fs"

// private is for systems whose file modes tell something.
func private(fs.FileMode) bool { return true }
