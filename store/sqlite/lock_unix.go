//go:build !windows

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// nonBlocking makes opening a pipe not wait for its other end.
const nonBlocking = syscall.O_NONBLOCK

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

// lockProcess tries to lock f for this process, and reports whether it did. A forked child
// does not have the lock. Any close of the file by this process releases it.
func lockProcess(f *os.File) (bool, error) { return setLock(f, syscall.F_WRLCK) }

// seesUnlocked reports whether no other process has f locked with lockProcess. If so, none
// can lock it until f is closed. It is enough that f is open for reading.
func seesUnlocked(f *os.File) (bool, error) { return setLock(f, syscall.F_RDLCK) }

func setLock(f *os.File, kind int16) (bool, error) {
	for {
		err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: kind}) // the whole file
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES):
			return false, nil
		case errors.Is(err, syscall.EINTR):
			continue
		}
		return false, &os.PathError{Op: "fcntl", Path: f.Name(), Err: err}
	}
}
