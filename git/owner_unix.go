//go:build unix

package git

import (
	"os"
	"syscall"
)

// ofOthers reports whether a file belongs to another user than that of this process or root.
func ofOthers(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) != os.Geteuid() && st.Uid != 0
}
