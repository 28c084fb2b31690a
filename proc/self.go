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

// running is the program of this process, also if its file is gone; only Linux has it.
const running = "/proc/self/exe"

// program returns the path with which this program starts itself: that of its file, as long as it is
// the same one, since processes are named after it.
func program(path string) string {
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
