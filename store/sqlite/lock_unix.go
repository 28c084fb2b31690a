//go:build !windows

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// noFollow makes opening a file fail if it is a symbolic link, and not wait if it is a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// tryLock tries to lock f against other processes, and reports whether it did.
func tryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case errors.Is(err, syscall.EINTR):
			continue
		}
		return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
}

func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
