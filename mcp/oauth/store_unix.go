//go:build unix

package oauth

import "io/fs"

// private reports whether only a file's owner can read it.
func private(m fs.FileMode) bool { return m.Perm()&0o077 == 0 }
