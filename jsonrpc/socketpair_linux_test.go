package jsonrpc_test

import (
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/jsonrpc/transporttest"
)

func TestLines_socketpair(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) (a, b jsonrpc.Transport) {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		end := func(fd int) jsonrpc.Transport {
			f := os.NewFile(uintptr(fd), "socket")
			defer f.Close()
			c, err := net.FileConn(f)
			if err != nil {
				t.Fatal(err)
			}
			return jsonrpc.Lines(c, c, jsonrpc.Limits{})
		}
		return end(fds[0]), end(fds[1])
	})
}
