//go:build unix

package clientconfig

import (
	"io/fs"
	"syscall"
)

func groupOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Gid) }
