//go:build unix

package git

import "golang.org/x/sys/unix"

// canWrite reports whether files can be made and removed in a directory.
func canWrite(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }
