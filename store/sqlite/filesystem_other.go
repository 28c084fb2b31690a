//go:build !linux

package sqlite

// fileSystem does not know here what a path is on.
func fileSystem(string) (kind string, network bool, err error) { return "", false, nil }
