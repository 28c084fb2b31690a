//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package sqlite

import "os"

// tryLock does nothing where there is no such lock: SQLite's own keep the file
// whole, only the order of writers is left to chance.
func tryLock(*os.File) (bool, error) { return true, nil }

func unlock(*os.File) error { return nil }
