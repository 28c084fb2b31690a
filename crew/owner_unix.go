//go:build unix

package crew

import (
	"os"
	"syscall"
)

// ownedByUser reports whether a file belongs to the user of this process.
func ownedByUser(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
