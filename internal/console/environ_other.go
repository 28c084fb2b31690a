//go:build !linux && !darwin

package console

import "errors"

// environ is not known on this system.
func environ(int) ([]string, error) { return nil, errors.ErrUnsupported }
