package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A Service is one process of a server that many clients talk to over HTTP.
type Service struct {
	URL     string
	address string
	cmd     *exec.Cmd
}

// Serve starts a server with -http and an address that is free.
func (p *Programs) Serve(pkg string) (*Service, error) {
	argv, ok := p.servers[pkg]
	if !ok {
		return nil, fmt.Errorf("server %s was not built", pkg)
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s := &Service{
		URL:     "http://" + address + "/mcp",
		address: address,
		cmd:     exec.Command(argv[0], append(argv[1:len(argv):len(argv)], "-http", address)...),
	}
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if err := reachable(address); err != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		return nil, err
	}
	return s, nil
}

// PID is the process.
func (s *Service) PID() int { return s.cmd.Process.Pid }

// Address is where the server listens.
func (s *Service) Address() string { return s.address }

// Stop ends the server as a service manager would. It has to exit with 0, and
// before anybody would lose patience.
func (s *Service) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	late := time.AfterFunc(20*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the server ended with: %w, want exit 0 after SIGTERM", err)
	}
	return nil
}

// Service starts a server for a test and everything below it.
func (p *Programs) Service(t testing.TB, pkg string) *Service {
	t.Helper()
	s, err := p.Serve(pkg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return fmt.Sprintf("localhost:%d", l.Addr().(*net.TCPAddr).Port), nil
}

func reachable(address string) error {
	var err error
	for range 100 {
		var c net.Conn
		if c, err = net.Dial("tcp", address); err == nil {
			return c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}
