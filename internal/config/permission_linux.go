package config

import "syscall"

// hasPermissions reports whether the file system of a directory keeps permissions. Those of
// Windows and of cameras do not, and show all files as writable by everybody.
func hasPermissions(dir string) bool {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return true
	}
	switch uint32(s.Type) {
	case 0x4d44, 0x2011bab0, // vfat, exfat
		0x5346544e, 0x7366746e, 0x65735546, // ntfs, ntfs3, fuse
		0x01021997,                         // 9p: the disks of Windows in WSL
		0xff534d42, 0xfe534d42, 0x0000517b: // cifs, smb2, smb
		return false
	}
	return true
}
