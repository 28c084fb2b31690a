//go:build unix

package oauth

import "io/fs"

// isPrivate reports whether only the owner of a file can read it.
func isPrivate(m fs.FileMode) bool { return m.Perm()&0o077 == 0 }
