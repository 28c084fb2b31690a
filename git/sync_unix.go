//go:build unix && !linux

package git

import "golang.org/x/sys/unix"

// Sync makes what is written in the repository outlive a power cut, as far as the operating system
// can tell: git itself leaves objects and refs to it for a while.
func (r *Repo) Sync() error { return unix.Sync() }
