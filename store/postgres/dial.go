package postgres

import (
	"net"
	"time"
)

// dialer returns a dialer whose connections detect within half a minute that a server is
// gone.
func dialer() *net.Dialer {
	return &net.Dialer{
		Timeout:         connectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
		Control:         control,
	}
}
