//go:build !linux

package config

import "runtime"

// hasPermissions reports whether the file system of a directory keeps permissions.
func hasPermissions(string) bool { return runtime.GOOS != "windows" }
