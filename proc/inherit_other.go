//go:build !unix

package proc

// inheritable is for systems where a child inherits descriptors unless it is told not to.
func inheritable() int { return 2 }
