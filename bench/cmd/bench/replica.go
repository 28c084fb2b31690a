package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A replica is a running `bossman serve`.
type replica struct {
	cmd   *exec.Cmd
	addr  string // of MCP
	admin string // of its metrics
	ended chan struct{}
}

// startReplica starts one on a database that has keys already.
func startReplica(o *options, dsn string) (*replica, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	admin, err := freeAddr()
	if err != nil {
		return nil, err
	}
	bin, err := filepath.Abs(filepath.Join(o.bin, "bossman"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(bin, "serve", "--db", dsn, "--http", addr, "--admin", admin)
	cmd.Dir = os.TempDir() // no project of the caller's
	says, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w; make bench-cell builds it", err)
	}
	r := &replica{cmd: cmd, addr: addr, admin: admin, ended: make(chan struct{})}
	last := make(chan string, 1)
	go func() {
		defer close(r.ended)
		lines, line := bufio.NewScanner(says), ""
		for lines.Scan() {
			line = lines.Text()
			if strings.Contains(line, "WARN") || strings.Contains(line, "ERROR") {
				say("replica: %s", line)
			}
		}
		last <- line
	}()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if resp, err := http.Get("http://" + addr + "/readyz"); err == nil {
			_ = resp.Body.Close() // nothing is read from it
			if resp.StatusCode == http.StatusOK {
				return r, nil
			}
		}
		select {
		case line := <-last:
			return nil, fmt.Errorf("bossman serve ended: %s", line)
		default:
		}
		if time.Now().After(end) {
			r.stop()
			return nil, errors.New("bossman serve is not ready after 30 s")
		}
	}
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// stop ends the process at once: nothing of it is needed any more.
func (r *replica) stop() {
	_ = r.cmd.Process.Kill() // gone already is as good
	<-r.ended
	_ = r.cmd.Wait() // "killed", as it was
}

// cpu is the processor time of the process so far.
func (r *replica) cpu() (time.Duration, error) { return cpuOf(r.cmd.Process.Pid, false) }

// rss is its memory, in KiB.
func (r *replica) rss() (float64, error) { return (&process{cmd: r.cmd}).rss() }

// metrics reads the sums of some series, by the beginnings of their names.
func (r *replica) metrics(prefixes ...string) ([]float64, error) {
	resp, err := http.Get("http://" + r.admin + "/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	sums := make([]float64, len(prefixes))
	for line := range strings.Lines(string(text)) {
		for i, p := range prefixes {
			if strings.HasPrefix(line, p) {
				fields := strings.Fields(line)
				v, err := strconv.ParseFloat(fields[len(fields)-1], 64)
				if err != nil {
					return nil, fmt.Errorf("metric %q: %w", line, err)
				}
				sums[i] += v
			}
		}
	}
	return sums, nil
}

// tick is the unit of processor time in /proc/PID/stat.
const tick = 10 * time.Millisecond

// cpuOf is the processor time of a process; with its children also what those have
// used that have ended.
func cpuOf(pid int, children bool) (time.Duration, error) {
	fields, err := statOf(pid)
	if err != nil {
		return 0, err
	}
	count := 2 // utime, stime
	if children {
		count = 4 // cutime, cstime
	}
	var total time.Duration
	for _, f := range fields[11 : 11+count] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(n) * tick
	}
	return total, nil
}

// statOf are the fields of /proc/PID/stat after the name: the first is the state, the
// second the parent.
func statOf(pid int) ([]string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	i := strings.LastIndexByte(string(b), ')')
	fields := strings.Fields(string(b[i+1:]))
	if len(fields) < 15 {
		return nil, fmt.Errorf("/proc/%d/stat is too short", pid)
	}
	return fields, nil
}

// familyCPU is the processor time of a process and all that it has started.
func familyCPU(pid int) (time.Duration, error) {
	total, err := cpuOf(pid, true)
	if err != nil {
		return 0, err
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, dir := range dirs {
		child, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		fields, err := statOf(child)
		if err != nil || fields[1] != strconv.Itoa(pid) {
			continue // it has ended, or is not one
		}
		used, err := cpuOf(child, false)
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			return 0, err
		}
		total += used
	}
	return total, nil
}
