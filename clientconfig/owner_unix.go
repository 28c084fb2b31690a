//go:build unix

package clientconfig

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// ofOthers reports whether a file belongs to another user than that of this process, the one who
// ran sudo, or root.
func ofOthers(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	me, uid := os.Geteuid(), int(s.Uid)
	return uid != me && uid != 0 && (me != 0 || os.Getenv("SUDO_UID") != strconv.Itoa(uid))
}
