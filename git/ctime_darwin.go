package git

import (
	"io/fs"
	"syscall"
)

// timeSet reports whether the time of modification of a file is not that of its last change,
// which nobody can set. Many builds of git compare both in seconds only.
func timeSet(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Ctimespec.Sec != s.Mtimespec.Sec
}
