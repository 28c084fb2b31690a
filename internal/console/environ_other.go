//go:build !linux && !darwin

package console

import "errors"

// environ is not known on this system.
func environ(int) ([]string, error) { return nil, errors.ErrUnsupported }

// wrapped is not known on this system.
func wrapped(int) (parent int, ok bool) { return 0, false }
