//go:build !linux && !darwin

package git

import "io/fs"

// timeSet reports whether the time of modification of a file is not that of its last change:
// here that is not known.
func timeSet(fs.FileInfo) bool { return false }
