//go:build !unix

package git

import "os"

func ofOthers(os.FileInfo) bool { return false }
