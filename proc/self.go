package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrReplaced means that the file of this program is not there any more: it was replaced or deleted
// while the program ran.
var ErrReplaced = errors.New("bossman was replaced or deleted while it ran: restart it")

// Program returns the path with which this process, or one that it starts, starts this program again:
// that of its file, as long as it is the same one, since processes are named after it. Otherwise it is
// that of the running program, which only Linux has, and only until this process ends.
func Program(path string) string {
	running := fmt.Sprintf("/proc/%d/exe", os.Getpid())
	own, err := os.Executable()
	now, gone := os.Stat(running)
	if err != nil || own != path || gone != nil {
		return path
	}
	if file, err := os.Stat(path); err == nil && os.SameFile(file, now) {
		return path
	}
	return running
}

// replaced returns ErrReplaced for the error of a start of this program whose file is gone.
func replaced(path string, err error) error {
	if _, gone := os.Stat(path); errors.Is(err, fs.ErrNotExist) && errors.Is(gone, fs.ErrNotExist) {
		return fmt.Errorf("%w (%s is gone)", ErrReplaced, path)
	}
	return err
}
