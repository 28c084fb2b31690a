//go:build !unix

package clientconfig

import "io/fs"

func ofOthers(fs.FileInfo) bool { return false }
