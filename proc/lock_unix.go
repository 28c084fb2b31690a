//go:build unix

package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// TryLock takes a lock file if it is free. The lock ends with the process.
func TryLock(path string) (unlock func(), ok bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, false, err
	}
	return tryLock(f)
}

// TryLockIn is TryLock for a file in an opened directory, which agents may write.
func TryLockIn(dir *os.Root, name string) (unlock func(), ok bool, err error) {
	if info, err := dir.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, false, &fs.PathError{Op: "lock", Path: filepath.Join(dir.Name(), name), Err: syscall.ELOOP}
	}
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, false, err
	}
	return tryLock(f)
}

func tryLock(f *os.File) (unlock func(), ok bool, err error) {
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
	case nil:
		return func() { f.Close() }, true, nil
	case syscall.EWOULDBLOCK:
		f.Close()
		return nil, false, nil
	default:
		f.Close()
		return nil, false, err
	}
}
