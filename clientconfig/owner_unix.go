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

// keepOwner gives a new file the owner and group of the one that it replaces.
func keepOwner(f *os.File, old fs.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	info, err := f.Stat()
	if err != nil || !ok {
		return err
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok || is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}
