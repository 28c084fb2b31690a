//go:build !unix

package crew

import "os"

func ownedByUser(os.FileInfo) bool { return false }

func ofOthers(os.FileInfo) bool { return false }
