package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite opens its files by name: the database, its log and its shared memory, each when it needs
// it. Meanwhile an agent may exchange their directory for a link to another board and back, so that
// they are of two boards. Linux has a name for a file in an opened directory, whatever its path
// leads to by then, but SQLite's own VFS makes a path without links of it. This one does not.

// vfsName is the name of the VFS that uses names as they are, and ends as C wants it.
var vfsName = [...]byte{'b', 'o', 's', 's', 'm', 'a', 'n', 0}

// plainVFS is SQLite's own one with another function for names.
var plainVFS sqlite3.Tsqlite3_vfs

var registerVFS = sync.OnceValue(func() bool {
	tls := libc.NewTLS()
	defer tls.Close()
	usual := sqlite3.Xsqlite3_vfs_find(tls, 0)
	if usual == 0 {
		return false
	}
	plainVFS = **(**sqlite3.Tsqlite3_vfs)(unsafe.Pointer(&usual))
	plainVFS.FpNext = 0
	plainVFS.FzName = uintptr(unsafe.Pointer(&vfsName))
	var f any = sameName
	plainVFS.FxFullPathname = (*[2]uintptr)(unsafe.Pointer(&f))[1] // a function as the driver calls it
	return sqlite3.Xsqlite3_vfs_register(tls, uintptr(unsafe.Pointer(&plainVFS)), 0) == sqlite3.SQLITE_OK
})

// sameName gives SQLite a name as it is.
func sameName(tls *libc.TLS, _, name uintptr, room int32, out uintptr) int32 {
	n := libc.Xstrlen(tls, name) + 1
	if uint64(n) > uint64(room) {
		return sqlite3.SQLITE_CANTOPEN
	}
	libc.Xmemcpy(tls, out, name, n)
	return sqlite3.SQLITE_OK
}

// nameIn returns the name of a file in an opened directory for SQLite, and the VFS that uses it; ok is
// false if there is no such name.
func nameIn(dir *os.File, base string) (path, vfs string, ok bool) {
	path = filepath.Join(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), base)
	_, err := os.Lstat(path)
	return path, string(vfsName[:len(vfsName)-1]), err == nil && registerVFS()
}
