//go:build !unix

package clientconfig

import (
	"io/fs"
	"os"
)

func ofOthers(fs.FileInfo) bool { return false }

func keepOwner(*os.File, fs.FileInfo) error { return nil }
