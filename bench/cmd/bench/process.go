package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A process is a running server.
type process struct {
	cmd  *exec.Cmd
	late *time.Timer // ends it when it hangs
	in   io.WriteCloser
	out  io.ReadCloser
	addr string        // HTTP: where it listens
	says *bufio.Reader // HTTP: what it says on stdout
}

// patience is how long a server may take beyond the time it is called for. Then
// it is killed, and whoever waits for its answer sees the end of the pipe.
const patience = time.Minute

// start starts a server; mode is stdio or http. What it says on stderr is shown.
func (s server) start(o *options, mode string, args ...string) (*process, error) {
	cmd := exec.Command(filepath.Join(o.bin, s.bin), append(append([]string{"-mode=" + mode}, s.args...), args...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, in: in, out: out}
	p.late = time.AfterFunc(o.warm+o.measure+patience, func() {
		fmt.Fprintf(os.Stderr, "%s hangs: killed\n", s.name)
		_ = cmd.Process.Kill()
	})
	if mode != "http" {
		return p, nil
	}
	p.says = bufio.NewReader(out)
	line, err := p.says.ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "ADDR ")
	if err != nil || !ok {
		p.stop()
		return nil, fmt.Errorf("no address but %q: %w", line, err)
	}
	p.addr = addr
	return p, nil
}

// stop ends the process, whatever it is doing. A second stop does nothing.
func (p *process) stop() {
	p.late.Stop()
	_ = p.cmd.Process.Kill() // gone already is as good
	_ = p.cmd.Wait()         // "killed", as it was
}

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// wait waits for the process to end by itself.
func (p *process) wait() error {
	defer p.late.Stop()
	return p.cmd.Wait()
}

// cpu returns the CPU time the process has used so far, kernel time included:
// the sum over its threads of what the scheduler counted, to the nanosecond.
func (p *process) cpu() (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, name := range files {
		b, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the thread has ended
		}
		if err != nil {
			return 0, err
		}
		used, _, _ := strings.Cut(string(b), " ")
		ns, err := strconv.ParseInt(used, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		total += time.Duration(ns)
	}
	if total == 0 {
		return 0, errors.New("the kernel does not count CPU time in /proc/PID/task/*/schedstat")
	}
	return total, nil
}

// allocated returns how many bytes the process has allocated since its start, by
// its own account.
func (p *process) allocated() (float64, error) {
	if err := p.signal(syscall.SIGHUP); err != nil {
		return 0, err
	}
	line, err := p.says.ReadString('\n')
	if err != nil {
		return 0, err
	}
	n, ok := strings.CutPrefix(strings.TrimSpace(line), "ALLOCATED ")
	if !ok {
		return 0, fmt.Errorf("asked what it has allocated, the server says %q", line)
	}
	return strconv.ParseFloat(n, 64)
}

// rss returns the resident memory of the process, in KiB.
func (p *process) rss() (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if size, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			size = strings.TrimSuffix(strings.TrimSpace(size), " kB")
			return strconv.ParseFloat(size, 64)
		}
	}
	return 0, errors.New("no VmRSS in /proc/PID/status")
}
