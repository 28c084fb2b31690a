//go:build !linux

package sqlite

import "os"

// nameIn reports that there is no name for a file in an opened directory on this platform.
func nameIn(*os.File, string) (path, vfs string, ok bool) { return "", "", false }
