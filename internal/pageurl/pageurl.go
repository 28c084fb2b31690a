// Package pageurl checks the addresses of pages that a server asks a person to visit.
package pageurl

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/bossman-dev/bossman/internal/loopback"
)

// Check returns an error if a URL named by a server should not be shown to
// the user: it must be https, or http on this machine, with a host and without
// a user name, in ASCII without control characters or spaces.
func Check(address string) error {
	for _, r := range address {
		if r <= ' ' || r >= 0x7f || r == '\\' {
			return errors.New("URL contains an invalid character")
		}
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("invalid URL")
	case u.User != nil:
		return errors.New("URL contains a user name")
	case u.Hostname() == "" || u.Opaque != "":
		return errors.New("URL has no host")
	case u.Scheme == "https", u.Scheme == "http" && loopback.Host(u.Hostname()):
		return nil
	}
	return fmt.Errorf("URL scheme is %q, want https", u.Scheme)
}
