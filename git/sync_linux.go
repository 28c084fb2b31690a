package git

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Sync makes what is written in the repository outlive a power cut: git itself leaves objects and
// refs to the operating system for a while, also those of an agent's own commits.
func (r *Repo) Sync() error {
	dir, err := os.Open(r.Common)
	if err != nil {
		return err
	}
	err = unix.Syncfs(int(dir.Fd()))
	return errors.Join(os.NewSyscallError("syncfs", err), dir.Close())
}
