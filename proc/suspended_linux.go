package proc

import (
	"bytes"
	"os"
	"strconv"
)

// Suspended reports whether a process was stopped, as with Ctrl-Z, and not continued.
func Suspended(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return err == nil && ok && bytes.HasPrefix(rest, []byte("T"))
}
