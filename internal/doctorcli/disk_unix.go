//go:build linux || darwin

package doctorcli

import "syscall"

// free returns what is left on the disk of a directory for a user who is not root.
func free(dir string) (space, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return space{}, false
	}
	size := uint64(s.Bsize)
	return space{bytes: uint64(s.Bavail) * size, disk: uint64(s.Blocks) * size, noFiles: s.Files > 0 && s.Ffree == 0}, true
}
