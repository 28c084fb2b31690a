package check

import "syscall"

// fullBelow is the free space below which the disk counts as full.
const fullBelow = 1 << 20

// diskFull reports whether the file system of a directory is full.
func diskFull(dir string) bool {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || s.Blocks == 0 {
		return false
	}
	return s.Bavail*uint64(s.Bsize) < fullBelow
}
