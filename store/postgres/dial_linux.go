package postgres

import (
	"strings"
	"syscall"
)

// tcpUserTimeout is the socket option TCP_USER_TIMEOUT: how many milliseconds sent data may
// stay unacknowledged. Keep-alives are not sent while data is unacknowledged.
const tcpUserTimeout = 18

// control sets socket options of a new connection.
func control(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, 30_000) // best effort
	})
}
