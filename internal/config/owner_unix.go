//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// owner says whose a file is if it belongs neither to the user of this process nor to root;
// empty otherwise. As for git, what belongs to the user who ran sudo is root's own.
func owner(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "nobody known"
	}
	me, uid := os.Geteuid(), int(s.Uid)
	if uid == me || uid == 0 || me == 0 && os.Getenv("SUDO_UID") == strconv.Itoa(uid) {
		return ""
	}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return fmt.Sprintf("%s (uid %d)", u.Username, uid)
	}
	return fmt.Sprintf("another user (uid %d)", uid)
}
