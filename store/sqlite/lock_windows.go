package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// nonBlocking does not exist here.
const nonBlocking = 0

// tryLock tries to lock f against other processes, and reports whether it did.
func tryLock(f *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, new(windows.Overlapped))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return false, nil
	}
	return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
}

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, new(windows.Overlapped))
}

// lockProcess tries to lock f for this process, and reports whether it did. There is no
// fork here, and a child inherits no handle that it is not given.
func lockProcess(f *os.File) (bool, error) { return tryLock(f) }

// seesUnlocked reports whether no other process has f locked with lockProcess. If so, none
// can lock it until f is closed.
func seesUnlocked(f *os.File) (bool, error) { return tryLock(f) }
