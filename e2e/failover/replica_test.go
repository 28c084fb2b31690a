package failover

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// A replica is one process of the server.
type replica struct {
	t       testing.TB
	name    string
	address string // host and port
	cmd     *exec.Cmd
	ended   chan struct{}
	stopped bool

	mu  sync.Mutex
	log []string
	// ready has what /readyz answered, when that changed.
	ready []readiness
}

type readiness struct {
	status int
	at     time.Time
}

var serving = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)

// startReplica starts a server on a database. It ends with the test, and not before:
// no failover makes it end.
func startReplica(t testing.TB, name, dsn string) *replica {
	t.Helper()
	return startProgram(t, programs.Path(harness.Bossman), name, dsn, "")
}

// startProgram is startReplica with a program of any version and a configuration.
func startProgram(t testing.TB, program, name, dsn, config string) *replica {
	t.Helper()
	r := &replica{t: t, name: name, ended: make(chan struct{})}
	home := harness.Home(t)
	if config != "" {
		dir := filepath.Join(home, ".config", "bossman")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.cmd = exec.Command(program, "serve", "--http", "127.0.0.1:0")
	r.cmd.Dir = home
	r.cmd.Env = []string{"HOME=" + home, "BOSSMAN_DB=" + dsn}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	go func() {
		defer close(r.ended)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			r.mu.Lock()
			r.log = append(r.log, s.Text())
			r.mu.Unlock()
			if a := serving.FindString(s.Text()); a != "" && strings.Contains(s.Text(), "serving") {
				address <- a
			}
		}
		_ = r.cmd.Wait()
	}()
	t.Cleanup(r.stop)
	select {
	case r.address = <-address:
	case <-r.ended:
		t.Fatalf("replica %s ended: %s", name, r.said())
	case <-time.After(patience):
		t.Fatalf("replica %s does not serve: %s", name, r.said())
	}
	return r
}

// kill ends it without a warning.
func (r *replica) kill() {
	r.stopped = true
	_ = r.cmd.Process.Kill()
	<-r.ended
}

func (r *replica) stop() {
	if r.stopped {
		return
	}
	r.stopped = true
	select {
	case <-r.ended:
		r.t.Errorf("replica %s has ended by itself: %s", r.name, r.said())
		return
	default:
	}
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(20*time.Second, func() { _ = r.cmd.Process.Kill() })
	defer late.Stop()
	<-r.ended
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		r.t.Errorf("replica %s ended with %d after SIGTERM: %s", r.name, code, r.said())
	}
	if r.t.Failed() {
		r.t.Logf("replica %s wrote:\n%s", r.name, r.said())
	}
}

// said is what it wrote last.
func (r *replica) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return harness.Tail(strings.Join(r.log, "\n"), 20)
}

// wrote counts the lines with a text.
func (r *replica) wrote(text string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.log {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (r *replica) url() string { return "http://" + r.address + "/mcp" }

// watchReady asks /readyz until stop is closed, as a load balancer does.
func (r *replica) watchReady(stop <-chan struct{}) {
	client := &http.Client{Timeout: 10 * time.Second}
	for {
		status := 0
		res, err := client.Get("http://" + r.address + "/readyz")
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			status = res.StatusCode
		}
		r.mu.Lock()
		if n := len(r.ready); n == 0 || r.ready[n-1].status != status {
			r.ready = append(r.ready, readiness{status, time.Now()})
		}
		r.mu.Unlock()
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// status is what /readyz says now, and since when.
func (r *replica) status() readiness {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ready) == 0 {
		return readiness{}
	}
	return r.ready[len(r.ready)-1]
}

// readyAgain is how long after a moment /readyz said 200 for good.
func (r *replica) readyAgain(after time.Time) (time.Duration, error) {
	s := r.status()
	if s.status != http.StatusOK {
		return 0, fmt.Errorf("/readyz of replica %s says %d", r.name, s.status)
	}
	return max(0, s.at.Sub(after)), nil
}
