//go:build !linux

package sqlite

// fileSystem detects no network file systems on this platform.
func fileSystem(string) (kind string, network bool, err error) { return "", false, nil }
