package sqlite

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// networks are the file systems that other machines can write to, by their statfs type.
var networks = map[uint32]string{
	0x6969:     "nfs",
	0x517b:     "smb",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x01021997: "9p",
	0x5346414f: "afs",
	0x6b414653: "kafs",
	0x00c36400: "ceph",
	0x73757245: "coda",
	0x564c:     "ncp",
	0x47504653: "gpfs",
	0x0bd00bd0: "lustre",
	0x7461636f: "ocfs2",
	0x01161970: "gfs2",
	0x19830326: "beegfs",
	0x786f4256: "vboxsf",
	0xbacbacbc: "vmhgfs",
}

const fuse = 0x65735546

// localFUSE are the FUSE file systems that keep their files on this machine.
var localFUSE = []string{
	"fuseblk", "fuse.bindfs", "fuse.cryfs", "fuse.encfs", "fuse.fuse-overlayfs", "fuse.gocryptfs", "fuse.lxcfs",
	"fuse.mergerfs", "fuse.ntfs-3g", "fuse.securefs", "fuse.unionfs", "fuse.zfs",
}

// fileSystem returns the kind of a path's file system, and whether it is a network file
// system.
func fileSystem(path string) (kind string, network bool, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return "", false, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	number := uint32(s.Type)
	if kind, ok := networks[number]; ok {
		return kind, true, nil
	}
	if number != fuse {
		return "", false, nil
	}
	kind = mountKind(path)
	return kind, !slices.Contains(localFUSE, kind), nil
}

// mountKind returns the type of the mount that path is on, or "fuse" if it is unknown.
func mountKind(path string) string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "fuse"
	}
	defer f.Close()
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	kind, longest := "fuse", -1
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// 36 35 98:0 /root /mount/point options … - type source options
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(rest) < 1 {
			continue
		}
		point := unescapeMount.Replace(fields[4])
		inside := point == "/" || path == point || strings.HasPrefix(path, point+"/")
		if inside && len(point) >= longest {
			kind, longest = rest[0], len(point)
		}
	}
	return kind
}

var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
