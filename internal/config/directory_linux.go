package config

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// directoryID identifies a directory: by its number, and by the time when it was made if the file
// system knows it. Nothing that is unpacked can bring them. It is empty if there is none.
func directoryID(path string) string {
	var s unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &s) != nil {
		return ""
	}
	if s.Mask&unix.STATX_BTIME == 0 {
		return fmt.Sprintf("inode %d", s.Ino)
	}
	return fmt.Sprintf("inode %d of %d.%09d", s.Ino, s.Btime.Sec, s.Btime.Nsec)
}
