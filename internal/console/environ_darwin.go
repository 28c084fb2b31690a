package console

import (
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// environ is the environment that a process of the same user began with. The kernel has the
// number of arguments, the program's path, zeros, the arguments, and then the environment.
func environ(pid int) ([]string, error) {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil, err
	}
	if len(b) < 4 {
		return nil, errors.New("the system tells nothing about the process")
	}
	args := int(binary.NativeEndian.Uint32(b))
	_, rest, ok := strings.Cut(string(b[4:]), "\x00")
	words := strings.Split(strings.TrimLeft(rest, "\x00"), "\x00")
	if !ok || args < 0 || args >= len(words) {
		return nil, errors.New("the system tells nothing about the process's environment")
	}
	return words[args:], nil
}

// wrapped is not known on this system.
func wrapped(int) (parent int, ok bool) { return 0, false }
