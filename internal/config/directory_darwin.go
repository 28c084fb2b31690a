package config

import (
	"fmt"
	"os"
	"syscall"
)

// directoryID identifies a directory, by its number, which APFS does not use again. The time when it was
// made can be set. It is empty if there is none.
func directoryID(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("inode %d", s.Ino)
}
