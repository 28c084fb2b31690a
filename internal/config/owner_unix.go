//go:build unix

package config

import (
	"io/fs"
	"os"
	"syscall"
)

// isMine reports whether a file belongs to the user of this process.
func isMine(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
