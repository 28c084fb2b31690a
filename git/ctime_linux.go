package git

import (
	"io/fs"
	"syscall"
)

// changeOf returns the time of a file's last change in nanoseconds, and the number of the file as an
// index has it.
func changeOf(info fs.FileInfo) (at int64, number uint32) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return s.Ctim.Nano(), uint32(s.Ino)
}
